"""`python -m fedlab_core play`."""

import pytest

import fedlab_core as fl
from fedlab_browser.playground import state as can
from fedlab_core import __main__
from fedlab_core.methods.combined import named


def play(*words: str) -> int:
    return __main__.main(["play", *words])


@pytest.mark.slow
def test_a_state_is_played_as_by_hand(capsys):
    assert play("rule=fedprox&clients=4&alpha=0.1&seed=2", "--rounds", "2") == 0
    said = capsys.readouterr().out.splitlines()
    state = can.parsed("rule=fedprox&clients=4&alpha=0.1&seed=2")
    method = named("fedprox", can.training_of(state), {"mu": 0.1})
    rows = fl.federate(can.world_of(state), method, 2, seed=2, progress=False).rows
    assert said == [
        f"round {row['round']:>2}: accuracy {100 * row['accuracy']:.2f} %"
        for row in rows
    ]


@pytest.mark.parametrize(
    "words, says",
    [
        (["rule=adam"], "rule='adam'"),
        (["", "--rounds", "61"], "--rounds: 1 to 60, as the page, not 61"),
        (["", "--rounds", "0"], "--rounds"),
    ],
)
def test_what_cannot_be_played_is_said(words, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        raise SystemExit(play(*words))
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err

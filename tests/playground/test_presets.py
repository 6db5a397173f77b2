"""A story of the playground promises what is there, or there is no page."""

from dataclasses import replace
from html import unescape

import pytest

import fedlab_core as fl
from fedlab_browser.playground import presets
from fedlab_browser.playground import state as can
from fedlab_browser.playground.observers import counted
from fedlab_browser.playground.presets import PRESETS
from fedlab_browser.playground.task import divided
from fedlab_core.errors import InputError
from fedlab_ledger.model.verdict import SAME, UNDECIDED
from tools import playground

ALONE = next(p for p in PRESETS if p.title == "Alone")


@pytest.mark.slow
def test_a_promise_that_is_kept_is():
    verdicts = presets.held(ALONE)
    assert set(verdicts) == {"accuracy", "own"}
    assert all(v.word == SAME and v.n == 5 for v in verdicts.values())
    presets.keep([ALONE])


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted, word",
    [
        (replace(ALONE, above=True), "accuracy -"),
        (replace(ALONE, beside=ALONE.state), r"accuracy +0.000"),
        (replace(ALONE, also={"own": False}), "own +"),
    ],
)
def test_a_promise_that_is_not_ends_the_build(planted, word, tmp_path, monkeypatch):
    monkeypatch.setattr(presets, "PRESETS", (planted,))
    with pytest.raises(InputError, match="'Alone' promises more than there is") as e:
        playground.made(tmp_path)
    assert word in str(e.value)
    assert not list(tmp_path.rglob("*.json"))


def test_what_five_seeds_show_has_to_be_seen_on_the_page(monkeypatch):
    """Four of five seeds far above, and the page's own below."""
    ours = {0: 0.49, 1: 0.7, 2: 0.7, 3: 0.7, 4: 0.7}
    theirs = dict.fromkeys(range(5), 0.5)
    means = {"accuracy": (ours, theirs)}
    monkeypatch.setattr(presets, "found", lambda preset: means)
    with pytest.raises(InputError, match=r"accuracy as the page plays it, -0\.010"):
        presets.keep([replace(ALONE, above=True, also={})])


@pytest.mark.slow
def test_stories_played_at_once_are_those_played_alone():
    short = replace(ALONE, rounds=5)
    assert list(presets._each([short, short])) == [presets.found(short)] * 2


@pytest.mark.slow
def test_the_server_that_finds_out_counts_the_wrong_client_least():
    """The story says this besides its promises."""
    preset = next(p for p in PRESETS if p.title == "The server finds out")
    state = can.parsed(preset.state)
    (wrong,) = divided("wrong", 4, 100.0, 0).corrupted
    history = fl.federate(
        can.world_of(state), can.method_of(state, can.group_of(state)), preset.rounds,
        observe=lambda now: {"weights": list(map(float, counted(now)[0]))},
        progress=False,
    )  # fmt: skip
    late = [row["weights"] for row in history.rows[-5:]]
    assert all(w[wrong] == min(w) < 0.22 for w in late)


@pytest.mark.slow
def test_no_difference_is_no_promise():
    found = presets.held(replace(ALONE, beside=ALONE.state))
    assert {v.word for v in found.values()} == {UNDECIDED}


def test_stories_are_states_and_say_what_to_look_for():
    assert len(PRESETS) >= 12
    assert len({p.title for p in PRESETS}) == len(PRESETS)
    for p in PRESETS:
        assert can.said(can.parsed(p.state)) == p.state != p.beside
        assert can.said(can.parsed(p.beside)) == p.beside
        assert 80 < len(p.look) < 250 and p.look.endswith(".")
        assert p.rounds <= can.ROUNDS


def test_the_page_has_every_story():
    text = unescape(playground.page())
    for p in PRESETS:
        assert f'<a href="?{p.state}">{p.title}</a>' in text

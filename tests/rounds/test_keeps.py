"""A run's costs, the state that it keeps, and its end when it diverges."""

import math
from dataclasses import replace

import pytest
import torch

from fedlab_core import (
    Run,
    Training,
    ditto,
    fedavg,
    feddisco,
    federate,
    local_only,
    run_all,
    tree,
)
from fedlab_core.client.rule import ClientInput
from fedlab_core.engine import Client, train
from fedlab_core.errors import InputError

# -- cost --------------------------------------------------------------------------


def test_bytes_by_hand(small_world, small_local):
    """Each of P participants receives and sends the 196*16 + 16 + 160 + 10 = 3,322
    numbers of 4 bytes; Disco's 6 clients report one more number each, once."""
    model = 4 * (196 * 16 + 16 + 16 * 10 + 10)
    h = federate(small_world, fedavg(small_local), 3, participants=2)
    assert [row["bytes"] for row in h.rows] == [2 * 2 * model * t for t in (1, 2, 3)]
    h = federate(small_world, feddisco(small_local), 2, participants=2)
    assert [row["bytes"] for row in h.rows] == [2 * 2 * model * t + 24 for t in (1, 2)]
    h = federate(small_world, feddisco(small_local), 1)
    assert h.rows[0]["bytes"] == 2 * 6 * model + 24


def test_training_alone_sends_nothing(small_world, small_local):
    h = federate(small_world, local_only(small_local), 2)
    assert [row["bytes"] for row in h.rows] == [0, 0]


# -- divergence --------------------------------------------------------------------


def test_a_diverged_run_is_recorded_and_stops(small_world, small_local):
    wild = fedavg(replace(small_local, lr=1e6), name="wild")
    tame = fedavg(small_local)
    bad, good = run_all([Run(small_world, wild, 8), Run(small_world, tame, 8)])
    assert bad.diverged and bad.diverged_at == len(bad.rows) < 8
    assert good.diverged_at is None and not good.diverged and len(good.rows) == 8
    assert not tree.is_finite(bad.states) and tree.is_finite(good.states)
    assert math.isnan(bad.accuracy()) and len(bad.frame) == len(bad.rows)


def test_progress_goes_to_standard_error_and_can_be_hidden(
    small_world, small_local, capsys
):
    federate(small_world, fedavg(small_local), 2, progress=False)
    assert capsys.readouterr() == ("", "")
    federate(small_world, fedavg(small_local), 2, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "2/2" in err


def test_training_of_own_models_is_no_round_of_its_own(
    small_world, small_local, capsys
):
    federate(small_world, ditto(small_local), 2, progress=True)
    assert "2/2" in capsys.readouterr().err


# -- what clients keep -------------------------------------------------------------


@pytest.mark.parametrize("keep", ["device", "host"])
def test_memory_waits_for_a_clients_next_turn(small_world, keep):
    """Whoever takes part again goes on with the velocity of the time before."""
    local = Training(lr=0.05, batch_size=16, momentum=0.9, keep_velocity=True)
    seen: list = []
    federate(
        small_world, fedavg(local), 6, seed=4, participants=2, keep=keep,
        observe=lambda r: seen.append(r) or {},
    )  # fmt: skip
    turns: dict[int, list] = {}
    for r in seen:
        for row, k in enumerate(r.ids):
            turns.setdefault(k, []).append((r, row))
    again = {k: rs for k, rs in turns.items() if len(rs) > 1}
    assert again  # else nothing is tested
    for k, rs in again.items():
        (before, i), (now, j) = rs[0], rs[1]
        client = Client(
            torch.from_numpy(small_world.partition.indices[k]), (4, now.number - 1, k)
        )
        w, kept = small_world, tree.take(before.trained.kept, [i])
        given = ClientInput(now.before, kept)
        alone = train(w.model, w.x, w.y, [client], given, local)
        for name, v in alone.kept.items():
            torch.testing.assert_close(now.trained.kept[name][j], v[0])


def test_keep_must_be_one_of_two(small_world, small_local):
    with pytest.raises(InputError, match="keep must be device or host, not 'disk'"):
        federate(small_world, fedavg(small_local), 1, keep="disk")


def test_bf16_reaches_the_engine(small_world, small_local):
    exact, rough = (
        federate(small_world, fedavg(small_local), 1, precision=p).states
        for p in ("float32", "bf16")
    )
    assert not torch.equal(exact["head.weight"], rough["head.weight"])
    with pytest.raises(InputError, match="tf32 needs a CUDA device"):
        federate(small_world, fedavg(small_local), 1, precision="tf32")
    with pytest.raises(InputError, match="precision must be float32, tf32 or bf16"):
        federate(small_world, fedavg(small_local), 1, precision="fp8")

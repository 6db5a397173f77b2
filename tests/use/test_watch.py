"""Observers joined, clients' numbers as tables, and runs that stop early."""

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_use.watch import EACH
from tests.methods.plainly import LOCAL


def test_joined_observers_see_the_round_and_each_other(small_world):
    seen = []

    def first(now: fl.Round) -> dict:
        return {"twice": 2 * now.number}

    def second(now: fl.Round) -> dict:
        seen.append(now.row["twice"])
        return {"more": now.row["twice"] + 1}

    both = fl.together([first, second])
    h = fl.federate(small_world, fl.fedavg(LOCAL), rounds=3, observe=both)
    assert seen == [2, 4, 6] and [row["more"] for row in h.rows] == [3, 5, 7]


def test_joined_observers_remember_over_a_checkpoint(small_world, tmp_path):
    def watched():
        return fl.Best(), fl.EachClient()

    path, whole = tmp_path / "run", watched()
    fl.federate(small_world, fl.fedavg(LOCAL), 4, observe=fl.together(whole))
    for rounds in (2, 4):
        apart = watched()
        joined = fl.together(apart)
        run = {"observe": joined, "checkpoint": path}
        fl.federate(small_world, fl.fedavg(LOCAL), rounds, **run)
    assert apart[1].frame.equals(whole[1].frame)
    assert apart[0].round == whole[0].round


@pytest.mark.parametrize(
    "said, words",
    [
        (lambda now: {"a": 1}, "two observers give a"),
        (lambda now: None, "must give a dict, not NoneType"),
        (lambda now: {"accuracy": 1}, "accuracy is a round's own"),
    ],
)
def test_what_joined_observers_may_not_say(small_world, said, words):
    both = fl.together([lambda now: {"a": 0}, said])
    with pytest.raises(fl.InputError, match=words):
        fl.federate(small_world, fl.fedavg(LOCAL), 1, observe=both)


def test_each_clients_numbers_are_the_rounds(small_world):
    """Weights of FedAvg are shares of the participants' samples."""
    each = fl.EachClient()
    run = {"rounds": 3, "participants": 4, "observe": each}
    h = fl.federate(small_world, fl.fedavg(LOCAL), **run)
    frame = each.frame
    assert list(frame) == list(EACH) and len(frame) == 12
    for row, (number, now) in zip(h.rows, frame.groupby("round"), strict=True):
        share = now["samples"] / now["samples"].sum()
        assert row["round"] == number
        assert np.allclose(now["weight"], share, atol=1e-6)
        assert row["steps"] == now["steps"].sum()
        assert row["train_loss"] == pytest.approx(now["train_loss"].mean())
    sizes = small_world.partition.sizes
    assert (frame["samples"].to_numpy() == sizes[frame["client"].to_numpy()]).all()


def test_weights_are_those_of_the_clients_group(small_world):
    each = fl.EachClient()
    h = fl.federate(small_world, fl.ifca(LOCAL, k=2), 2, observe=each)
    last = each.frame[each.frame["round"] == 2]
    assert last["group"].tolist() == h.group_of
    assert np.allclose(last.groupby("group")["weight"].sum(), 1)


def test_tables_have_the_columns_that_are_listed(small_world, small_data):
    hs = fl.run_all([fl.Run(small_world, fl.fedavg(LOCAL), 2, s) for s in (0, 1)])
    table = fl.curves(hs)
    said = " ".join((fl.History.frame.__doc__ or "").split())
    assert len(table) == 4 and table.index.tolist() == [0, 1, 2, 3]
    assert all(name in said for name in table)
    now = fl.by_client(hs[0], small_world)
    assert list(now) == ["client", "group", "samples", "accuracy"]
    assert now["samples"].sum() == 300 and now["accuracy"].isna().all()
    scenario = fl.scenario(small_data, "iid", clients=3, own_test=0.3)
    w = fl.world_of(scenario, fl.build("mlp", small_data.shape, 10, hidden=(8,)))
    h = fl.federate(w, fl.fedavg(LOCAL), 1)
    assert h.clients is not None
    assert fl.by_client(h, w)["accuracy"].tolist() == h.clients.tolist()
    with pytest.raises(fl.InputError, match="6 clients, not 3"):
        fl.by_client(hs[0], w)
    with pytest.raises(fl.InputError, match="no history"):
        fl.curves([])


def rows(*values: float) -> list[dict]:
    return [{"accuracy": v, "loss": 1 - v} for v in values]


def test_patience_counts_tests_without_a_better_one():
    stop = fl.Patience(2)
    assert not stop(rows(0.5)) and not stop(rows(0.5, 0.5))
    assert stop(rows(0.5, 0.5, 0.4)) and not stop(rows(0.5, 0.4, 0.6))
    assert fl.Patience(1, least=0.1)(rows(0.5, 0.55))
    assert fl.Patience(1, column="loss", lower=True)(rows(0.5, 0.4))
    assert not fl.Patience(1, column="loss", lower=True)(rows(0.5, 0.6))
    assert stop([{"accuracy": 0.5}, {}, {"accuracy": 0.4}, {"accuracy": 0.4}])
    with pytest.raises(fl.InputError, match="no column 'auc' in accuracy, loss"):
        fl.Patience(1, column="auc")(rows(0.5))


def test_a_run_that_stops_early_is_the_first_rounds_of_one_that_does_not(small_world):
    whole = fl.federate(small_world, fl.fedavg(LOCAL), 6)
    asked = []

    def after_three(rows: list[dict]) -> bool:
        asked.append(len(rows))
        return len(rows) >= 3

    short = fl.federate(small_world, fl.fedavg(LOCAL), 6, stop=after_three)
    assert (
        short.rows == whole.rows[:3] and not short.diverged and set(asked) == {1, 2, 3}
    )
    three = fl.federate(small_world, fl.fedavg(LOCAL), 3)
    assert all(torch.equal(short.states[n], v) for n, v in three.states.items())


def test_it_is_asked_after_tests_only(small_world):
    run = {"rounds": 6, "judge_every": 2, "stop": lambda rows: len(rows) > 2}
    h = fl.federate(small_world, fl.fedavg(LOCAL), **run)
    assert len(h.rows) == 4 and "accuracy" in h.rows[-1]

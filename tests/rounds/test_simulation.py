"""The round loop: what is drawn, sent, recorded, and what runs may share."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fedlab_core import (
    Disco,
    Equal,
    History,
    Method,
    Rule,
    Run,
    Training,
    build,
    everyone,
    fedavg,
    feddisco,
    federate,
    iid,
    local_only,
    niid2,
    nobody,
    run_all,
    tree,
    world,
)
from fedlab_core.errors import InputError
from fedlab_core.methods.fedavg import AVERAGE
from fedlab_core.metrics import evaluate
from fedlab_core.rounds.groups import Groups
from fedlab_core.rounds.records import draw_participants


def same_bits(a: History, b: History) -> bool:
    return a.rows == b.rows and all(
        torch.equal(v, b.states[n]) for n, v in a.states.items()
    )


def gap(a: History, b: History) -> float:
    """Largest difference of two runs' models, relative to the largest number."""
    far = [(v - b.states[n]).abs().max() / v.abs().max() for n, v in a.states.items()]
    return float(max(far))


# -- history -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "bytes", "round", "seed"])
def test_an_observer_may_not_replace_what_a_round_measures(
    small_world, small_local, name
):
    """In the first round, also where that is not judged."""
    rounds = []

    def look(seen):
        rounds.append(seen.number)
        return {"spread": 1.0, name: 0.0}

    own = "round, train_loss, participants, steps, bytes, accuracy, loss, method, seed"
    text = f"observe: {name} is a round's own; these are: {own}"
    with pytest.raises(InputError, match=f"(?m)^{text}$"):
        federate(small_world, fedavg(small_local), 3, observe=look, judge_every=2)
    assert rounds == [1]
    tested = replace(small_world, tests=[torch.arange(9)] * len(small_world))
    with pytest.raises(InputError, match="observe: spread is a round's own; these"):
        federate(tested, fedavg(small_local), 1, observe=lambda _: {"spread": 1.0})


def test_a_history_says_which_accuracy():
    curve = [0.1, 0.6, 0.2, 0.3, 0.4, 0.5]
    h = History("made", 0, [{"round": t, "accuracy": a} for t, a in enumerate(curve)])
    assert h.accuracy() == h.accuracy("last") == 0.5
    assert h.accuracy("best") == 0.6
    assert h.accuracy("mean") == pytest.approx((0.6 + 0.2 + 0.3 + 0.4 + 0.5) / 5)
    assert h.accuracy("mean", k=2) == pytest.approx(0.45)
    assert h.accuracy("mean", k=100) == pytest.approx(sum(curve) / 6)


def test_a_history_refuses_what_it_cannot_say():
    h = History("made", 0, [{"accuracy": 0.1}])
    with pytest.raises(InputError, match="which must be last, best or mean"):
        h.accuracy("top")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no round yet"):
        History("made", 0).accuracy()
    with pytest.raises(
        InputError, match="k must be a whole number of 1 or more, not 0"
    ):
        h.accuracy("mean", k=0)


def test_a_frame_is_tidy(small_world, small_local):
    h = federate(small_world, fedavg(small_local), 3, seed=4)
    assert len(h.frame) == 3 and h.frame["round"].tolist() == [1, 2, 3]
    assert set(h.frame["method"]) == {"FedAvg"} and set(h.frame["seed"]) == {4}
    assert h.frame["accuracy"].tolist() == [row["accuracy"] for row in h.rows]


# -- a run -------------------------------------------------------------------------


def test_a_round_by_the_book(small_world, small_local):
    """Rows of the history against what an observer saw in each round."""
    seen = []
    w = small_world

    def look(r):
        seen.append(r)
        return {"number": r.number, "clients": len(r.ids)}

    h = federate(w, fedavg(small_local), 2, seed=3, participants=4, observe=look)
    for t, (row, r) in enumerate(zip(h.rows, seen, strict=True)):
        assert row["round"] == row["number"] == t + 1
        assert row["participants"] == row["clients"] == 4
        assert r.ids == draw_participants(6, 4, 3, t)
        sizes = w.counts[r.ids].sum(1)
        want = [-(-int(m) // small_local.batch_size) for m in sizes]
        want = [small_local.epochs * n for n in want]
        assert r.trained.steps.tolist() == want and row["steps"] == sum(want)
        assert row["train_loss"] == pytest.approx(float(r.trained.loss.mean()))
        p = sizes / sizes.sum()
        torch.testing.assert_close(r.weights[0], p.double(), rtol=1e-6, atol=0)
        for name, v in r.after.items():
            mixed = sum(
                float(p[i]) * r.trained.states[name][i].double() for i in range(4)
            )
            torch.testing.assert_close(v[0].double(), mixed, rtol=1e-5, atol=1e-6)
        net = w.make()
        net.load_state_dict(tree.take(r.after, 0))
        out = net(w.x_test).detach()
        right = float((out.argmax(1) == w.y_test).double().mean())
        assert row["accuracy"] == pytest.approx(right)
        loss = float(F.cross_entropy(out, w.y_test))
        assert row["loss"] == pytest.approx(loss, rel=1e-5)
    assert all(torch.equal(v, seen[0].after[n]) for n, v in seen[1].before.items())
    assert all(torch.equal(v, seen[1].after[n]) for n, v in h.states.items())


def test_training_learns(small_world, small_local):
    h = federate(small_world, fedavg(small_local), 15)
    assert h.accuracy("best") > 0.35 and h.rows[-1]["loss"] < h.rows[0]["loss"]


def test_same_seed_same_bits_other_seed_other_run(small_world, small_local):
    a, b, other = (
        federate(small_world, fedavg(small_local), 2, seed=s) for s in (1, 1, 2)
    )
    assert same_bits(a, b) and not same_bits(a, other)


def test_a_given_start_is_used(small_world, small_local):
    first = federate(small_world, fedavg(small_local), 1)
    started = tree.take(first.states, 0)
    seen = []
    federate(
        small_world,
        fedavg(small_local),
        1,
        start=started,
        observe=lambda r: seen.append(r.before) or {},
    )
    assert all(torch.equal(seen[0][n][0], v) for n, v in started.items())


def test_the_global_generators_are_left_alone(small_world, small_local):
    before = (
        random.getstate(),
        np.random.get_state(legacy=False)["state"]["key"].copy(),
        torch.get_rng_state(),
    )
    federate(small_world, feddisco(small_local), 2, participants=3)
    assert random.getstate() == before[0]
    assert (np.random.get_state(legacy=False)["state"]["key"] == before[1]).all()
    assert torch.equal(torch.get_rng_state(), before[2])


# -- partial participation ---------------------------------------------------------


def test_every_method_meets_the_same_clients(small_world, small_local):
    met: dict[str, list] = {}
    plays = [
        Run(
            small_world,
            method,
            4,
            seed=2,
            participants=3,
            observe=lambda r, name=method.name: (
                met.setdefault(name, []).append(r.ids) or {}
            ),
        )
        for method in (fedavg(small_local), feddisco(small_local))
    ]
    run_all(plays)
    assert met["FedAvg"] == met["FedDisco"] and len(set(map(tuple, met["FedAvg"]))) > 1


def test_participants_are_drawn_fairly_and_anew():
    draws = [draw_participants(12, 3, seed=5, t=t) for t in range(2000)]
    assert all(d == sorted(set(d)) and len(d) == 3 for d in draws)
    counts = np.bincount(np.ravel(draws), minlength=12)
    assert abs(counts - 500).max() < 5 * (2000 * 0.25 * 0.75) ** 0.5
    assert draws[:20] != [draw_participants(12, 3, seed=6, t=t) for t in range(20)]
    assert (
        draw_participants(4, None, 0, 0)
        == draw_participants(4, 4, 0, 9)
        == [0, 1, 2, 3]
    )


@pytest.mark.parametrize("participants", [0, -1, 7])
def test_participants_must_exist(small_world, participants):
    with pytest.raises(InputError, match=f"participants must be .* not {participants}"):
        Run(small_world, fedavg(), 1, participants=participants)


def test_a_run_refuses_bad_numbers(small_world):
    with pytest.raises(
        InputError, match="rounds must be a whole number of 1 or more, not 0"
    ):
        Run(small_world, fedavg(), 0)
    with pytest.raises(InputError, match="seed must be .* 0 or more, not -1"):
        Run(small_world, fedavg(), 1, seed=-1)


# -- runs side by side -------------------------------------------------------------


@pytest.mark.slow
def test_runs_side_by_side_equal_runs_apart(small_world, small_local):
    w, other = small_world, Training(lr=0.2, batch_size=8)
    plays = [
        Run(w, fedavg(small_local), 3, seed=0),
        Run(w, feddisco(small_local), 2, seed=0, participants=4),
        Run(w, fedavg(small_local), 3, seed=1),
        Run(w, fedavg(other), 1, seed=1),
        Run(w, local_only(small_local), 2, seed=1, participants=2),
    ]
    for play, together in zip(plays, run_all(plays), strict=True):
        (apart,) = run_all([play])
        assert together.method == play.method.name and together.seed == play.seed
        assert len(together.rows) == play.rounds
        assert gap(together, apart) < 1e-5
        keys = ("round", "participants", "steps", "bytes")
        for a, b in zip(together.rows, apart.rows, strict=True):
            assert [a[k] for k in keys] == [b[k] for k in keys]


@pytest.mark.slow
def test_worlds_that_differ_in_data_are_not_mixed_up(
    small_data, small_world, small_local
):
    """Other images, other labels on the same images, another split, another network."""
    w = small_world
    shape = small_data.shape
    noisy = world(
        replace(small_data, x_train=255 - small_data.x_train), w.partition, w.make
    )
    turned = replace(w, y=9 - w.y)
    split = world(small_data, iid(small_data.y_train, 3), w.make)
    dropped = build("mlp", shape, 10, hidden=(16,), dropout=0.5)
    less = build("mlp", shape, 10, hidden=(16,), dropout=0.1)
    worlds = [w, noisy, turned, split]
    worlds += [world(small_data, w.partition, make) for make in (dropped, less)]
    plays = [Run(v, fedavg(small_local), 2) for v in worlds]
    apart = [run_all([play])[0] for play in plays]
    for together, alone in zip(run_all(plays), apart, strict=True):
        assert gap(together, alone) < 1e-5
    for a in range(len(apart)):
        for b in range(a):
            assert gap(apart[a], apart[b]) > 1e-3


def test_equal_sizes_make_size_the_plain_mean(small_data, small_local):
    """On NIID-2 everyone holds the same number: FedAvg is Equal, bit for bit."""
    w = world(small_data, niid2(small_data.y_train), build("mlp", small_data.shape, 10))
    methods = [fedavg(small_local), fedavg(small_local, weigh=Equal(), name="Equal")]
    a, b = run_all([Run(w, m, 3) for m in methods])
    assert same_bits(a, b)


def test_no_runs_no_histories():
    assert run_all([]) == []


# -- groups ------------------------------------------------------------------------


FIRST_ALONE = Groups.fixed([[0], [1, 2, 3, 4, 5]], "first alone")


def test_local_training_is_every_client_by_itself(small_world, small_local):
    """A world of one client gives the same model as that client without the others."""
    h = federate(small_world, local_only(small_local), 2)
    assert len(h.states["head.bias"]) == 6
    lone = Method("lone", small_local, Rule(), Equal(), AVERAGE, FIRST_ALONE)
    other = federate(small_world, lone, 2)
    for name, v in h.states.items():
        torch.testing.assert_close(v[0], other.states[name][0], rtol=1e-5, atol=1e-6)
    w = small_world
    scores = evaluate(w.model, h.states, w.x_test, w.y_test, 10)
    assert h.rows[-1]["accuracy"] == pytest.approx(float(scores.accuracy.mean()))


def test_a_group_without_a_participant_keeps_its_model(small_world, small_local):
    seen = []
    federate(
        small_world,
        local_only(small_local),
        1,
        participants=2,
        observe=lambda r: seen.append(r) or {},
    )
    (r,) = seen
    for k in range(6):
        kept = torch.equal(r.after["head.weight"][k], r.before["head.weight"][k])
        assert kept == (k not in r.ids)
        assert len(r.weights[k]) == (k in r.ids)


def test_everyone_and_nobody(small_world):
    assert everyone.begin(small_world, 0) == [0] * 6
    assert nobody.begin(small_world, 0) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("coalitions", [[[0, 1]], [[0, 1, 2, 3, 4, 5], [5]], [[7]]])
def test_coalitions_hold_everyone_once(small_world, small_local, coalitions):
    method = replace(fedavg(small_local), groups=Groups.fixed(coalitions))
    with pytest.raises(InputError, match="every client from 0 to 5 must be in exactly"):
        federate(small_world, method, 1)


def test_a_method_without_sense_is_refused():
    with pytest.raises(InputError, match="weigh=disco compares .* use groups=everyone"):
        Method("M", Training(), Rule(), Disco(), AVERAGE, nobody)
    with pytest.raises(InputError, match="groups=nobody"):
        replace(feddisco(), groups=nobody)

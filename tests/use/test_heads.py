"""Private parts of networks: the plain versions, what is sent, what is refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core.tree import subtree, take
from tests.methods.plainly import LOCAL, SEED, Setting, judged, played, setting
from tests.reference import heads as plain

WAYS = [(None, "stacked"), (3, "stacked"), (3, "looped")]
BARE = replace(LOCAL, momentum=0.0, weight_decay=0.0)
REP = replace(LOCAL, epochs=3)  # two of the head, one of the features
Case = tuple[Callable[[fl.Training], fl.Method], Callable[[Setting], list]]
CASES: dict[str, Case] = {
    "fedper": (
        lambda how: fl.fedper(how),
        lambda s: plain.run(*s.start, *s.sgd, s.by_size, "head"),
    ),
    "fedrep": (
        lambda how: fl.fedrep(replace(how, epochs=1), head=2),
        lambda s: plain.fedrep(*s.start, *s.sgd, s.by_size, 2, 3),
    ),
    "lg_fedavg": (
        lambda how: fl.lg_fedavg(how),
        lambda s: plain.run(*s.start, *s.sgd, s.by_size, "features"),
    ),
}
STAYS = {"fedper": "head.", "fedrep": "head.", "lg_fedavg": "features."}


def own_states(world, method, rounds: int, **run) -> list[dict]:
    """The models by which clients are judged when a run is over."""
    own = fl.OwnModels()
    with pytest.warns(UserWarning, match="everybody's test set"):
        fl.federate(world, method, rounds, SEED, observe=own, **run)
    return [own.model(k) for k in range(len(world))]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("participants, engine", WAYS)
@pytest.mark.parametrize("local", [REP, replace(BARE, epochs=3)], ids=["all", "bare"])
def test_equals_the_plain_version(small_world, name, participants, engine, local):
    """The shared part after every round, and every client's own model at the end."""
    make, plainly = CASES[name]
    s = setting(small_world, local, participants)
    want, method = plainly(s), make(local)
    for r, other in zip(
        played(small_world, method, participants, engine), want, strict=True
    ):
        for n, v in other.model.items():
            if not n.startswith(STAYS[name]):
                torch.testing.assert_close(r.after[n][0], v, rtol=1e-5, atol=1e-5)
    run = {"participants": participants, "engine": engine}
    for got, other in zip(
        own_states(small_world, method, 3, **run),
        want[-1].clients["model"],
        strict=True,
    ):
        for n, v in other.items():
            torch.testing.assert_close(got[n], v, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_clients_are_judged_by_the_shared_part_with_their_own(small_world, name):
    make, plainly = CASES[name]
    want = plainly(setting(small_world, REP, 3))
    with pytest.warns(UserWarning, match="everybody's test set"):
        h = fl.federate(small_world, make(REP), 3, SEED, participants=3)
    for row, r in zip(h.rows, want, strict=True):
        right = judged(small_world, r.clients["model"])
        assert row["accuracy"] == pytest.approx(right, abs=2e-3)


@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_says_nothing_of_what_stays(small_world, name):
    """There it is the first model's, in every upload and at the server."""
    seen = played(small_world, CASES[name][0](LOCAL), 3, rounds=2)
    first = take(seen[0].before, 0)
    moved = 0
    for r in seen:
        assert r.uploads == {}
        for n, v in r.trained.states.items():
            for row in v:
                if n.startswith(STAYS[name]):
                    torch.testing.assert_close(row, first[n], rtol=0, atol=1e-6)
                    continue
                moved += not torch.equal(row, first[n])
        own = subtree(r.kept, "own")
        assert own and all(n.startswith(STAYS[name]) for n in own)
        assert r.kept.keys() == {f"own.{n}" for n in own}
        assert all(not torch.equal(v[0], v[1]) for v in own.values())
    assert moved


def test_by_hand_one_step_of_fedper_moves_both_parts():
    """Two clients alike, with samples x = 1 of class 0; weights 0, but 1 of features.

    With features u x, head (a, b) on it, no bias: p = 1/2 each, gradient of (a, b) is
    (p - 1, p) u x = (-1/2, 1/2), that of u is sum (p - y) (a, b) x = 0. With rate 1
    (a, b) becomes (1/2, -1/2); the second step moves u by (1 - s) with s the sigmoid
    of 1: the gradient of u is (s - 1) / 2 - (1 - s) / 2 = s - 1.
    """
    x, y = np.ones((4, 1), np.float32), np.zeros(4, np.int64)
    data = fl.Dataset("one", x, y, x, y, ("a", "b"), (0.0,), (1.0,))

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.features = torch.nn.Linear(1, 1, bias=False)
            self.head = torch.nn.Linear(1, 2, bias=False)
            torch.nn.init.ones_(self.features.weight)
            torch.nn.init.zeros_(self.head.weight)

        def forward(self, x):
            return self.head(self.features(x))

    w = fl.world(data, fl.iid(y, 2), Two)
    two = fl.Training(lr=1.0, epochs=2, batch_size=2)
    model, _ = own_states(w, fl.fedper(two), 1)
    s = 1 / (1 + np.exp(-1.0))
    assert model["features.weight"].item() == pytest.approx(1 + (1 - s))
    head = model["head.weight"].flatten().tolist()
    assert head == pytest.approx([0.5 + (1 - s), -0.5 - (1 - s)])
    # FedRep, one epoch each: the head alone, then the features with that head
    one = fl.Training(lr=1.0, epochs=1, batch_size=2)
    model, _ = own_states(w, fl.fedrep(one, head=1), 1)
    assert model["features.weight"].item() == pytest.approx(1 + (1 - s))
    assert model["head.weight"].flatten().tolist() == pytest.approx([0.5, -0.5])


@pytest.mark.slow
@pytest.mark.parametrize("make", [fl.fedper, fl.fedrep])
def test_runs_of_several_rates_side_by_side_give_what_they_give_alone(
    small_world, make
):
    """The rate is a number of the rule, too."""
    methods = [make(replace(LOCAL, lr=lr)) for lr in (0.05, 0.2)]
    runs = [fl.Run(small_world, m, 2, SEED) for m in methods]
    both = fl.run_all(runs)
    for run, h in zip(runs, both, strict=True):
        (alone,) = fl.run_all([run])
        assert h.rows[-1]["loss"] == pytest.approx(alone.rows[-1]["loss"], rel=1e-5)


@pytest.mark.parametrize("make", [fl.fedper, fl.fedrep, fl.lg_fedavg])
def test_they_are_refused_where_they_would_not_be_what_they_say(small_data, make):
    how = fl.Training()
    others = ({"clip": 1.0}, {"schedule": fl.Decay(0.9)}, {"rmsprop": 0.9})
    for more in (*others, {"keep_velocity": True, "momentum": 0.5}):
        with pytest.raises(fl.InputError, match="training must be SGD with a constant"):
            make(replace(how, **more))
    bare = lambda: torch.nn.Sequential(  # noqa: E731
        torch.nn.Flatten(), torch.nn.Linear(196, 10)
    )
    w = fl.world(small_data, fl.iid(small_data.y_train, 3), bare)
    with pytest.raises(fl.InputError, match="this method needs both"):
        fl.run_all([fl.Run(w, make(how), 1)])


def test_a_batch_norm_is_refused_in_what_stays(small_data):
    net = fl.build("mlp", small_data.shape, 10, hidden=(8,), batch_norm=True)
    w = fl.world(small_data, fl.iid(small_data.y_train, 3), net)
    with pytest.raises(fl.InputError, match="the network's features cannot stay"):
        fl.run_all([fl.Run(w, fl.lg_fedavg(LOCAL), 1)])
    (h,) = fl.run_all([fl.Run(w, fl.fedper(LOCAL), 1)])  # in what is shared it may be
    moved = [v for n, v in h.states.items() if n.endswith("running_mean")]
    assert moved and all(float(v.abs().max()) > 0 for v in moved)


def test_fedrep_counts_epochs():
    for more in ({"iterations": 3}, {"cap": 3}):
        with pytest.raises(fl.InputError, match="FedRep counts epochs"):
            fl.fedrep(replace(fl.Training(), **more))
    with pytest.raises(fl.InputError, match="head must be a whole number of 1 or more"):
        fl.fedrep(head=0)


@pytest.mark.filterwarnings("ignore:.*everybody's test set")
@pytest.mark.parametrize("name", CASES)
def test_what_stays_is_not_counted_and_no_shared_model_has_it(
    small_world, name, tmp_path
):
    """FedAvg's bytes less those of the part that stays, down and up, of 3 clients."""
    run = {"rounds": 2, "participants": 3, "progress": False}
    usual = fl.federate(small_world, fl.fedavg(BARE), **run)
    best = fl.Best()
    h = fl.federate(small_world, CASES[name][0](BARE), observe=best, **run)
    sizes = {n: v.numel() for n, v in usual.model().items()}
    home = sum(v for n, v in sizes.items() if n.startswith(STAYS[name]))
    for a, b, t in zip(h.rows, usual.rows, (1, 2), strict=True):
        assert b["bytes"] == 4 * 2 * 3 * t * sum(sizes.values())
        assert a["bytes"] == b["bytes"] - 4 * 2 * 3 * t * home
    words = f"{STAYS[name]}.*: each client's model is kept by .*fl.OwnModels"
    file = tmp_path / "model.safetensors"
    for asked in (h.model, best.model, lambda: fl.save_model(h, file)):
        with pytest.raises(fl.InputError, match=words) as refused:
            asked()
        assert "\n" not in str(refused.value)
    assert not file.exists()

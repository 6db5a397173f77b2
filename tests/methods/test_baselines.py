"""Every baseline equals its plain version, and its term does something.

The plain versions are in tests/reference, written from the papers and importing nothing
of the package. Full and partial participation, both engines.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core import Equal, Method, Training, tree
from fedlab_core.rounds.server import ServerState
from tests.methods.plainly import LOCAL, Setting, agree, differ, played, setting
from tests.reference import (
    fedadam,
    fedavgm,
    feddc,
    feddyn,
    fednova,
    fedprox,
    moon,
    qfedavg,
    rmsprop,
    scaffold,
)

LATE = replace(LOCAL, weight_decay=0.0)  # FedDyn's form adds its own decay
NO_SPEED = replace(LOCAL, momentum=0.0)


@dataclass
class Case:
    ours: Callable[[Training], Method]
    plain: Callable[[Setting], list]
    local: Training = LOCAL


CASES = {
    "fedprox": Case(
        lambda how: fl.fedprox(how, mu=0.7),
        lambda s: fedprox.run(*s.start, *s.sgd, s.by_size, 0.7),
    ),
    "fedprox, no half": Case(
        lambda how: fl.fedprox(how, mu=0.7, half=False),
        lambda s: fedprox.run(*s.start, *s.sgd, s.by_size, 0.7, False),
    ),
    "scaffold": Case(
        lambda how: fl.scaffold(how), lambda s: scaffold.run(*s.start, *s.sgd, s.equal)
    ),
    "scaffold, server lr": Case(
        lambda how: fl.scaffold(how, lr=0.6),
        lambda s: scaffold.run(*s.start, *s.sgd, s.equal, 0.6),
    ),
    "scaffold, after momentum, by size": Case(
        lambda how: replace(fl.scaffold(how, after=True), weigh=fl.BySize()),
        lambda s: scaffold.run(*s.start, *s.sgd, s.by_size, separate=True),
    ),
    "feddyn": Case(
        lambda how: fl.feddyn(how, alpha=0.3),
        lambda s: feddyn.run(*s.start, *s.sgd, s.equal, 0.3),
    ),
    "feddyn, by size": Case(
        lambda how: replace(fl.feddyn(how, alpha=0.3), weigh=fl.BySize()),
        lambda s: feddyn.run(*s.start, *s.sgd, s.by_size, 0.3),
        LATE,
    ),
    "feddyn, law": Case(
        lambda how: fl.feddyn(how, alpha=0.4, form="law"),
        lambda s: feddyn.run_law(*s.start, *s.sgd, s.by_size, 0.4),
        NO_SPEED,
    ),
    "feddyn, law, squared": Case(
        lambda how: fl.feddyn(how, alpha=0.4, form="law", squared=True),
        lambda s: feddyn.run_law(*s.start, *s.sgd, s.by_size, 0.4, True),
    ),
    "feddc": Case(
        lambda how: fl.feddc(how, alpha=0.2),
        lambda s: feddc.run(*s.start, *s.sgd, s.equal, 0.2, correct=True),
    ),
    "feddc, no correction": Case(
        lambda how: fl.feddc(how, alpha=0.2, correction=False),
        lambda s: feddc.run(*s.start, *s.sgd, s.equal, 0.2),
    ),
    "moon": Case(
        lambda how: fl.moon(how, mu=2.0),
        lambda s: moon.run(*s.start, *s.sgd, s.by_size, 2.0),
    ),
    "fednova": Case(
        lambda how: fl.fednova(how), lambda s: fednova.run(*s.start, *s.sgd, s.by_size)
    ),
    "fednova, momentum": Case(
        lambda how: fl.fednova(how, momentum=0.5),
        lambda s: fednova.run(*s.start, *s.sgd, s.by_size, True),
    ),
    "fedavgm": Case(
        lambda how: fl.fedavgm(how, beta=0.7),
        lambda s: fedavgm.run(*s.start, *s.sgd, s.by_size, 0.7),
    ),
    "fedavgm, undamped": Case(
        lambda how: fl.fedavgm(how, beta=0.7, damped=False),
        lambda s: fedavgm.run(*s.start, *s.sgd, s.by_size, 0.7, False),
    ),
    "fedadam": Case(
        lambda how: fl.fedadam(how, lr=0.02),
        lambda s: fedadam.run(*s.start, *s.sgd, s.by_size, 0.02),
    ),
    "q-fedavg": Case(
        lambda how: fl.qfedavg(how, q=1.5), lambda s: qfedavg.run(*s.start, *s.sgd, 1.5)
    ),
    "q-fedavg, scaled": Case(
        lambda how: fl.qfedavg(how, q=0.5, lipschitz=1.0, scaled_norm=True),
        lambda s: qfedavg.run(*s.start, *s.sgd, 0.5, 1.0, True),
    ),
}


# "feddc, no correction" holds feddc
MARKED = [
    pytest.param(n, marks=pytest.mark.equals(n.split(",")[0]), id=n) for n in CASES
]


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("participants, engine", [(None, "stacked"), (3, "looped")])
def test_equals_the_plain_version(small_world, name, participants, engine):
    case = CASES[name]
    ours = played(small_world, case.ours(case.local), participants, engine)
    s = setting(small_world, case.local, participants)
    agree(ours, case.plain(s), 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_is_not_fedavg(small_world, name):
    """A term that does nothing would go unseen in a comparison of accuracies."""
    case = CASES[name]
    method = case.ours(case.local)
    plainest = fl.fedavg(case.local, method.weigh)
    differ(played(small_world, method, 3), played(small_world, plainest, 3))


ZEROS = {
    "fedprox": (lambda how: fl.fedprox(how, mu=0.0), None),
    "moon": (lambda how: fl.moon(how, mu=0.0), None),
    "fednova": (lambda how: fl.fednova(replace(how, iterations=5)), 5),
    "fedavgm": (lambda how: fl.fedavgm(how, beta=0.0), None),
    "q-fedavg": (lambda how: fl.qfedavg(how, q=0.0), None),
}


@pytest.mark.parametrize("name", ZEROS)
def test_reduces_to_fedavg(small_world, name):
    make, steps = ZEROS[name]
    method = make(LOCAL)
    local = replace(LOCAL, iterations=steps)
    base = played(small_world, fl.fedavg(local, method.weigh), 3)
    ours = played(small_world, method, 3)
    for a, b in zip(ours, base, strict=True):
        for n, v in a.after.items():
            assert float((v - b.after[n]).abs().max()) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("make, run", [(fl.feddyn, feddyn.run), (fl.feddc, feddc.run)])
def test_a_clip_that_is_asked_for_is_kept(small_world, make, run):
    """Without one, 10, as in FedDisco's code."""
    assert make(LOCAL).training.clip == 10
    local = replace(LOCAL, clip=0.02)
    method = make(local, alpha=0.3)
    assert method.training.clip == 0.02
    s = setting(small_world, local, 3)
    more = {"correct": True} if make is fl.feddc else {}
    want = run(*s.start, *s.sgd, s.equal, 0.3, clip=0.02, **more)
    agree(played(small_world, method, 3), want)
    differ(
        played(small_world, make(LOCAL, alpha=0.3), 3), played(small_world, method, 3)
    )


@pytest.mark.slow
@pytest.mark.parametrize("momentum, after", [(0.9, False), (0.5, False), (0.9, True)])
def test_scaffolds_corrections_grow_with_much_momentum_unless_after(
    small_world, momentum, after
):
    """By hand, with steps so short that gradients g_k stay as they are.

    d = c_k - c becomes d + A (g_k - g - d), A the mean of (1 - m^t) / (1 - m) over the
    K steps t of a round: what d is off by is multiplied by 1 - A. With `after`, d is
    A (g_k - g) from the first round on.
    """
    local = fl.Training(lr=1e-4, iterations=20, batch_size=500, momentum=momentum)
    grows = momentum > 0.5 and not after
    warned = r"momentum=0.9 may let .* grow without end: use 0.5 or less, or after=True"
    with pytest.warns(UserWarning, match=warned) if grows else nullcontext():
        method = fl.scaffold(local, after=after)
    seen = played(small_world, method, None, rounds=5)
    owns = [tree.flatten(tree.subtree(r.kept, "own"), True) for r in seen]
    size = [float((own - own.mean(0)).norm()) for own in owns]
    A = sum((1 - momentum**t) / (1 - momentum) for t in range(1, 21)) / 20
    if grows:
        assert size[4] / size[3] == pytest.approx(A - 1, rel=0.1) and A > 5
    else:
        assert max(size) <= 1.02 * size[0]


def test_scaffolds_variates_after_one_round(small_world):
    """From c = 0 with everyone present, c is the mean of all c_i."""
    (first,) = played(small_world, fl.scaffold(LOCAL), None, rounds=1)
    for n in small_world.parameters:
        mean = first.kept[f"own.{n}"].mean(0)
        c = first.servers[0].broadcast[f"c.{n}"]
        assert float(c.abs().max()) > 0
        assert float((c - mean).abs().max()) < 1e-6


def test_alike_clients_need_no_control(small_data):
    """All clients hold the same samples in one batch: c_i and c cancel."""
    x, y = (
        np.concatenate([v[:60]] * 3) for v in (small_data.x_train, small_data.y_train)
    )
    thrice = replace(small_data, x_train=x, y_train=y)
    who = fl.Partition("by hand", {}, tuple(np.arange(180).reshape(3, 60)))
    w = fl.world(thrice, who, fl.build("mlp", small_data.shape, 10, hidden=(8,)))
    local = Training(lr=0.1, epochs=3, batch_size=100)
    ours, base = (
        played(w, m, None) for m in (fl.scaffold(local), fl.fedavg(local, Equal()))
    )
    for n, v in ours[-1].after.items():
        assert float((v - base[-1].after[n]).abs().max()) < 1e-6


BASES = {
    "FedAvg": fl.fedavg,
    "FedAvgM": fl.fedavgm,
    "FedProx": fl.fedprox,
    "SCAFFOLD": fl.scaffold,
    "FedDyn": fl.feddyn,
    "FedNova": fl.fednova,
    "MOON": fl.moon,
    "FedDC": fl.feddc,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_disco_goes_with_every_base_method(small_world, name):
    """FedDisco's Table 2 is a `replace`."""
    method = BASES[name](LOCAL)
    ours = played(small_world, replace(method, weigh=fl.Disco(0.9, 0.05)), 3)
    differ(ours, played(small_world, method, 3), 1e-5)
    assert float(ours[-1].weights[0].sum()) == pytest.approx(1)


def test_a_rule_without_its_server_is_refused():
    with pytest.raises(fl.InputError, match="needs c, which server=average does"):
        replace(fl.scaffold(), server=fl.fedavg().server)
    with pytest.raises(fl.InputError, match="needs change, which the rule"):
        replace(fl.fedavg(), server=fl.scaffold().server)


@pytest.mark.parametrize("participants, engine", [(None, "stacked"), (3, "looped")])
def test_rmsprop_goes_on_where_it_was(small_world, participants, engine):
    local = Training(0.01, 2, 16, rmsprop=0.9, keep_velocity=True)
    ours = played(small_world, fl.fedavg(local), participants, engine)
    s = setting(small_world, local, participants)
    want = rmsprop.run(*s.start, rmsprop.rmsprop(0.01, 0.9), s.by_size)
    agree(ours, want, 1e-4)


@pytest.mark.parametrize("participants, engine", [(None, "stacked"), (3, "looped")])
def test_adam_goes_on_where_it_was(small_world, participants, engine):
    """A client that comes back brings its moments, and counts on from its own steps."""
    betas = (0.9, 0.99)
    local = Training(
        0.01, 2, 16, weight_decay=0.1, adam=betas, decoupled=True, keep_velocity=True
    )
    ours = played(small_world, fl.fedavg(local), participants, engine)
    s = setting(small_world, local, participants)
    want = rmsprop.run(*s.start, rmsprop.adam(0.01, betas, 0.1), s.by_size)
    agree(ours, want, 1e-4)


def test_scaffold_says_that_adams_steps_are_no_gradients():
    local = Training(adam=(0.9, 0.99))
    with pytest.warns(UserWarning, match="lengths of Adam's steps: use after=True"):
        fl.scaffold(local)
    fl.scaffold(local, after=True)


@pytest.mark.parametrize("name", ["SCAFFOLD", "FedDyn", "FedProx"])
def test_what_corrects_gradients_goes_with_adam_in_both_engines(small_world, name):
    local = Training(0.01, 2, 16, adam=(0.9, 0.99))
    more = {"after": True} if name == "SCAFFOLD" else {}
    method = BASES[name](local, **more)
    stacked, looped = (
        played(small_world, method, 3, engine) for engine in ("stacked", "looped")
    )
    for n, v in stacked[-1].after.items():
        torch.testing.assert_close(v, looped[-1].after[n], rtol=1e-4, atol=1e-4)


def test_rmsprop_goes_without_momentum():
    with pytest.raises(fl.InputError, match="rmsprop goes without momentum"):
        Training(momentum=0.9, rmsprop=0.99)
    with pytest.raises(
        fl.InputError,
        match=r"rmsprop must be a number of 0 or more and below 1 or None",
    ):
        Training(rmsprop=1.0)


def test_a_method_is_added_in_few_lines(small_world):
    """A server rule of one's own, without touching the package."""

    @dataclass(frozen=True)
    class Bounded:
        """No client moves the mean by more than `most`."""

        most: float = 0.1

        def __call__(self, now):
            moves = now.moves()
            far = tree.flatten(moves, True).norm(dim=1)
            share = now.weights * (self.most / far).clamp(max=1)
            step = tree.weighted_sum(moves, share)
            return ServerState(tree.add(now.before.begin, step))

    def bounded(local=None, most=0.1):
        return fl.fedavg(local, server=fl.Server("bounded", Bounded(most)))

    rounds = played(small_world, bounded(LOCAL), 3)
    for r in rounds:
        gone = tree.add(tree.take(r.after, 0), tree.take(r.before, 0), -1)
        assert 0 < float(tree.norm(gone)) <= 0.1 + 1e-6
    differ(rounds, played(small_world, fl.fedavg(LOCAL), 3))

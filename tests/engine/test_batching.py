"""Settings of one experiment share a cohort, and each gives what it gives alone."""

from dataclasses import dataclass, replace

import pytest
from torch import Tensor

import fedlab_core as fl
from fedlab_core import engine, tree
from fedlab_core.client.local import Batch, ClientInput, Net, cross_entropy
from fedlab_core.engine.batching import kind, merge
from fedlab_core.rounds import play as runs
from fedlab_core.tree import Tree


@dataclass(frozen=True)
class Pull:
    """A term that draws parameters to where they began."""

    mu: float = 0.1
    half: float = 0.5  # the same in all settings, and still to be there

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        apart = sum(((w - given.start[n]) ** 2).sum() for n, w in params.items())
        return cross_entropy(net, params, batch, given) + self.half * self.mu * apart


@dataclass(frozen=True)
class Count:
    """A memory that begins at a number and grows by the way walked."""

    begin: float = 1.0

    def __call__(self, start: Tree, sent: Tree) -> Tree:
        w = next(iter(start.values()))
        return {"count": self.begin + w.sum() * 0}


def grow(params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor) -> Tree:
    return {"count": given.state["count"] + lr_sum}


@pytest.fixture
def world():
    data = fl.load("letters", n_train=200, n_test=50)
    split = fl.dirichlet(data.y_train, 4, 0.5, min_size=5)
    return fl.world(data, split, fl.build("mlp", data.shape, 10))


BASE = fl.Local(lr=0.1, loss=Pull(), memory=Count(), finish=grow)
SETTINGS = [
    BASE,
    replace(BASE, lr=0.03),
    replace(BASE, loss=Pull(1.0)),
    replace(BASE, lr=0.3, loss=Pull(0.0), memory=Count(5.0)),
]


@pytest.mark.parametrize("which", ["looped", "stacked"])
def test_together_is_as_alone(world, which, monkeypatch) -> None:
    plays = [fl.Run(world, fl.fedavg(local), 2, seed=1) for local in SETTINGS]
    alone = [fl.run_all([play], engine=which)[0] for play in plays]
    cohorts = []

    def counted(*arguments, **options):
        cohorts.append(len(arguments[3]))
        return engine.train(*arguments, **options)

    monkeypatch.setattr(runs, "train", counted)
    together = fl.run_all(plays, engine=which)
    assert cohorts == [16, 16], "one cohort a round"
    for one, other in zip(alone, together, strict=True):
        gap = tree.add(one.states, other.states, -1)
        assert tree.norm(gap) < 1e-5 * tree.norm(one.states)
    ends = [float(tree.norm(h.states)) for h in together]
    assert len(set(ends)) == 4, "the settings are told apart"


@pytest.mark.parametrize("order", [1, -1])
def test_a_whole_number_is_a_setting_too(world, order) -> None:
    """mu=0 is as much a setting as mu=0.0, also when it comes first."""
    locals = [replace(BASE, loss=Pull(mu)) for mu in (0, 5.0)][::order]  # type: ignore
    plays = [fl.Run(world, fl.fedavg(local), 2, seed=1) for local in locals]
    ends = [h.states for h in fl.run_all(plays)]
    assert tree.norm(tree.add(ends[0], ends[1], -1)) > 1e-2


def test_only_numbers_may_differ() -> None:
    assert len({kind(local) for local in SETTINGS}) == 1
    others = [replace(BASE, momentum=0.5), replace(BASE, loss=cross_entropy)]
    assert len({kind(local) for local in [BASE, *others]}) == 3


def test_alike_is_left_as_it_is() -> None:
    local, sent = merge([BASE, replace(BASE, lr=0.5)])
    assert local == BASE and sent == [{}, {}]

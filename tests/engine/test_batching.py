"""Settings of one experiment share a cohort, and each gives what it gives alone."""

from dataclasses import dataclass, fields, is_dataclass, replace

import pytest
from torch import Tensor

import fedlab_core as fl
from fedlab_core import engine, tree
from fedlab_core.client.rule import Batch, ClientInput, Rule, cross_entropy
from fedlab_core.client.training import Training
from fedlab_core.engine.merge_runs import merge, numberless
from fedlab_core.models.network import Net
from fedlab_core.rounds import run as runs
from fedlab_core.tree import Tree
from tests.engine_cases import ENGINES
from tests.methods.test_all import BRIEF


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
    """A state that begins at a number and grows by the way walked."""

    begin: float = 1.0

    def __call__(self, start: Tree, broadcast: Tree) -> Tree:
        w = next(iter(start.values()))
        return {"count": self.begin + w.sum() * 0}


def grow(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    return {"count": given.state["count"] + lr_sum}, {}


@pytest.fixture
def world():
    data = fl.load("letters", n_train=200, n_test=50)
    split = fl.dirichlet(data.y_train, 4, 0.5, min_size=5)
    return fl.world(data, split, fl.build("mlp", data.shape, 10))


BASE, RULE = Training(lr=0.1), Rule(Pull(), begin=Count(), finish=grow)
SETTINGS = [
    (BASE, RULE),
    (replace(BASE, lr=0.03), RULE),
    (BASE, replace(RULE, loss=Pull(1.0))),
    (replace(BASE, lr=0.3), replace(RULE, loss=Pull(0.0), begin=Count(5.0))),
]


def of(training: Training, rule: Rule) -> fl.Method:
    return fl.fedavg(training, rule=rule)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["looped", "stacked"])
def test_together_is_as_alone(world, which, monkeypatch) -> None:
    plays = [fl.Run(world, of(*setting), 2, seed=1) for setting in SETTINGS]
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
    rules = [replace(RULE, loss=Pull(mu)) for mu in (0, 5.0)][::order]  # type: ignore
    plays = [fl.Run(world, of(BASE, rule), 2, seed=1) for rule in rules]
    ends = [h.states for h in fl.run_all(plays)]
    assert tree.norm(tree.add(ends[0], ends[1], -1)) > 1e-2


def test_only_numbers_may_differ() -> None:
    assert len({numberless(*setting) for setting in SETTINGS}) == 1
    others = [(replace(BASE, momentum=0.5), RULE)]
    others += [(BASE, replace(RULE, loss=cross_entropy))]
    assert len({numberless(*setting) for setting in [(BASE, RULE), *others]}) == 3


def test_alike_is_left_as_it_is() -> None:
    rule, sent = merge([(BASE, RULE), (replace(BASE, lr=0.5), RULE)])
    assert rule == RULE and sent == [{}, {}]


# -- every method ------------------------------------------------------------------

HOOKS = {f.name for f in fields(Rule)} - {"sends", "needs", "exchange"}
# Of a number that is None by default; and what counts 1 / 500 an epoch shall count.
OPTIONS = BRIEF | {"fedimpro": {"omega": 0.1, "epochs": 500}}


def with_other_numbers(rule: Rule) -> Rule:
    """The same hooks with another value of every float, if there are any."""
    hooks = {}
    for name in HOOKS:
        hook = getattr(rule, name)
        if is_dataclass(hook) and not isinstance(hook, type):
            values = {f.name: getattr(hook, f.name) for f in fields(hook)}
            new = {n: v * 0.5 + 0.3 for n, v in values.items() if type(v) is float}
            hooks[name] = replace(hook, **new)
    return replace(rule, **hooks)


def varied(method: fl.Method) -> fl.Method:
    """The method with other numbers in its rules, or else another learning rate."""
    rule, personal = with_other_numbers(method.rule), method.personal
    if personal.own_model:
        own = with_other_numbers(personal.own_model)
        personal = replace(personal, own_model=own)
    if (rule, personal) == (method.rule, method.personal):
        return replace(method, training=replace(method.training, lr=0.03))
    return replace(method, rule=rule, personal=personal)


@pytest.fixture(scope="module")
def furnished(small_data) -> fl.World:
    """Four clients, and a server with three images a class."""
    who = fl.dirichlet(small_data.y_train, 4, 0.5, seed=1)
    make = fl.build("mlp", small_data.shape, 10, hidden=(8,))
    return fl.world(small_data, who, make, proxy=fl.Proxy(3))


@pytest.mark.slow
@pytest.mark.parametrize("which", ENGINES)
@pytest.mark.parametrize("name", fl.METHODS)
def test_every_rule_of_every_method_trains_with_two_values_of_each_float(
    furnished, name, which, monkeypatch
) -> None:
    """The loss is that of the models that are judged: of clients' own, if they are."""
    training = Training(lr=0.1, batch_size=32)
    method = fl.METHODS[name](training, **OPTIONS.get(name, {}))
    two = [method, varied(method)]
    alone = [fl.federate(furnished, m, 2, seed=3, engine=which) for m in two]
    cohorts = []

    def counted(*arguments, **options):
        cohorts.append(len(arguments[3]))
        return engine.train(*arguments, **options)

    monkeypatch.setattr(runs, "train", counted)
    together = fl.run_all([fl.Run(furnished, m, 2, seed=3) for m in two], engine=which)
    while cohorts and cohorts[0] != 8:  # those of k-means train before the rounds
        del cohorts[0]
    assert len(cohorts) >= 2 and set(cohorts) == {8}, "one cohort for both"
    for one, other in zip(alone, together, strict=True):
        gap = tree.add(one.states, other.states, -1)
        assert tree.norm(gap) < 1e-5 * tree.norm(one.states)
        assert one.group_of == other.group_of
        rows = zip(one.rows, other.rows, strict=True)
        assert all(a["loss"] == pytest.approx(b["loss"], rel=1e-5) for a, b in rows)
    apart = [history.rows[-1]["loss"] for history in together]
    assert abs(apart[0] - apart[1]) > 1e-4, "the two are told apart"

"""Composed methods: the same as by hand, and refused where they make no sense."""

from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.methods.combined import compose
from fedlab_core.methods.feddisco import Disco

LOCAL = fl.Training(lr=0.1, batch_size=16)


@pytest.fixture(scope="module")
def place() -> fl.World:
    data = fl.load("letters", n_train=300, n_test=100, noise=0.2)
    split = fl.dirichlet(data.y_train, clients=4, alpha=0.5, seed=0)
    return fl.world(data, split, fl.build("mlp", data.shape, 10, hidden=(16,)))


def same(one: fl.History, other: fl.History) -> bool:
    assert one.states is not None and other.states is not None
    return all(torch.equal(v, other.states[n]) for n, v in one.states.items())


def test_it_is_what_replace_would_make(place):
    made = compose(LOCAL, rule="fedprox", weigh="feddisco", options={"rule": {"mu": 1}})
    hand = replace(fl.fedprox(LOCAL, mu=1), weigh=Disco())
    one, other = (fl.federate(place, m, 2, progress=False) for m in (made, hand))
    assert same(one, other)
    plain = fl.federate(place, fl.fedprox(LOCAL, mu=1), 2, progress=False)
    assert not same(one, plain)


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("weigh", "feddisco"),
        ("server", "fedavgm"),
        ("groups", "fedcollab"),
        ("personal", "finetune"),
    ],
)
def test_it_takes_that_choice_and_no_other(choice, name):
    own, donor = compose(LOCAL), compose(LOCAL, rule=name)
    made = compose(LOCAL, rule="fedavg", **{choice: name})
    for part in ("weigh", "server", "groups", "personal"):
        source = donor if part == choice else own
        # two `begin` functions made alike are not equal: the names say who they are
        assert getattr(made, part).name == getattr(source, part).name
    assert (made.training, made.rule) == (own.training, own.rule)
    assert getattr(made, choice).name != getattr(own, choice).name


def test_it_is_named_after_its_parts():
    made = compose(rule="fedimpro", weigh="feddisco", groups="fedcollab")
    assert made.name == "FedImpro + FedDisco + FedCollab"
    assert compose().name == "FedAvg"
    assert compose(rule="moon", server="moon").name == "MOON"


@pytest.mark.slow
def test_three_papers_in_one_run(place):
    """Each of the three changes what comes out, beside the other two."""
    world = replace(place, tests=[torch.arange(100)] * 4)
    asked = {"groups": {"C": 2.0, "rounds": 10, "restarts": 1, "hidden": 8}}
    chosen = {"rule": "fedimpro", "weigh": "feddisco", "groups": "fedcollab"}

    def end(**other) -> fl.History:
        options = {} if "groups" in other else asked
        made = compose(LOCAL, **chosen | other, options=options)
        return fl.federate(world, made, 2, progress=False)

    one = end()
    assert one.group_of == [0, 0, 0, 1] and not one.diverged
    assert not same(one, end(rule="fedavg"))
    assert not same(one, end(weigh="fedavg"))
    assert end(groups="fedavg").group_of == [0] * 4


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"rule": "fedsgd"}, "unknown rule='fedsgd': choose from fedavg"),
        ({"server": "best"}, "unknown server='best': choose from"),
        ({"options": {"weigh": {"a": 1}}}, "options for weigh: nothing was chosen"),
        ({"weigh": "feddisco", "options": {"weigh": {"c": 1}}}, "Disco: .*'c'"),
        ({"rule": "fedimpro", "server": "fedlaw"}, "does not send: choose both"),
        ({"rule": "fedavg", "server": "scaffold"}, "which the rule does not"),
        ({"personal": "pfedme"}, "choose rule=pfedme"),
        ({"groups": "local", "weigh": "feddisco"}, "leaves every client alone"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(InputError, match=says):
        compose(**asked)

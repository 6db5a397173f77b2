"""Parts of a run, checked before it begins."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.rounds.groups import everyone
from fedlab_core.rounds.validate_hooks import groups_of


@pytest.mark.parametrize("held", [[-1, 0], [0.5], [0, 300]])
def test_a_partition_is_of_samples_that_are_there(small_data, held):
    with pytest.raises(InputError, match="indices must|no sample"):
        who = fl.Partition("by hand", {}, (np.array(held),))
        fl.world(small_data, who, fl.build("mlp", small_data.shape, 10))


@pytest.mark.parametrize("own", [[], [-1], [0.5], [150]])
def test_a_client_has_tests_that_are_there(small_data, own):
    who = fl.iid(small_data.y_train, 2)
    make = fl.build("mlp", small_data.shape, 10)
    with pytest.raises(InputError, match="tests"):
        fl.world(small_data, who, make, tests=[np.arange(9), np.array(own)])


@pytest.mark.parametrize("keep", [1.5, 0, None, "2"])
def test_rounds_between_tests_are_whole(small_world, small_local, keep):
    with pytest.raises(InputError, match="judge_every must be a whole number"):
        fl.federate(small_world, fl.fedavg(small_local), 3, judge_every=keep)


@pytest.mark.parametrize("seed", [None, 1.5, "0", -1, 2**63, True])
def test_a_seed_is_one_number(small_data, seed):
    for split in (fl.iid, lambda y, n, seed: fl.dirichlet(y, n, 1.0, seed=seed)):
        with pytest.raises(InputError, match="seed must be a whole number"):
            split(small_data.y_train, 2, seed=seed)
    with pytest.raises(InputError, match="seed must be a whole number"):
        fl.scenario(small_data, "iid", clients=2, seed=seed)


@pytest.mark.parametrize(
    "said, groups, allowed",
    [
        ([0, 1], None, "a group, from 0, for each of 3 clients"),
        ([0, 1, 3], None, "a group, from 0, for each of 3 clients"),
        ([0, 1, 2], 2, "a group, from 0 of 2, for each of 3 clients"),
        ([0, 0, -1], 2, "a group, from 0 of 2, for each of 3 clients"),
        ("abc", 2, "a group, from 0 of 2, for each of 3 clients"),
    ],
)
def test_groups_that_are_none_are_refused_with_what_is_allowed(said, groups, allowed):
    with pytest.raises(InputError) as refusal:
        groups_of(said, "mine", 3, groups)
    assert str(refusal.value) == f"groups=mine must give {allowed}, not {said!r}"


def test_sound_groups_come_back():
    assert groups_of((0, 1, 1), "mine", 3) == [0, 1, 1]
    assert groups_of([2, 2, 2], "mine", 3) == [2, 2, 2]
    assert groups_of([1, 0, 1], "mine", 3, 2) == [1, 0, 1]


CALLED: dict[str, tuple[Any, Any, str]] = {
    "loss": (fl.Rule, lambda net, params, batch: params, "(net, params, batch, given)"),
    "gradient": (fl.Rule, lambda grads: grads, "(grads, params, given)"),
    "begin": (fl.Rule, lambda start: {}, "2 arguments"),
    "step": (partial(fl.Server, "mine"), lambda: None, "1 argument"),
    "of": (fl.Exchange, lambda net: {}, "(net, params, x, y)"),
    "augment": (fl.Training, lambda x: x, "2 arguments"),
    "regroup": (partial(fl.Groups, "mine", everyone.begin), lambda: 0, "1 argument"),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_hook_that_cannot_be_called_is_refused_when_it_is_given(name):
    make, hook, words = CALLED[name]
    with pytest.raises(
        InputError, match=f"{name} must be a function.*, not one of "
    ) as e:
        make(**{name: hook})
    assert str(e.value).endswith(f": it is called with {words}")


def test_a_hook_may_take_any_arguments_and_say_nothing_of_them():
    assert fl.Rule(gradient=lambda *three, **named: three[0]).gradient
    assert fl.Checkpoint("place", say=str).say is str


def test_a_method_that_is_none_is_refused_with_those_near_it():
    with pytest.raises(InputError, match="no method 'fedvag': choose from fedavg"):
        _ = fl.METHODS["fedvag"]
    assert fl.METHODS.get("fedvag") is None and "fedvag" not in fl.METHODS


def test_a_class_is_no_weigh_and_truths_are_no_groups(small_world, small_local):
    with pytest.raises(InputError, match="weigh.* must be a function that has name"):
        fl.fedavg(small_local, fl.Disco)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="groups=g must give a group"):
        groups_of([True, False], "g", 2)


def test_a_personal_model_that_nobody_keeps_is_refused(small_world, small_local):
    kept = fl.pfedme(small_local).personal
    with pytest.raises(InputError, match="its rule keeps nothing"):
        replace(fl.fedavg(small_local), personal=kept)
    other = replace(fl.scaffold(small_local), personal=kept)
    with pytest.raises(InputError, match="personal=theta: clients keep no theta"):
        fl.federate(small_world, other, 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "make", [lambda t: fl.METHODS["local"](t), fl.ditto, lambda t: fl.ifca(t, k=2)]
)
def test_own_models_on_everybodys_test_set_are_told(small_data, small_local, make):
    who = fl.iid(small_data.y_train, 4)
    net = fl.build("mlp", small_data.shape, 10, hidden=(8,))
    common = fl.world(small_data, who, net)
    with pytest.warns(UserWarning, match="judges clients' own models on everybody's"):
        fl.federate(common, make(small_local), 1)
    fl.federate(common, fl.fedavg(small_local), 1)
    own = fl.scenario(small_data, "iid", clients=4, own_test=0.2)
    fl.federate(fl.world_of(own, net), make(small_local), 1)

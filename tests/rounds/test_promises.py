"""Results of a method's hooks are checked, and errors name what is wrong."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_core.client import entropies
from fedlab_core.errors import InputError
from fedlab_core.metrics import evaluate, evaluate_own, logits
from fedlab_core.rounds import Groups
from fedlab_core.rounds.groups import everyone
from fedlab_core.tree import repeat


@dataclass(frozen=True)
class Weighs:
    """Weights that are given in advance, however many there are."""

    said: tuple[float, ...]
    name: str = "mine"
    scalars: int = 0

    def __call__(self, members):
        return torch.tensor(self.said)


@pytest.mark.parametrize(
    "said, fault",
    [
        ((0.5,) * 6, "sum 1, not from 0.5 with 3"),
        ((-0.5, 0.5, 0.25, 0.25, 0.25, 0.25), "0 or more .* from -0.5 with 1"),
        ((0.0,) * 6, "sum 1, not from 0 with 0"),
        ((math.nan,) * 6, "sum 1, not from nan"),
        ((0.5, 0.5), r"6 weights in a tensor, not \(2,\)"),
    ],
)
def test_weights_that_are_none_are_refused(small_world, small_local, said, fault):
    method = fl.fedavg(small_local, Weighs(said))
    with pytest.raises(InputError, match=f"weigh=mine must give .*{fault}"):
        fl.federate(small_world, method, 1)


def test_weights_that_sum_to_one_are_taken(small_world, small_local):
    method = fl.fedavg(small_local, Weighs((0.5, 0.5, 0.0, 0.0, 0.0, 0.0)))
    assert len(fl.federate(small_world, method, 1).rows) == 1


def test_weights_of_a_run_in_nan_do_not_hide_that_it_diverged(small_world):
    class ByLoss(fl.Equal):
        def __call__(self, members):
            return members.loss / members.loss.sum()

    wild = fl.Training(lr=1e30, batch_size=16)
    assert fl.federate(small_world, fl.fedavg(wild, ByLoss()), 3).diverged


def careless(net, params, batch, given):
    """Cross-entropy over all rows of the mini-batch, those of padding included."""
    return F.cross_entropy(net(params, batch.x), batch.y)


def careful(net, params, batch, given):
    return batch.mean(entropies(net(params, batch.x), batch.y))


def test_a_loss_that_counts_padding_is_noticed(small_world, small_local):
    method = fl.fedavg(small_local, rule=fl.Rule(loss=careless))
    with pytest.raises(InputError, match="careless: a mini-batch of .* when padded to"):
        fl.federate(small_world, method, 1, engine="stacked")
    fl.federate(small_world, method, 1, engine="looped")  # has no padding
    same = fl.fedavg(small_local, rule=fl.Rule(loss=careful))
    ours, theirs = (
        fl.federate(small_world, m, 2, engine="stacked").states
        for m in (same, fl.fedavg(small_local))
    )
    assert all(torch.equal(ours[n], theirs[n]) for n in ours)


def halves(grads, params, given):
    return {n: g[..., :1] for n, g in grads.items()}


def some(grads, params, given):
    return dict(list(grads.items())[:1])


@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("hook", [halves, some])
def test_a_gradient_of_another_shape_is_not_broadcast(
    small_world, small_local, engine, hook
):
    method = fl.fedavg(small_local, rule=fl.Rule(gradient=hook))
    with pytest.raises(InputError, match=f"gradient {hook.__name__} must give"):
        fl.federate(small_world, method, 1, engine=engine)


@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_a_loss_is_one_number(small_world, small_local, engine):
    def each(net, params, batch, given):
        return entropies(net(params, batch.x), batch.y)

    method = fl.fedavg(small_local, rule=fl.Rule(loss=each))
    with pytest.raises(InputError, match="loss each must give one number"):
        fl.federate(small_world, method, 1, engine=engine)


@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_an_error_in_a_rule_says_where_and_keeps_its_kind(
    small_world, small_local, engine
):
    def broken(net, params, batch, given):
        raise ZeroDivisionError("mine")

    method = fl.fedavg(small_local, name="Broken", rule=fl.Rule(loss=broken))
    with pytest.raises(ZeroDivisionError, match="mine") as error:
        fl.federate(small_world, method, 1, engine=engine)
    assert error.value.__notes__ == ["(in training, round 1 of Broken)"]
    assert error.traceback[-1].name == "broken"


@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize("called", [None, "0.weihgt"])
def test_a_network_is_given_its_own_names(small_world, small_local, engine, called):
    """One that is missing would be the network's own numbers, whoever asks."""
    first = small_world.parameters[0]

    def wrong(tree):
        rest = {n: v for n, v in tree.items() if n != first}
        return rest | ({called: tree[first]} if called else {})

    def loss(net, params, batch, given):
        return batch.mean(net.each(net(wrong(params), batch.x), batch.y))

    has = re.escape(called) if called else "{}"
    words = f"the network's parameters must be .*{re.escape(first)}.*, not .*{has}"
    method = replace(fl.fedavg(small_local), rule=fl.Rule(loss))
    with pytest.raises(InputError, match=words):
        fl.federate(small_world, method, 1, engine=engine)
    model, x, y = small_world.model, small_world.x[:2], small_world.y[:2]
    state = wrong(model.state_dict())
    for call in (
        lambda: logits(model, state, x),
        lambda: evaluate(model, repeat(state, 1), x, y, 10),
        lambda: evaluate_own(model, repeat(state, 1), x, y, [[0, 1]]),
    ):
        with pytest.raises(InputError, match=f"must be .*{re.escape(first)}"):
            call()


def test_an_error_in_a_server_says_where(small_world, small_local):
    def step(now):
        raise KeyError("mine")

    method = replace(fl.fedavg(small_local), server=fl.Server("mine", step))
    with pytest.raises(KeyError) as error:
        fl.federate(small_world, method, 2)
    assert error.value.__notes__ == ["(in round 1 of FedAvg)"]


@pytest.mark.parametrize(
    "groups",
    [
        Groups("mine", lambda world, seed: [0] * 5),
        Groups("mine", lambda world, seed: [0] * 7),
        Groups("mine", lambda world, seed: [0, 1, 2, -1, 0, 0]),
        Groups("mine", lambda world, seed: [0.5] * 6),  # type: ignore[arg-type]
        Groups("mine", lambda world, seed: [0] * 6, pick=lambda of, ids, _: [9] * 6),
        Groups("mine", lambda world, seed: [0] * 6, regroup=lambda now: ([0] * 5, [0])),
        Groups("mine", lambda world, seed: [0] * 6, regroup=lambda now: ([0] * 6, [3])),
    ],
)
def test_groups_have_everybody_once(small_world, small_local, groups):
    method = fl.fedavg(small_local, groups=groups)
    with pytest.raises(InputError, match="groups=mine must give a group, from 0"):
        fl.federate(small_world, method, 2)


def test_a_server_gives_a_model_of_the_network(small_world, small_local):
    def less(now):
        return fl.ServerState({"head.weight": now.before.model["head.weight"]})

    for step, said in (
        (less, "server=mine must give"),
        (lambda now: 1, "a ServerState"),
    ):
        method = replace(fl.fedavg(small_local), server=fl.Server("mine", step))  # type: ignore[arg-type]
        with pytest.raises(InputError, match=said):
            fl.federate(small_world, method, 1)


def test_what_an_observer_gives_is_a_dict(small_world, small_local):
    with pytest.raises(InputError, match="observe must give a dict, not int"):
        fl.federate(small_world, fl.fedavg(small_local), 1, observe=lambda now: 1)


# -- what is said of a round ---------------------------------------------------------


def unequal(small_data, sizes) -> fl.World:
    ends = np.cumsum([0, *sizes])
    held = [np.arange(a, b) for a, b in zip(ends, ends[1:], strict=False)]
    who = fl.Partition("by hand", {}, tuple(held))
    return fl.world(small_data, who, fl.build("mlp", small_data.shape, 10, hidden=(8,)))


@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_the_training_loss_is_of_those_who_trained(small_data, engine):
    """20 samples are no mini-batch of 32 with `drop_last`: that client stays idle."""
    training = fl.Training(lr=0.01, batch_size=32, drop_last=True)
    method = fl.fedavg(training)
    row = fl.federate(unequal(small_data, (100, 20)), method, 1, engine=engine).rows[0]
    alone = fl.federate(unequal(small_data, (100,)), method, 1, engine=engine).rows[0]
    assert row["train_loss"] == pytest.approx(alone["train_loss"])
    assert row["train_loss"] > 2
    nobody = fl.federate(unequal(small_data, (20, 20)), method, 1, engine=engine)
    assert math.isnan(nobody.rows[0]["train_loss"])


def test_a_number_for_the_history_is_one_that_a_float_can_hold():
    said = "ServerState: metrics must be a dict of a number or a Tensor, not {'far'"
    with pytest.raises(InputError, match=re.escape(said)):
        fl.ServerState({}, metrics={"far": 10**400})


@pytest.mark.parametrize("name", ["round", "train_loss", "accuracy", "seed"])
def test_a_servers_numbers_take_no_name_of_the_rounds_own(
    small_world, small_local, name
):
    plain = fl.fedavg(small_local).server

    def step(now):
        return replace(plain.step(now), metrics={name: 7.0, "mine": 1.0})

    server = fl.Server("mine", step)
    method = replace(fl.fedavg(small_local), server=server)
    with pytest.raises(InputError, match=f"server=mine: metrics {name}: a round's own"):
        fl.federate(small_world, method, rounds=1)


@pytest.mark.parametrize("given", [None, [0, 0, 0, 0], ([0, 0, 0, 0], 0)])
def test_regroup_gives_two_lists(small_world, small_local, given):
    mine: Any = lambda now: given  # noqa: E731
    groups = fl.Groups("g", everyone.begin, regroup=mine)
    with pytest.raises(InputError, match="groups=g: regroup must give the group"):
        fl.federate(small_world, fl.fedavg(small_local, groups=groups), 1)


NOTHING = {
    "gradient": lambda grads, params, given: None,
    "push": lambda params, given: None,
    "finish": lambda params, given, steps, lr_sum: None,
    "begin": lambda start, broadcast: None,
}
FLOATS = {
    "gradient": lambda grads, params, given: dict.fromkeys(grads, 0.0),
    "finish": lambda params, given, steps, lr_sum: {},
    "begin": lambda start, broadcast: {"mine": 1.0},
}


@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize(
    "name, hook", [*NOTHING.items(), *FLOATS.items()], ids=lambda v: str(v)[:8]
)
def test_a_hook_that_gives_no_tensors_is_refused_by_its_name(
    small_world, small_local, name, hook, engine
):
    method = fl.fedavg(small_local)
    method = replace(method, rule=replace(method.rule, **{name: hook}))
    with pytest.raises(InputError, match=f"{name} .* must give .*tensors by name, not"):
        fl.federate(small_world, method, 1, engine=engine)


def test_a_schedule_gives_factors(small_world, small_local):
    wrong = replace(small_local, schedule=lambda time: None)
    with pytest.raises(InputError, match="schedule must give a factor for each time"):
        fl.federate(small_world, fl.fedavg(wrong), 1)
    asks = replace(small_local, schedule=lambda time: 1.0 if time < 2 else 0.1)
    with pytest.raises(InputError, match=r"schedule asks if: .*torch.where\(time < 2"):
        fl.federate(small_world, fl.fedavg(asks), 1)


def test_a_server_starts_clients_from_a_model_of_the_network(small_world, small_local):
    plain = fl.fedavg(small_local)

    def step(gathered):
        return replace(plain.server.step(gathered), start={})

    method = replace(plain, server=replace(plain.server, name="mine", step=step))
    with pytest.raises(InputError, match="server=mine must give"):
        fl.federate(small_world, method, 1)


def test_a_run_that_diverged_has_no_accuracy(small_world):
    wild = fl.Training(lr=1e30, batch_size=16)
    got = fl.federate(small_world, fl.fedavg(wild), 3)
    assert got.diverged and "accuracy" in got.rows[0]
    assert all(math.isnan(got.accuracy(which)) for which in ("last", "best", "mean"))

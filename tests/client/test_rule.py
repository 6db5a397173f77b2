"""Refusals of a rule: state it never began with, uploads it does not name."""

from dataclasses import fields, replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.rounds import ServerView

GONE = fl.Training(lr=0.1, epochs=1, batch_size=16)


def counted(start, broadcast):
    return {"n": next(iter(start.values())).new_zeros(())}


def one_more(params, given, steps, lr_sum):
    return {"n": given.state["n"] + 1}, {"count": given.state["n"] + 1}


COUNTING = fl.Rule(begin=counted, finish=one_more, sends=("count",))


def method(rule: fl.Rule) -> fl.Method:
    return replace(fl.fedavg(GONE), rule=rule)


def seen(world, rule, rounds=3, **options) -> list:
    """Every round as an observer meets it."""
    met: list = []
    fl.federate(
        world, method(rule), rounds, observe=lambda r: met.append(r) or {}, **options
    )
    return met


@pytest.mark.parametrize("engine", ["looped", "stacked"])
def test_state_stays_and_the_upload_goes(small_world, engine):
    """A count of the rounds taken part in, kept and sent."""
    turns = dict.fromkeys(range(6), 0)
    for r in seen(small_world, COUNTING, participants=4, engine=engine):
        for row, k in enumerate(r.ids):
            turns[k] += 1
            assert float(r.kept["n"][row]) == float(r.uploads["count"][row]) == turns[k]
        assert set(r.kept) == {"n"} and set(r.uploads) == {"count"}


@pytest.mark.parametrize("engine", ["looped", "stacked"])
def test_what_finish_leaves_out_begins_anew(small_world, engine):
    forgetful = replace(COUNTING, finish=lambda *a: ({}, one_more(*a)[1]))
    for r in seen(small_world, forgetful, engine=engine):
        assert r.uploads["count"].tolist() == [1] * 6 and r.kept == {}


@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize(
    "finish, message",
    [
        (lambda *a: ({"m": a[2]}, {}), r"finish gives the state \['m'\], which begin"),
        (lambda *a: ({}, {"m.a": a[2]}), "finish sends m, which `sends` does not name"),
    ],
)
def test_what_a_rule_did_not_say_is_refused(small_world, engine, finish, message):
    with pytest.raises(InputError, match=message):
        seen(small_world, replace(COUNTING, finish=finish), engine=engine)


def test_a_rule_that_is_combined_stays_whole(small_world):
    """MOON's loss and state go together, wherever they are taken."""
    taken = fl.compose(GONE, rule="moon", weigh="feddisco", server="fedavgm")
    assert taken.rule == fl.moon().rule and taken.training == GONE
    history = fl.federate(small_world, taken, 2)
    assert not history.diverged


def test_a_server_sees_no_client(small_world):
    """The names, the network, the classes, its proxy: nothing that holds samples."""
    names = {f.name for f in fields(ServerView)}
    assert names == {"model", "parameters", "blank", "classes", "proxy"}
    assert small_world.view.proxy is None and not small_world.view.blank.any()
    assert small_world.view.features == 16
    held = (getattr(small_world.view, name) for name in names)
    tensors = [v for v in held if torch.is_tensor(v)]
    assert sum(v.numel() for v in tensors) == small_world.x[0].numel()

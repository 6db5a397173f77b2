"""Checks that the hooks of a method give back what they promise."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from fedlab_core.arguments.annotations import shown
from fedlab_core.errors import InputError, require
from fedlab_core.rounds.groups import GroupOf, everyone
from fedlab_core.rounds.method import Method, nothing
from fedlab_core.rounds.server import ServerState
from fedlab_core.tree import check_shapes

OFF = 1e-4  # how far a sum of weights may be from one: float32 of many members


@contextmanager
def during(what: str) -> Iterator[None]:
    """Let an error say where it happened; its kind and its traceback stay."""
    try:
        yield
    except Exception as error:
        error.add_note(f"(in {what})")
        raise


def weights_of(said: Any, name: str, loss: Tensor) -> Tensor:
    """One weight a member, 0 or more, with sum one; of a run in NaN, whatever it is."""
    who = f"weigh={name} must give"
    shape = tuple(said.shape) if isinstance(said, Tensor) else type(said).__name__
    members = len(loss)
    require(shape == (members,), f"{who} {members} weights in a tensor, not {shape}")
    if torch.isfinite(loss).all():
        least, total = float(said.min()), float(said.sum())
        sound = least >= 0 and abs(total - 1) <= OFF
        text = f"weights of 0 or more with sum 1, not from {least:g} with {total:g}"
        require(sound, f"{who} {text}")
    return said


def groups_of(said: Any, name: str, clients: int, groups: int | None = None) -> GroupOf:
    """A group for every client: from 0, and one of those there are."""
    if isinstance(said, Sequence) and all(type(g) is int for g in said):
        high = len(said) if groups is None else groups
        if len(said) == clients and all(0 <= g < high for g in said):
            return list(said)
    of = "" if groups is None else f" of {groups}"
    text = f"a group, from 0{of}, for each of {clients} clients"
    raise InputError(f"groups={name} must give {text}, not {said!r:.80}")


def regrouped(
    said: Any, name: str, clients: int, before: int
) -> tuple[GroupOf, list[int]]:
    """A group for every client, and from which earlier one each group goes on."""
    pair = isinstance(said, tuple) and len(said) == 2
    if not pair or not all(isinstance(part, Sequence) for part in said):
        text = "the group of each client, and the earlier group of each group"
        raise InputError(f"groups={name}: regroup must give {text}, not {shown(said)}")
    group_of, parents = said
    parents = groups_of(parents, name, len(parents), before)
    return groups_of(group_of, name, clients, len(parents)), parents


def server_of(said: Any, name: str, before: ServerState) -> ServerState:
    """The next state, whose model has the names and shapes of the one before."""
    who = f"server={name}"
    good = isinstance(said, ServerState)
    require(good, f"{who} must give a ServerState, not {type(said).__name__}")
    for model in (said.model, said.begin):
        check_shapes(model, before.model, f"{who} must give")
    numbers = {n: v for n, v in said.metrics.items() if isinstance(v, Tensor)}
    many = ", ".join(n for n, v in numbers.items() if v.numel() != 1)
    require(not many, f"{who}: metrics {many} must be one number each")
    told = {n: float(v) for n, v in said.metrics.items()}
    return replace(said, metrics=told) if numbers else said


def without_classes(method: Method) -> None:
    """Refuse a method that needs classes, in a world whose loss is of other labels."""
    own = method.personal.own_model
    for hook in (method.rule.loss, own and own.loss, method.weigh, method.server.step):
        why = getattr(hook, "needs_classes", "")
        text = f"{method.name} needs classes: {why}"
        require(not why, f"{text}; this world has a loss of its own")


def on_everybodys(method: Method, tests: Any) -> str:
    """A note if clients' own models are judged on one test set; else nothing."""
    if tests or method.groups is everyone and method.personal is nothing:
        return ""
    said = "judges clients' own models on everybody's test set: give them their own"
    return f"{method.name} {said}, as fl.scenario(..., own_test=.2) does"

"""Changes that chapters make to a method, or to a federation, to question it."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_book.bench import Comparison, Place
from fedlab_core.client import ClientInput, Rule, Training
from fedlab_core.errors import require
from fedlab_core.metrics import logits
from fedlab_core.models import made_by
from fedlab_core.rounds import Gathered, Method, ServerState
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, scale

Course = Mapping[int, Mapping[int, float]]  # a number by seed and by round, from 1
NUMBER = "head.times"  # by which `amplified` outputs are multiplied


def sending(method: Method, change: Callable[[Tree, int, int], Tree]) -> Method:
    """The same method; its server sends what `change` makes of its new parameters.

    `change` is told the seed and the round, from 1. What it leaves out stays.
    """
    averaging = method.server

    def step(now: Gathered) -> ServerState:
        state, (seed, before, *_) = averaging.step(now), now.key
        new = change({n: state.model[n] for n in now.view.parameters}, seed, before + 1)
        other = ", ".join(new.keys() - state.model.keys())
        require(not other, f"{method.name}: the network has no {other}")
        return replace(state, model={**state.model, **new})

    return replace(method, server=replace(averaging, step=step))


class Amplified(nn.Linear):
    """A last layer whose outputs are multiplied by a number that nobody trains."""

    times: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features)
        self.weight, self.bias = layer.weight, layer.bias
        self.register_buffer("times", torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.times * super().forward(x)


def amplified(place: Place) -> Place:
    """The same federation, the network's last layer `Amplified`, at first by one."""
    return _changed(place, _amplified)


def bare(place: Place) -> Place:
    """The same federation, its network without biases."""
    return _changed(place, _bare)


def as_sure(plain: Method, place: Place, bars: Course, gamma: float = 1) -> Method:
    """Its server sets beta: as sure as `bars` has it, by seed and round t."""

    def sent(w: Tree, seed: int, t: int) -> Tree:
        w, model = scale(w, gamma), place(seed).model
        outputs = logits(model, model.state_dict() | w, place(seed).x_test)
        beta = number_for(outputs, bars[seed][t])
        return {**w, NUMBER: outputs.new_tensor(beta)}

    return sending(plain, sent)


def number_for(outputs: Tensor, bar: float) -> float:
    """The beta that makes the tallest bar so high, on average."""
    low, high = -12.0, 12.0  # of its logarithm
    for _ in range(24):
        middle = (low + high) / 2
        bars = (math.exp(middle) * outputs).softmax(1)
        lower = bars.amax(1).mean() < bar
        low, high = (middle, high) if lower else (low, middle)
    return math.exp(middle)


def course(found: Comparison, arm: str, where: str, what: str = "sure") -> Course:
    """A column of every round of an arm, by seed and by round, from 1."""
    return {
        history.seed: {row["round"]: row[what] for row in history.rows}
        for history in found.of(arm, where)
    }


@dataclass(frozen=True)
class Steps:
    """Step sizes by round: the method's, times so much in each. A `schedule`."""

    times: tuple[float, ...]

    def __call__(self, time: Tensor) -> Tensor:
        at = time.floor().long().clamp(max=len(self.times) - 1)
        return torch.tensor(self.times).to(time)[at]


def smaller(method: Method, beta: np.ndarray) -> Method:
    """The same method, its steps as small as outputs times beta make the gradients.

    `beta` is what every round left, (seeds, rounds): the next begins with its mean.
    """
    times = (1.0, *np.mean(beta, axis=0).tolist())
    return replace(method, training=replace(method.training, schedule=Steps(times)))


@dataclass(frozen=True)
class Fade:
    """Weight decay by which a round leaves every client the same part: a `push`."""

    part: float
    samples: int  # of all clients together
    training: Training

    def __call__(self, params: Tree, given: ClientInput) -> Tree:
        batches = given.broadcast["share"] * self.samples / self.training.batch_size
        steps = self.training.epochs * torch.ceil(batches - 1e-3)
        rate = (1 - self.part ** (1 / steps)) / self.training.lr
        return {n: rate * w for n, w in params.items()}


def decayed(method: Method, part: float, samples: int) -> Method:
    """FedAvg whose clients' weight decay leaves `part` of a network in a round."""
    push = Fade(part, samples, method.training)
    return replace(method, rule=Rule(push=push, needs=("share",)))


def joined(place: Place) -> Place:
    """The same federation with one client more, which has the server's images."""

    @cache
    def world(seed: int) -> World:
        old = place(seed)
        require(old.proxy is not None, "the bench has no proxy set")
        x, y = cast(tuple[Tensor, Tensor], old.proxy)
        held = np.arange(len(old.x), len(old.x) + len(x))
        count = torch.bincount(y, minlength=len(old.classes)).to(old.counts)
        return replace(
            old,
            x=torch.cat([old.x, x]),
            y=torch.cat([old.y, y]),
            partition=replace(old.partition, indices=(*old.partition.indices, held)),
            counts=torch.cat([old.counts, count[None]]),
        )

    return world


def _changed(place: Place, change: Callable[[nn.Module], nn.Module]) -> Place:
    """The same federation, its network changed."""

    @cache
    def world(seed: int) -> World:
        old = place(seed)
        model = change(copy.deepcopy(old.model)).eval()
        return replace(old, model=model, make=partial(_made, old.make, change))

    return world


def _made(
    make: Callable[[], nn.Module], change: Callable[[nn.Module], nn.Module]
) -> nn.Module:
    return change(made_by(make))


def _amplified(model: nn.Module) -> nn.Module:
    model.head = Amplified(cast(nn.Linear, model.head))
    return model


def _bare(model: nn.Module) -> nn.Module:
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.register_parameter("bias", None)
    return model

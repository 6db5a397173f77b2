"""What chapter 4 does to a method, or to a federation, to ask a question of it."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_book.bench import Comparison, Place
from fedlab_book.chapters.shrinking.gains import HALF, ONCE
from fedlab_core.errors import require
from fedlab_core.methods.fedavgm import fedavgm
from fedlab_core.models import made_by
from fedlab_core.rounds import Gathered, Method, ServerState
from fedlab_core.rounds.worlds import World


def by_round(method: Method, factor: Callable[[int], float]) -> Method:
    """The same method, its new model multiplied by `factor(t)` in round t, from 1."""
    averaging = method.server

    def step(now: Gathered) -> ServerState:
        return _scaled(averaging.step(now), now, factor(now.key[1] + 1))

    return replace(method, server=replace(averaging, step=step))


def controls(method: Method) -> dict[str, Method]:
    """Two other server steps: half of the way to the average; one halving, in round 5.

    `method` is FedAvg.
    """
    half = fedavgm(method.training, lr=0.5, beta=0.0)
    return {HALF: half, ONCE: by_round(method, lambda t: 0.5 if t == 5 else 1.0)}


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

    @cache
    def world(seed: int) -> World:
        old = place(seed)
        model = _amplified(copy.deepcopy(old.model)).eval()
        return replace(old, model=model, make=partial(_made, old.make))

    return world


def apart(
    method: Method,
    inside: Callable[[int, int], float],
    out: Callable[[int, int], float],
) -> Method:
    """The same method; its server then multiplies all layers, and the outputs.

    By `inside(seed, t)` and `out(seed, t)` in round t, from 1: a layer's weights by
    that, its biases by as much as all layers up to it pass on, so that outputs change
    in proportion. It is for networks of `amplified`.
    """
    averaging = method.server

    def step(now: Gathered) -> ServerState:
        state, (seed, before, *_) = averaging.step(now), now.key
        known = "head.times" in state.model
        require(known, f"{method.name}: the network's outputs are not amplified")
        model, depth, factor = dict(state.model), 0, inside(seed, before + 1)
        for name in now.view.parameters:
            depth += name.endswith("weight")
            power = 1 if name.endswith("weight") else depth
            model[name] = factor**power * model[name]
        times = out(seed, before + 1) * state.model["head.times"]
        return replace(state, model={**model, "head.times": times})

    return replace(method, server=replace(averaging, step=step))


def less_sure(method: Method, gamma: Callable[[int, int], float]) -> Method:
    """Outputs as a factor on all parameters of three layers leaves them; no other."""
    return apart(method, lambda seed, t: 1.0, lambda seed, t: gamma(seed, t) ** 3)


def shorter(method: Method, gamma: Callable[[int, int], float]) -> Method:
    """All layers times a factor, the outputs of three layers as they were."""
    return apart(method, gamma, lambda seed, t: gamma(seed, t) ** -3)


def course(found: Comparison, arm: str, where: str) -> dict[int, dict[int, float]]:
    """The factors of a learned one, by seed and by round, from 1."""
    return {
        history.seed: {row["round"]: row["gamma"] for row in history.rows}
        for history in found.of(arm, where)
    }


def mean_path(found: Comparison, arm: str, seeds: Sequence[int]) -> dict[int, float]:
    """The factor of each round, from 1, on average over some seeds of alike clients."""
    rows = [
        [row["gamma"] for row in history.rows if "gamma" in row]
        for history in found.of(arm, "alike")
        if history.seed in seeds
    ]
    return dict(enumerate(np.mean(rows, axis=0).tolist(), 1))


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


def _scaled(state: ServerState, now: Gathered, by: float) -> ServerState:
    """The same state, the parameters of its model multiplied."""
    parameters = {n: by * state.model[n] for n in now.view.parameters}
    return replace(state, model={**state.model, **parameters})


def _made(make: Callable[[], nn.Module]) -> nn.Module:
    return _amplified(made_by(make))


def _amplified(model: nn.Module) -> nn.Module:
    model.head = Amplified(cast(nn.Linear, model.head))
    return model

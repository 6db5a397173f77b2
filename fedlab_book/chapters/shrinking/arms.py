"""What chapter 4 does to a method, or to a federation, to ask a question of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

import numpy as np
import torch
from torch import Tensor

from fedlab_book.bench import Bench, Comparison, Place
from fedlab_book.chapters.shrinking.gains import HALF, ONCE
from fedlab_core.errors import require
from fedlab_core.methods.fedavgm import fedavgm
from fedlab_core.rounds import Gathered, Method, ServerState
from fedlab_core.rounds.worlds import Proxy, World
from fedlab_core.tree import Tree, flatten


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


def limited(method: Method, rule: Callable[[float, float, float], float]) -> Method:
    """The same method, its server's factor changed by a rule.

    The rule is given the factor, the length of the model that the round began with, and
    that of the average without a factor.
    """
    learning = method.server

    def step(now: Gathered) -> ServerState:
        state = learning.step(now)
        require("gamma" in state.metrics, f"{method.name} has no factor")
        gamma = float(state.metrics["gamma"])
        began, ends = (_length(w, now) for w in (now.before.begin, state.model))
        by = rule(gamma, began, ends / gamma)
        state = _scaled(state, now, by / gamma)
        return replace(state, metrics={**state.metrics, "gamma": by})

    return replace(method, server=replace(learning, step=step))


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


def other_images(bench: Bench, place: Place, many: int) -> dict[int, Place]:
    """The same federation, its server with other labelled images: of each draw, from 1.

    They are drawn from all that nobody trains on; the others are what is tested on.
    """

    require(bench.proxy is not None, "the bench has no proxy set")
    asked = cast(Proxy, bench.proxy)

    def drawn(draw: int) -> Place:
        @cache
        def world(seed: int) -> World:
            old = place(seed)
            known = cast(tuple[Tensor, Tensor], old.proxy)
            x, y = torch.cat([old.x_test, known[0]]), torch.cat([old.y_test, known[1]])
            server, rest = replace(asked, seed=draw).draw(y.cpu().numpy())
            tests = {"x_test": x[rest], "y_test": y[rest]}
            return replace(old, proxy=(x[server], y[server]), **tests)

        return world

    return {draw: drawn(draw) for draw in range(1, many + 1)}


def as_seeds(found: Comparison, where: str) -> Comparison:
    """Places that are draws, in one place, each draw as a seed: to take means over."""
    runs = {
        (where, arm, draw): replace(history, seed=draw)
        for (draw, arm, _), history in found.runs.items()
    }
    return replace(found, runs=runs)


def _scaled(state: ServerState, now: Gathered, by: float) -> ServerState:
    """The same state, the parameters of its model multiplied."""
    parameters = {n: by * state.model[n] for n in now.view.parameters}
    return replace(state, model={**state.model, **parameters})


def _length(model: Tree, now: Gathered) -> float:
    return float(flatten({n: model[n] for n in now.view.parameters}).norm())

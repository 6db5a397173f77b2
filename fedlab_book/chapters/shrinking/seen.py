"""Measures of every round: its step, its shrinking, and a temperature."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core import tree
from fedlab_core.metrics import evaluate, logits, shrinking
from fedlab_core.rounds.records import Round
from fedlab_core.rounds.worlds import World

_GRID = torch.exp(torch.linspace(float(np.log(0.3)), float(np.log(4.5)), 136))
_EVERY = 5  # rounds


def terms(now: Round) -> dict[str, float]:
    """Of a round: the lengths of its step and of its shrinking.

    step and pull, in lengths of the parameters that the round began with, which is
    `length`; and by how much the clients made them longer, before any shrinking.
    """
    world = now.world
    start = {n: now.before[n][0] for n in world.parameters}
    rows = {n: now.trained.states[n] for n in start}
    gamma = float(now.servers[0].metrics.get("gamma", 1.0))
    both = shrinking(rows, start, now.weights[0], gamma)
    mean = tree.flatten(tree.weighted_sum(rows, now.weights[0]))
    w = tree.flatten(start)
    whole = float(w.norm())
    return {
        "step": both.step / whole,
        "longer": float(mean.norm()) - whole,
        "pull": both.shrink / whole,
        "length": whole,
    }


def temperature(now: Round) -> dict[str, float]:
    """Of a round: by what the average's outputs are multiplied for the least loss.

    The loss is the proxy set's, the parameters stay as they are.
    """
    world, said = now.world, now.servers[0].metrics
    if "gamma" not in said or world.proxy is None:
        return {"temper": float("nan")}
    gamma, state = said["gamma"], tree.take(now.after, 0)
    mean = {n: v / gamma if n in world.parameters else v for n, v in state.items()}
    x, y = world.proxy
    at = _GRID.to(x)
    with torch.no_grad():
        out = at[:, None, None] * logits(world.model, mean, x)
        truth = y.expand(len(at), -1).flatten()
        loss = F.cross_entropy(out.flatten(0, 1), truth, reduction="none")
    return {"temper": float(at[loss.view(len(at), -1).mean(dim=1).argmin()])}


def learned(now: Round) -> dict[str, float]:
    """Of a round with a learned factor: its terms, and its temperature."""
    return terms(now) | temperature(now)


def shrunk(now: Round) -> dict[str, float]:
    """The two terms, how `sure` the model is left, and what a factor brings at_once.

    Sure is the mean of the largest probability on new samples; `times` the number that
    multiplies the outputs, if there is one; `known` the part of the clients' own
    samples that the model is right about.

    At once: by so many points the model is ahead, on new samples, of the clients'
    average without a fixed factor; looked at in every fifth round.
    """
    world, said = now.world, terms(now)
    with torch.no_grad():
        state = tree.take(now.after, 0)
        out = logits(world.model, state, world.x_test).softmax(1)
    said["sure"] = float(out.amax(1).mean())
    said["known"] = right(world, state, world.x, world.y)
    if "head.times" in now.after:
        said["times"] = float(now.after["head.times"][0])
    looks = "gamma" in now.servers[0].metrics and now.number % _EVERY == 0
    if looks and now.scores is not None:
        rows = {n: now.trained.states[n] for n in world.parameters}
        plain = tree.take(now.after, 0) | tree.weighted_sum(rows, now.weights[0])
        without = right(world, plain, world.x_test, world.y_test)
        said["at_once"] = 100 * (float(now.scores.accuracy[0]) - without)
    return said


def right(world: World, state: tree.Tree, x: Tensor, y: Tensor) -> float:
    """The part of these samples whose label a model names."""
    row = {n: v[None] for n, v in state.items()}
    return float(evaluate(world.model, row, x, y, len(world.classes)).accuracy)

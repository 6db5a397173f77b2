"""Measures of every round: how sure a network is, what it knows, its temperature."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_book.arms import NUMBER
from fedlab_core import tree
from fedlab_core.metrics import evaluate, logits
from fedlab_core.rounds.records import Round
from fedlab_core.rounds.worlds import World

_GRID = torch.exp(torch.linspace(float(np.log(0.3)), float(np.log(4.5)), 136))


def sureness(now: Round) -> dict[str, float]:
    """Of a round's model: how `sure` it is, what it has `known`, and its `length`.

    Sure is the mean of the largest probability on new samples; known the part of the
    clients' own samples that it is right about. Of `arms.amplified` networks also
    `beta`, by which their outputs are multiplied.
    """
    world, state = now.world, tree.take(now.after, 0)
    with torch.no_grad():
        out = logits(world.model, state, world.x_test).softmax(1)
    own = right(world, state, world.x, world.y)
    beta = {"beta": float(state[NUMBER])} if NUMBER in state else {}
    return {"sure": float(out.amax(1).mean()), "known": own, **length(now), **beta}


def length(now: Round) -> dict[str, float]:
    """Of a round's model: how long all its parameters are together."""
    state = tree.take({n: now.after[n] for n in now.world.parameters}, 0)
    return {"length": float(tree.flatten(state).norm())}


def temperature(now: Round) -> dict[str, float]:
    """Of a round: by what the average's outputs are multiplied for the least loss.

    The loss is the proxy set's, the parameters stay as they are.
    """
    world, gamma = now.world, now.servers[0].metrics["gamma"]
    assert world.proxy is not None
    state = tree.take(now.after, 0)
    mean = {n: v / gamma if n in world.parameters else v for n, v in state.items()}
    x, y = world.proxy
    at = _GRID.to(x)
    with torch.no_grad():
        out = at[:, None, None] * logits(world.model, mean, x)
        truth = y.expand(len(at), -1).flatten()
        loss = F.cross_entropy(out.flatten(0, 1), truth, reduction="none")
    return {"temper": float(at[loss.view(len(at), -1).mean(dim=1).argmin()])}


def right(world: World, state: tree.Tree, x: Tensor, y: Tensor) -> float:
    """The part of these samples whose label a model names."""
    row = {n: v[None] for n, v in state.items()}
    return float(evaluate(world.model, row, x, y, len(world.classes)).accuracy)

"""Measures of a round's features: who looks, at what, and how sure the model is."""

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedlab_core import tree
from fedlab_core.metrics import logits
from fedlab_core.rounds.records import Round
from fedlab_core.rounds.worlds import World

WHO = (0, 2, 4)  # clinics whose features are drawn
_MEASURED, _DRAWN = 20, 6  # test images of each letter


def phi(world: World, state: tree.Tree, x: Tensor) -> Tensor:
    """The features of images: the network without its last layer."""
    layers = cast(nn.Module, world.model.features)
    part = tree.subtree(state, "features")
    return functional_call(layers, part, (x,)).flatten(1)


def apart(rows: Tensor) -> float:
    """Mean squared distance of rows to the mean row."""
    return float((rows - rows.mean(0)).square().sum(-1).mean())


def same_images(world: World, each: int) -> Tensor:
    """Places of the first test images of every letter: the same for every clinic."""
    letters = range(len(world.classes))
    first = [torch.nonzero(world.y_test == c)[:each].flatten() for c in letters]
    return torch.cat(first)


@torch.no_grad()
def inside(now: Round) -> dict[str, float]:
    """Of a round: who looks, as a part of the variance; how features vary; how sure.

    `looks`: of all variance of the clients' features of the same images, by their own
    models, what differs by client about one image. `vary`: the variance of those
    images' features by the new common model; `sure`: its tallest bar, on average;
    `present` and `missing`: how often it is right on letters that someone who took part
    holds, and on the others.
    """
    world, new = now.world, tree.take(now.after, 0)
    x = world.x_test[same_images(world, _MEASURED)]
    states = [tree.take(now.trained.states, k) for k in range(len(now.ids))]
    own = torch.stack([phi(world, state, x) for state in states])
    whole = apart(own.flatten(0, 1))
    bars = logits(world.model, new, world.x_test).softmax(1)
    right = (bars.argmax(1) == world.y_test).float()
    there = (world.counts[now.ids].sum(0) > 0).to(right.device)[world.y_test]
    return {
        "looks": apart(own) / whole if whole else float("nan"),
        "vary": apart(phi(world, new, x)),
        "sure": float(bars.amax(1).mean()),
        "present": float(right[there].mean()),
        "missing": float(right[~there].mean()),  # not a number, where none is
    }


@torch.no_grad()
def drawn(now: Round) -> dict[str, Any]:
    """The same, and features to draw, where every clinic takes part.

    `same`: (clinics of `WHO`, images, width) of the same images by each own model, and
    `labels` their letters. By the new common model: `means` of the letters in all
    clinics' images, and `delta` of the clinics.
    """
    world, new = now.world, tree.take(now.after, 0)
    at = same_images(world, _DRAWN)
    states = [tree.take(now.trained.states, k) for k in WHO]
    same = [phi(world, state, world.x_test[at]) for state in states]
    held = [phi(world, new, world.x[world.client(k)]) for k in range(len(world))]
    y = torch.cat([world.y[world.client(k)] for k in range(len(world))])
    every = torch.cat(held)
    means = [every[y == c].mean(0) for c in range(len(world.classes))]
    arrays = {
        "same": torch.stack(same),
        "labels": world.y_test[at],
        "means": torch.stack(means),
        "delta": torch.stack([h.mean(0) for h in held]),
    }
    as_numpy = {n: v.cpu().numpy() for n, v in arrays.items()}
    return inside(now) | as_numpy


def plane(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and two main directions of rows, with a sign that is fixed."""
    middle = points.mean(0)
    ways = np.linalg.svd(points - middle, full_matrices=False)[2][:2]
    biggest = np.abs(ways).argmax(1)
    return middle, ways * np.sign(ways[[0, 1], biggest])[:, None]

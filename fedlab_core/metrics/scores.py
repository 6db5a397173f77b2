"""Accuracy and loss of many models, on one test set or each on its own; over seeds."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn import functional as F

from fedlab_core.arguments import Axes, Count, Stacked, Within, checked
from fedlab_core.errors import require
from fedlab_core.models.network import Network, Samples, Truth, explained
from fedlab_core.tree import Tree, take

One = Annotated[np.ndarray | Tensor | Sequence[int], Axes("_", "whole", Within(0))]
Lists = Sequence[One]  # sample numbers per client
Seeds = Annotated[np.ndarray, Axes("_ ...", "measured")]
MODELS_AT_ONCE, SAMPLES_AT_ONCE = 64, 4096


@checked
@dataclass(frozen=True)
class Scores:
    """Scores of several models on one data set."""

    accuracy: Tensor  # (models,)
    loss: Tensor  # (models,) mean cross-entropy
    per_class: Tensor  # (models, classes), NaN where a class has no sample


@checked
@torch.no_grad()
def evaluate(
    model: nn.Module, states: Stacked, x: Samples, y: Truth, classes: Count
) -> Scores:
    """Score every row of a stacked tree on (x, y); one pass, in slices that fit."""
    require(len(states) > 0, "states holds no model")
    known = len(y) == 0 or int(y.max()) < classes
    require(known, f"y has labels of more than {classes} classes")
    net, rows = Network(model), len(next(iter(states.values())))
    at_once, slice_x = max(1, min(rows, MODELS_AT_ONCE)), 2048
    right = torch.zeros(rows, classes, dtype=torch.float64, device=x.device)
    loss = torch.zeros(rows, dtype=torch.float64, device=x.device)
    run = vmap(net, (0, None))
    for r, i in itertools.product(range(0, rows, at_once), range(0, len(x), slice_x)):
        with explained(model, states, x, y):
            group, truth = take(states, slice(r, r + at_once)), y[i : i + slice_x]
            out = run(group, x[i : i + slice_x])
            wide = truth.expand(len(out), -1)
            each = F.cross_entropy(out.flatten(0, 1), wide.flatten(), reduction="none")
            loss[r : r + at_once] += each.view_as(wide).sum(1)
            hit = (out.argmax(-1) == truth).to(right.dtype)
            right[r : r + at_once].index_add_(1, truth, hit)
    held = torch.bincount(y, minlength=classes)
    per_class = right / torch.where(held > 0, held, torch.nan)
    return Scores(right.sum(1) / len(y), loss / len(y), per_class)


@checked
@dataclass(frozen=True)
class Own:
    """Scores of each client's model on the client's samples; NaN where it has none."""

    accuracy: Tensor  # (clients,)
    loss: Tensor  # (clients,) mean cross-entropy


@checked
@torch.no_grad()
def evaluate_own(
    model: nn.Module, states: Stacked, x: Samples, y: Truth, lists: Lists
) -> Own:
    """Score row k of a stacked tree on the samples lists[k] of (x, y).

    One model for every client is `repeat(state, len(lists))`.
    """
    require(len(states) > 0, "states holds no model")
    check_one_list_a_row(states, lists)
    held = [torch.as_tensor(one) for one in lists if len(one)]
    ends = [int(end) for one in held for end in one.aminmax()]
    inside = not ends or (min(ends) >= 0 and max(ends) < len(x))
    require(bool(inside), f"lists must be samples from 0 to {len(x) - 1}")
    right = torch.zeros(len(lists), dtype=torch.float64, device=x.device)
    loss = torch.zeros_like(right)
    run = vmap(Network(model))
    for rows, index, real in padded(lists, x.device):
        with explained(model, states, x, y):
            out, truth = run(take(states, rows), x[index]), y[index]
            each = F.cross_entropy(out.flatten(0, 1), truth.flatten(), reduction="none")
            loss[rows] += (each.view_as(truth) * real).sum(1).to(loss.dtype)
            right[rows] += ((out.argmax(-1) == truth) & real).sum(1)
    held = torch.tensor([len(held) for held in lists], device=x.device)
    held = torch.where(held > 0, held, torch.nan)
    return Own(right / held, loss / held)


def check_one_list_a_row(states: Tree, lists: Lists) -> None:
    """Refuse a stacked tree that has not one row for every list."""
    rows = len(next(iter(states.values())))
    require(
        rows == len(lists),
        f"states has {rows} rows but there are {len(lists)} lists of samples: "
        "give one row for each, or repeat(state, clients)",
    )


def padded(
    lists: Lists, device: torch.device | str, samples: int = SAMPLES_AT_ONCE
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """(rows, sample numbers, whether real) of rectangles that cover all the lists.

    Clients of like size go together, so that little is padded; a rectangle has
    `samples` entries at most, or one column.
    """
    held = [np.asarray(torch.as_tensor(one).cpu(), dtype=np.int64) for one in lists]
    order = sorted(range(len(held)), key=lambda k: len(held[k]))
    for r in range(0, len(order), MODELS_AT_ONCE):
        rows = order[r : r + MODELS_AT_ONCE]
        longest, width = len(held[rows[-1]]), max(1, samples // len(rows))
        index = np.zeros((len(rows), longest), dtype=np.int64)
        real = np.zeros((len(rows), longest), dtype=bool)
        for i, k in enumerate(rows):
            index[i, : len(held[k])] = held[k]
            real[i, : len(held[k])] = True
        where = torch.tensor(rows, device=device)
        for i in range(0, longest, width):
            part = (v[:, i : i + width] for v in (index, real))
            a, b = (torch.from_numpy(v.copy()).to(device) for v in part)
            yield where, a, b


@checked
def mean_interval(values: Seeds, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds and half the width of its 95 % Student interval (NaN for one)."""
    from scipy.special import stdtrit  # slow to load

    values = np.asarray(values, dtype=float)
    there = -values.ndim <= axis < values.ndim and values.shape[axis] > 0
    require(there, f"axis={axis}: values of shape {values.shape} hold no seed there")
    n = values.shape[axis]
    if n < 2:
        return values.mean(axis), np.full_like(values.mean(axis), np.nan)
    spread = values.std(axis, ddof=1) / np.sqrt(n)
    return values.mean(axis), stdtrit(n - 1, 0.975) * spread

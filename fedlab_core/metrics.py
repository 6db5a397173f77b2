"""What is measured: accuracy and loss, discrepancy, divergence, cost.

Everything takes a stacked tree of states, so that one call judges the models of many
clients, rounds or settings. Accuracies are fractions in [0, 1].
"""

import copy
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from fedlab_core.errors import require
from fedlab_core.tree import Tree, count, flatten, take


def logits(model: nn.Module, state: Tree, x: Tensor) -> Tensor:
    """One model's outputs on x, in evaluation mode."""
    return functional_call(_evaluating(model), state, (x,))


def _evaluating(model: nn.Module) -> nn.Module:
    return model if not model.training else copy.deepcopy(model).eval()


@dataclass(frozen=True)
class Scores:
    """How each of several models did on one data set."""

    accuracy: Tensor  # (models,)
    loss: Tensor  # (models,) mean cross-entropy
    per_class: Tensor  # (models, classes), NaN where a class has no sample


@torch.no_grad()
def evaluate(
    model: nn.Module, states: Tree, x: Tensor, y: Tensor, classes: int
) -> Scores:
    """Score every row of a stacked tree on (x, y); one pass, in slices that fit."""
    net, rows = _evaluating(model), len(next(iter(states.values())))
    at_once, slice_x = max(1, min(rows, 64)), 2048
    right = torch.zeros(rows, classes, dtype=torch.float64, device=x.device)
    loss = torch.zeros(rows, dtype=torch.float64, device=x.device)
    run = vmap(lambda state, part: functional_call(net, state, (part,)), (0, None))
    for r in range(0, rows, at_once):
        group = take(states, slice(r, r + at_once))
        for i in range(0, len(x), slice_x):
            truth = y[i : i + slice_x]
            out = run(group, x[i : i + slice_x])
            wide = truth.expand(len(out), -1)
            each = F.cross_entropy(out.flatten(0, 1), wide.flatten(), reduction="none")
            loss[r : r + at_once] += each.view_as(wide).sum(1)
            hit = (out.argmax(-1) == truth).to(right.dtype)
            right[r : r + at_once].index_add_(1, truth, hit)
    held = torch.bincount(y, minlength=classes)
    per_class = right / torch.where(held > 0, held, torch.nan)
    return Scores(right.sum(1) / len(y), loss / len(y), per_class)


DISCREPANCIES = ("kl", "l2", "l1", "cosine")


def discrepancy(
    counts: Tensor, target: Tensor | None = None, metric: str = "kl"
) -> Tensor:
    """How far each client's label distribution is from the target: (clients,).

    `counts` holds samples per client and class; the target is uniform
    unless given. "kl" is KL(local || target) in nats, with 0 log 0 = 0.

    Paper: FedDisco Sec. 5.1.
    """
    known = ", ".join(DISCREPANCIES)
    require(metric in DISCREPANCIES, f"unknown metric {metric!r}: choose from {known}")
    local, goal = _distributions(counts, target)
    if metric == "l1":
        return (local - goal).abs().sum(1)
    if metric == "l2":
        return torch.linalg.vector_norm(local - goal, dim=1)
    if metric == "cosine":
        return 1 - F.cosine_similarity(local, goal[None], dim=1)
    require(
        not bool(((local > 0) & (goal == 0)).any()),
        "KL is infinite: the target gives no weight to a class that a client "
        "holds; use metric 'l1', 'l2' or 'cosine', or another target",
    )
    return torch.special.xlogy(local, local / goal.clamp(min=1e-300)).sum(1)


def _distributions(counts: Tensor, target: Tensor | None) -> tuple[Tensor, Tensor]:
    """Counts and target as fractions; a client without samples has zeros."""
    local = counts / counts.sum(1, keepdim=True).clamp(min=1).to(torch.float64)
    classes = counts.shape[1]
    goal = torch.ones(classes) if target is None else target
    goal = goal.to(local)
    sound = goal.shape == (classes,) and bool((goal >= 0).all() and goal.sum() > 0)
    require(sound, f"target must be {classes} numbers of 0 or more, not all 0")
    return local, goal / goal.sum()


def divergence(states: Tree, centre: Tree) -> Tensor:
    """Euclidean distance of each client's parameters from the centre's: (clients,)."""
    return torch.linalg.vector_norm(flatten(states, True) - flatten(centre), dim=1)


def coherence(states: Tree, start: Tree) -> Tensor:
    """Cosine of the angle between every two clients' updates: (clients, clients)."""
    moves = F.normalize(flatten(states, True) - flatten(start), dim=1)
    return moves @ moves.T


def state_bytes(state: Tree) -> int:
    """Bytes to send one state as 32-bit numbers."""
    return 4 * count(state)


def mean_interval(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds and half the width of its 95 % Student interval (NaN for one)."""
    values = np.asarray(values, dtype=float)
    n = values.shape[axis]
    if n < 2:
        return values.mean(axis), np.full_like(values.mean(axis), np.nan)
    spread = values.std(axis, ddof=1) / np.sqrt(n)
    return values.mean(axis), stats.t.ppf(0.975, n - 1) * spread

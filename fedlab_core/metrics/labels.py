"""Label skew, of one client and of a cohort.

Counts are samples per client and class: (clients, classes).
"""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.arguments import Axes, Whole, Within, checked
from fedlab_core.errors import require

Metric = Literal["kl", "l2", "l1", "cosine"]
DISCREPANCIES = get_args(Metric)
Counts = Annotated[Tensor, Axes("clients classes", "number", Within(0))]
_Goal = Tensor | Sequence[float] | None
Who = Sequence[Whole] | Annotated[Tensor, Axes("members", "whole", Within(0))]


@checked
def discrepancy(
    counts: Counts,
    target: Annotated[Tensor, Axes("classes", "number", Within(0))] | None = None,
    metric: Metric = "kl",
) -> Tensor:
    """Distance of each client's label distribution from the target: (clients,).

    `counts` holds samples per client and class; the target is uniform
    unless given. "kl" is KL(local || target) in nats, with 0 log 0 = 0.

    Paper: FedDisco Sec. 5.1.
    """
    there = target is None or bool(target.sum() > 0)
    require(there, "target must have a number above 0")
    return far_from(counts, target, metric)


def far_from(counts: Tensor, target: _Goal, metric: Metric) -> Tensor:
    """`discrepancy`, for arguments whose kind is checked already."""
    classes = counts.shape[1]
    fits = target is None or len(target) == classes
    require(fits, f"target must have {classes} numbers, as classes is {classes} here")
    local, goal = _distributions(counts, target)
    if metric == "l1":
        return (local - goal).abs().sum(1)
    if metric == "l2":
        return torch.linalg.vector_norm(local - goal, dim=1)
    if metric == "cosine":
        return 1 - F.cosine_similarity(local, goal[None], dim=1)
    if target is not None and not all(part > 0 for part in target):
        require(
            bool(((local == 0) | (goal > 0)).all()),
            "KL is infinite: the target gives no weight to a class that a client "
            "holds; use metric 'l1', 'l2' or 'cosine', or another target",
        )
    return torch.special.xlogy(local, local / goal.clamp(min=1e-300)).sum(1)


@checked
def heterogeneity_coherence(
    counts: Counts,
    weights: Annotated[Tensor, Axes("members")],
    members: Who | None = None,
) -> Tensor:
    """Likeness of a cohort's weighted label distribution to that of all data: [0, 1].

    `weights` are the members' aggregation weights; everyone is a member unless given.
    The paper leaves the likeness of two distributions open: here it is their cosine.

    Paper: FedLAW Sec. 5.1.
    """
    local, overall = _distributions(counts, counts.sum(0))
    chosen = local
    if members is not None:
        who = torch.as_tensor(members, dtype=torch.int64)
        there = bool(((who >= 0) & (who < len(local))).all())
        require(there, f"members must be from 0 to {len(local) - 1}, the clients")
        chosen = local[who]
    fits = len(weights) == len(chosen)
    require(fits, f"weights: {len(weights)} numbers for {len(chosen)} members")
    cohort = weights.to(local) @ chosen
    return F.cosine_similarity(cohort, overall, dim=0)


@checked
def heterogeneity_degree(counts: Counts) -> Tensor:
    """1 / population variance of each client's label distribution: (clients,).

    Large for balanced clients, and infinite for a perfectly balanced one.

    Paper: FedLAW Table 11.
    """
    local, _ = _distributions(counts, None)
    return 1 / local.var(1, correction=0)


@checked
def weight_correlations(
    weights: Annotated[Tensor, Axes("clients")], counts: Counts
) -> dict[str, float]:
    """Pearson correlation of aggregation weights with size, degree, and both.

    "degree" is `heterogeneity_degree`, "product" size times degree; NaN where one of
    the two does not vary or is infinite. `weights` may be summed over rounds.

    Paper: FedLAW Table 11.
    """
    size, degree = counts.sum(1).double(), heterogeneity_degree(counts)
    factors = {"size": size, "degree": degree, "product": size * degree}
    return {name: _pearson(weights.double(), v) for name, v in factors.items()}


def _pearson(a: Tensor, b: Tensor) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / (a.norm() * b.norm()))


def _distributions(counts: Tensor, target: _Goal) -> tuple[Tensor, Tensor]:
    """Counts and target as fractions; a client without samples has zeros."""
    local = counts / counts.sum(1, keepdim=True).clamp(min=1).to(torch.float64)
    goal = torch.ones(counts.shape[1]) if target is None else target
    goal = torch.as_tensor(goal, dtype=torch.float64).to(local)
    return local, goal / goal.sum()

"""Clustered federated learning: split a group whose members pull apart.

Citation: Sattler et al. 2021, "Clustered Federated Learning: Model-Agnostic Distributed
Multitask Optimization under Privacy Constraints" (FedCollab calls it FedCluster).

Symbols: cos(D_i, D_j) of clients' updates -> `bipartition`; e1, e2, gamma_max ->
`eps1`, `eps2`, `gamma_max`.

Algorithm: the split -> `SplitInTwo`; the rest is FedAvg in groups.

Deviations from the paper:
1. A group is split once a round at most, and goes on in the next round.
2. Its halves are found by complete linkage, as in common code; `link="single"` makes
   the largest cosine across them as small as it can be, as in the paper.
3. Absent members of a group that is split stay with the half that keeps the number.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fedlab_core.arguments import NotNegative, Whole, checked
from fedlab_core.client import Training
from fedlab_core.errors import require
from fedlab_core.methods.clustering import trained_only
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.metrics import coherence
from fedlab_core.rounds import GroupOf, Groups, Method, Regrouping, Weigh
from fedlab_core.rounds.groups import all_in_one
from fedlab_core.tree import Tree, flatten, take

Linkage = Literal["complete", "single"]


def bipartition(
    cosines: Tensor, link: Linkage = "complete"
) -> tuple[list[int], list[int], float]:
    """Two halves of a group, and the largest cosine across them.

    Agglomerative clustering of the members until two clusters are left; "single"
    linkage makes that cosine as small as it can be. The half with member 0 comes first.
    """
    require(len(cosines) >= 2, "one member cannot be split")
    from scipy.cluster.hierarchy import cut_tree, linkage  # slow to load
    from scipy.spatial.distance import squareform

    gaps = (1 - cosines.double()).clamp(min=0).cpu().numpy()
    flat = squareform((gaps + gaps.T) / 2, checks=False)
    side = cut_tree(linkage(flat, link), n_clusters=2)[:, 0]
    one = np.flatnonzero(side == side[0]).tolist()
    other = np.flatnonzero(side != side[0]).tolist()
    return one, other, float(cosines[one][:, other].max())


@checked
@dataclass(frozen=True)
class SplitInTwo:
    """Groups that stand still while their members pull apart are split in two.

    Still: the members' mean update, weighted by size, is shorter than `eps1`. Pulling:
    their longest is longer than `eps2`. The split is made if gamma_max <
    sqrt((1 - c) / 2), with c the largest cosine across: two clients of one kind, whose
    updates are off by at most gamma_max of their length, have 1 - 2 gamma_max^2 at
    least. Nothing is split before round `after` + 1.
    """

    eps1: NotNegative = 0.4
    eps2: NotNegative = 1.6
    gamma_max: NotNegative = 0.0
    link: Linkage = "complete"
    after: Whole = 0

    def __call__(self, now: Regrouping) -> tuple[GroupOf, list[int]]:
        group_of, parents = list(now.group_of), list(range(len(now.before)))
        if now.key[1] < self.after:
            return group_of, parents
        models = trained_only(now.view, now.models)
        sizes = now.sizes
        for g, before in enumerate(now.before):
            rows = [row for row, k in enumerate(now.ids) if now.group_of[k] == g]
            ids = [now.ids[row] for row in rows]
            if len(rows) < 2:
                continue
            other = self.leaving(take(models, rows), before.begin, sizes[ids])
            for row in other:
                group_of[ids[row]] = len(parents)
            if other:
                parents.append(g)
        return group_of, parents

    def leaving(self, models: Tree, start: Tree, sizes: Tensor) -> list[int]:
        """The members that a group's second half takes away; none if it stays whole."""
        begin = {n: start[n] for n in models}
        mean, longest = still_and_pulling(models, begin, sizes)
        if not (mean < self.eps1 and longest > self.eps2):
            return []
        _, other, across = bipartition(coherence(models, begin), self.link)
        gap = math.sqrt(max(0.0, (1 - across) / 2))
        return other if self.gamma_max < gap else []


def still_and_pulling(models: Tree, start: Tree, sizes: Tensor) -> tuple[float, float]:
    """Lengths of a group's mean update and of its longest, to choose eps1 and eps2."""
    moves = flatten(models, True) - flatten(start)
    share = (sizes / sizes.sum()).to(moves)
    mean = torch.linalg.vector_norm(share @ moves)
    return float(mean), float(torch.linalg.vector_norm(moves, dim=1).max())


@checked
def CFL(
    eps1: NotNegative = 0.4,
    eps2: NotNegative = 1.6,
    gamma_max: NotNegative = 0.0,
    *,
    link: Linkage = "complete",
    after: Whole = 0,
) -> Groups:
    """One group that is split, again and again, by the directions of its updates.

    The thresholds are lengths of updates, so they depend on model, learning rate and
    local epochs. The defaults are those of common code; `still_and_pulling` shows what
    they are compared with.
    """
    rule = SplitInTwo(eps1, eps2, gamma_max, link, after)
    return Groups("cfl", all_in_one, regroup=rule)


@checked
def cfl(
    training: Training | None = None, weigh: Weigh | None = None, **options
) -> Method:
    """Clustered federated learning; `options` are those of `CFL`."""
    return fedavg(training, weigh, CFL(**options), "CFL")

"""FeSEM: k centres, and every client goes to the one nearest to its model.

Citation: Long et al. 2022, "Multi-center federated learning: clients clustering for
better personalization".

Symbols: number of centres -> `k`.

Algorithm: the assignment -> `ToNearest`; a centre -> the plain mean of its members.

Deviations from the paper:
1. The first centres are those of k-means on the models of the first round;
   `start="random"` draws models and groups, so that the draw decides.
2. A client that has not taken part yet stays where it began.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from fedlab_core.arguments import Count, checked
from fedlab_core.client import Training
from fedlab_core.keys import derive_seed
from fedlab_core.methods.clustering import check_k, k_means, moved, trained_only
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.rounds import GroupOf, Groups, Method, Regrouping, Weigh, World
from fedlab_core.rounds.groups import all_in_one
from fedlab_core.tree import flatten


@dataclass(frozen=True)
class ToNearest:
    """Participants go to the centre nearest to what they have become."""

    k: int

    def __call__(self, now: Regrouping) -> tuple[GroupOf, list[int]]:
        points = flatten(trained_only(now.view, now.models), True)
        if len(now.before) < self.k:
            new = k_means(points, self.k, derive_seed(*now.key, 0xFE5E))
            parents = [0] * self.k
        else:
            centres = [trained_only(now.view, b.model) for b in now.before]
            heart = torch.stack([flatten(c) for c in centres])
            gaps = [torch.linalg.vector_norm(points - c, dim=1) for c in heart]
            new = torch.stack(gaps, dim=1).argmin(1).tolist()
            parents = list(range(self.k))
        return moved(now.group_of, now.ids, new), parents


@checked
def FeSEM(k: Count = 4, *, start: Literal["kmeans", "random"] = "kmeans") -> Groups:
    """k centres; each participant trains from its own, then goes to the nearest one."""
    if start == "kmeans":
        fits = lambda _, participants: check_k(k, participants)  # noqa: E731
        return Groups("fesem", all_in_one, regroup=ToNearest(k), fits=fits)

    def begin(world: World, seed: int) -> GroupOf:
        rng = np.random.default_rng([seed, 0xFE5E])
        return rng.integers(k, size=len(world)).tolist()

    return Groups("fesem", begin, regroup=ToNearest(k), models=k)


@checked
def fesem(
    training: Training | None = None,
    k: Count = 4,
    weigh: Weigh | None = None,
    **options,
) -> Method:
    """Multi-centre federated learning; a centre is its members' plain mean."""
    return fedavg(training, weigh or Equal(), FeSEM(k, **options), "FeSEM")

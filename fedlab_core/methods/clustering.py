"""Groups found by training: IFCA, clustered federated learning, FeSEM and k-means.

Citations:
- IFCA: Ghosh et al. 2020, "An Efficient Framework for Clustered Federated Learning";
- CFL: Sattler et al. 2021, "Clustered Federated Learning: Model-Agnostic Distributed
  Multitask Optimization under Privacy Constraints" (FedCollab calls it FedCluster);
- FeSEM: Long et al. 2022, "Multi-center federated learning: clients clustering for
  better personalization";
- k-means: Ghosh et al. 2019, "Robust Federated Learning in a Heterogeneous
  Environment".

Symbols: number of clusters -> `k`; cos(D_i, D_j) of clients' updates -> `bipartition`;
e1, e2, gamma_max -> `eps1`, `eps2`, `gamma_max`.

Algorithms: IFCA's choice of a model -> `ByLoss`; CFL's split -> `Split`; FeSEM's
assignment -> `ToNearest`; k-means -> `KMeans`.

Deviations from the papers:
1. IFCA averages models, the second of its two variants, and is run once; its authors
   restart it and keep the best.
2. CFL splits a group once a round at most, and goes on in the next round. Its halves
   are found by complete linkage, as in common code; `link="single"` makes the largest
   cosine across them as small as it can be, as in the paper.
3. FeSEM's first centres are those of k-means on the models of the first round;
   `start="random"` draws models and groups, so that the draw decides.
4. k-means clusters models that were trained alone for some rounds, not to the end.

Partial participation: an absent client keeps its home. One that IFCA has never seen is
in group 0; when CFL splits a group, its absent members stay with the half that keeps
the number; FeSEM's stay where they began. k-means asks every client before round 1.
The `bytes` of a history count one model a round each way, also for IFCA, whose clients
are sent all of them, and nothing for the rounds alone of k-means.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlab_core.client.local import Local
from fedlab_core.errors import require
from fedlab_core.keys import derive_seed
from fedlab_core.methods.fedavg import Equal, fedavg, local_only
from fedlab_core.metrics import coherence
from fedlab_core.rounds.method import Groups, Homes, Losses, Method, Regrouping, Weigh
from fedlab_core.rounds.play import run
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, flatten, take

LINKAGES = ("complete", "single")


def update_distances(states: Tree, start: Tree) -> Tensor:
    """1 - cosine of every two clients' updates, which CFL goes by: (clients, clients).

    Between 0, the same direction, and 2, the opposite one.
    """
    return 1 - coherence(states, start)


def parameter_distances(states: Tree) -> Tensor:
    """Euclidean distance of every two models, for FeSEM and k-means."""
    rows = flatten(states, True)
    return torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")


def trained_alone(
    world: World, local: Local | None = None, rounds: int = 1, seed: int = 0
) -> Tree:
    """The models of clients that train alone from the same start, with a client axis.

    Parameters only. What the distances above are computed of, without a federation.
    """
    history = run(world, local_only(local), rounds, seed, judge_every=rounds)
    return _parameters(world, history.states)


def _parameters(world: World, states: Tree) -> Tree:
    return {n: w for n, w in states.items() if n in world.parameters}


def _all_in_one(world: World, seed: int) -> Homes:
    return [0] * len(world)


def _moved(homes: Homes, ids: list[int], to: Homes) -> Homes:
    """The homes after these clients have moved there."""
    new = dict(zip(ids, to, strict=True))
    return [new.get(k, home) for k, home in enumerate(homes)]


def _check_k(k: int) -> None:
    require(k >= 1, f"k must be 1 or more, not {k}")


# -- IFCA --------------------------------------------------------------------------


@dataclass(frozen=True)
class ByLoss:
    """Participants go to the model with the least loss on their data."""

    def __call__(self, homes: Homes, ids: list[int], losses: Losses) -> Homes:
        return _moved(homes, ids, losses().argmin(1).tolist())


def IFCA(k: int = 4) -> Groups:
    """k models, drawn apart; each participant trains the one that suits it best."""
    _check_k(k)
    return Groups("ifca", _all_in_one, pick=ByLoss(), models=k)


def ifca(local: Local | None = None, k: int = 4, weigh: Weigh | None = None) -> Method:
    """Iterative federated clustering, averaging models by size."""
    return fedavg(local, weigh, IFCA(k), "IFCA")


# -- CFL ---------------------------------------------------------------------------


def bipartition(
    cosines: Tensor, link: str = "complete"
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


@dataclass(frozen=True)
class Split:
    """Groups that stand still while their members pull apart are split in two.

    Still: the members' mean update, weighted by size, is shorter than `eps1`. Pulling:
    their longest is longer than `eps2`. The split is made if gamma_max <
    sqrt((1 - c) / 2), with c the largest cosine across: two clients of one kind, whose
    updates are off by at most gamma_max of their length, have 1 - 2 gamma_max^2 at
    least. Nothing is split before round `after` + 1.
    """

    eps1: float = 0.4
    eps2: float = 1.6
    gamma_max: float = 0.0
    link: str = "complete"
    after: int = 0

    def __post_init__(self) -> None:
        for name in ("eps1", "eps2", "gamma_max"):
            value = getattr(self, name)
            require(value >= 0, f"{name} must be 0 or more, not {value}")
        choices = ", ".join(LINKAGES)
        known = self.link in LINKAGES
        require(known, f"unknown link {self.link!r}: choose from {choices}")
        require(self.after >= 0, f"after must be 0 or more, not {self.after}")

    def __call__(self, now: Regrouping) -> tuple[Homes, list[int]]:
        homes, origin = list(now.home), list(range(len(now.before)))
        if now.key[1] < self.after:
            return homes, origin
        models = _parameters(now.world, now.models)
        sizes = now.world.counts.sum(1)
        for g, before in enumerate(now.before):
            rows = [row for row, k in enumerate(now.ids) if now.home[k] == g]
            ids = [now.ids[row] for row in rows]
            if len(rows) < 2:
                continue
            other = self.leaving(take(models, rows), before.begin, sizes[ids])
            for row in other:
                homes[ids[row]] = len(origin)
            if other:
                origin.append(g)
        return homes, origin

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


def CFL(
    eps1: float = 0.4,
    eps2: float = 1.6,
    gamma_max: float = 0.0,
    *,
    link: str = "complete",
    after: int = 0,
) -> Groups:
    """One group that is split, again and again, by the directions of its updates.

    The thresholds are lengths of updates, so they depend on model, learning rate and
    local epochs. The defaults are those of common code; `still_and_pulling` shows what
    they are compared with.
    """
    rule = Split(eps1, eps2, gamma_max, link, after)
    return Groups("cfl", _all_in_one, regroup=rule)


def cfl(local: Local | None = None, weigh: Weigh | None = None, **options) -> Method:
    """Clustered federated learning; `options` are those of `CFL`."""
    return fedavg(local, weigh, CFL(**options), "CFL")


# -- FeSEM -------------------------------------------------------------------------

STARTS = ("kmeans", "random")


@dataclass(frozen=True)
class ToNearest:
    """Participants go to the centre nearest to what they have become."""

    k: int

    def __call__(self, now: Regrouping) -> tuple[Homes, list[int]]:
        points = flatten(_parameters(now.world, now.models), True)
        if len(now.before) < self.k:
            new = clusters(points, self.k, derive_seed(*now.key, 0xFE5E))
            origin = [0] * self.k
        else:
            centres = [_parameters(now.world, b.model) for b in now.before]
            heart = torch.stack([flatten(c) for c in centres])
            gaps = [torch.linalg.vector_norm(points - c, dim=1) for c in heart]
            new = torch.stack(gaps, dim=1).argmin(1).tolist()
            origin = list(range(self.k))
        return _moved(now.home, now.ids, new), origin


def FeSEM(k: int = 4, *, start: str = "kmeans") -> Groups:
    """k centres; each participant trains from its own, then goes to the nearest one."""
    _check_k(k)
    choices = ", ".join(STARTS)
    require(start in STARTS, f"unknown start {start!r}: choose from {choices}")
    if start == "kmeans":
        return Groups("fesem", _all_in_one, regroup=ToNearest(k))

    def begin(world: World, seed: int) -> Homes:
        rng = np.random.default_rng([seed, 0xFE5E])
        return rng.integers(k, size=len(world)).tolist()

    return Groups("fesem", begin, regroup=ToNearest(k), models=k)


def fesem(
    local: Local | None = None, k: int = 4, weigh: Weigh | None = None, **options
) -> Method:
    """Multi-centre federated learning; a centre is its members' plain mean."""
    return fedavg(local, weigh or Equal(), FeSEM(k, **options), "FeSEM")


# -- k-means -----------------------------------------------------------------------


def clusters(points: Tensor, k: int, seed: int) -> Homes:
    """k-means from ten seeded starts, numbered in order of the first point of each."""
    from sklearn.cluster import KMeans as Lloyd

    few = f"{k} clusters need {k} clients or more, not {len(points)}"
    require(len(points) >= k, few)
    options: dict[str, Any] = {"n_init": 10, "random_state": seed % 2**32}
    labels = Lloyd(k, **options).fit_predict(points.double().cpu().numpy()).tolist()
    names = {label: g for g, label in enumerate(dict.fromkeys(labels))}
    return [names[label] for label in labels]


def KMeans(k: int = 4, *, local: Local | None = None, alone: int = 10) -> Groups:
    """k-means, once, on models that clients have trained alone for some rounds.

    `local` is how they train then. The federation begins afresh in the clusters.
    """
    _check_k(k)
    require(alone >= 1, f"alone must be 1 or more rounds, not {alone}")

    def begin(world: World, seed: int) -> Homes:
        models = trained_alone(world, local, alone, seed)
        return clusters(flatten(models, True), k, derive_seed(seed, 0x3EA25))

    return Groups("kmeans", begin)


def kmeans(
    local: Local | None = None,
    k: int = 4,
    alone: int = 10,
    weigh: Weigh | None = None,
) -> Method:
    """FedAvg in clusters of models trained alone, by the same local rule."""
    return fedavg(local, weigh, KMeans(k, local=local, alone=alone), "KMeans")

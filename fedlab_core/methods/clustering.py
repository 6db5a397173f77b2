"""Helpers of the methods that form groups: distances, k-means, moves.

Users are `ifca`, `cfl`, `fesem` and `kmeans`. In all of them an absent client stays in
its group. The `bytes` of a history count one model a round each way.
"""

from typing import Any

import torch
from torch import Tensor

from fedlab_core.client import Training
from fedlab_core.errors import require
from fedlab_core.methods.fedavg import local_only
from fedlab_core.rounds import GroupOf, ServerView, World
from fedlab_core.rounds.run import federate
from fedlab_core.tree import Tree, flatten


def parameter_distances(states: Tree) -> Tensor:
    """Euclidean distance of every two models, for FeSEM and k-means."""
    rows = flatten(states, True)
    return torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")


def trained_alone(
    world: World, training: Training | None = None, rounds: int = 1, seed: int = 0
) -> Tree:
    """The models of clients that train alone from the same start, with a client axis.

    Parameters only: input for the distances above, without a federation.
    """
    history = federate(world, local_only(training), rounds, seed, judge_every=rounds)
    return trained_only(world, history.states)


def trained_only(place: World | ServerView, states: Tree) -> Tree:
    """A state's parameters, without its statistics."""
    return {n: w for n, w in states.items() if n in place.parameters}


def moved(group_of: GroupOf, ids: list[int], to: GroupOf) -> GroupOf:
    """Everyone's group after these clients have moved there."""
    new = dict(zip(ids, to, strict=True))
    return [new.get(k, home) for k, home in enumerate(group_of)]


def check_k(k: int, clients: int) -> None:
    """Refuse more groups than the clients that they are made of."""
    few = f"{k} clusters need {k} clients or more, not {clients}: use a smaller k"
    require(clients >= k, few)


def k_means(points: Tensor, k: int, seed: int) -> GroupOf:
    """k-means from ten seeded starts, numbered in order of the first point of each."""
    from sklearn.cluster import KMeans as Lloyd

    check_k(k, len(points))
    options: dict[str, Any] = {"n_init": 10, "random_state": seed % 2**32}
    labels = Lloyd(k, **options).fit_predict(points.double().cpu().numpy()).tolist()
    names = {label: g for g, label in enumerate(dict.fromkeys(labels))}
    return [names[label] for label in labels]

"""Federated averaging, the method every other one starts from.

Citation: McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from
Decentralized Data".

Symbols: n_k, share of all samples -> `BySize`; E -> `Local.epochs`; B ->
`Local.batch_size`; eta -> `Local.lr`; w_k -> a row of `after`.

Algorithm: Alg. 1, server -> `Average` with `BySize`; client update -> `Local`.

Deviations from the paper:
1. The weights are renormalised over the round's participants, as everyone does.
2. A BatchNorm's running statistics are averaged with the same weights.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.client.local import Local
from fedlab_core.rounds.method import (
    Gathered,
    Groups,
    Members,
    Method,
    Server,
    ServerState,
    Weigh,
    everyone,
    nobody,
)
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, weighted_sum


@dataclass(frozen=True)
class BySize:
    """n_k = m_k / sum_j m_j over the members. Paper: FedAvg Alg. 1."""

    name: str = "size"
    scalars: int = 0

    def __call__(self, members: Members) -> Tensor:
        sizes = members.sizes.to(torch.float64)
        return sizes / sizes.sum()


@dataclass(frozen=True)
class Equal:
    """The same weight for every member."""

    name: str = "equal"
    scalars: int = 0

    def __call__(self, members: Members) -> Tensor:
        k = len(members.sizes)
        return torch.full((k,), 1 / k, dtype=torch.float64)


@dataclass(frozen=True)
class Average:
    """w <- sum_k p_k w_k. Paper: FedAvg Alg. 1."""

    name: str = "average"
    tells: tuple[str, ...] = ()
    hears: tuple[str, ...] = ()

    def begin(self, model: Tree, world: World, clients: int) -> ServerState:
        return ServerState(model)

    def __call__(self, now: Gathered) -> ServerState:
        return ServerState(weighted_sum(now.models, now.weights))


def fedavg(
    local: Local | None = None,
    weigh: Weigh | None = None,
    groups: Groups = everyone,
    name: str = "FedAvg",
    server: Server | None = None,
) -> Method:
    """Federated averaging: local SGD, weights by size, the plain average."""
    server = server or Average()
    return Method(name, local or Local(), weigh or BySize(), server, groups)


def local_only(local: Local | None = None) -> Method:
    """Every client trains alone; the reference for whether working together pays."""
    return fedavg(local, groups=nobody, name="Local")

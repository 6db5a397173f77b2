"""Federated averaging, the method every other one starts from.

Citation: McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from
Decentralized Data". Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: n_k, share of all samples -> `BySize`; E -> `Training.epochs`; B ->
`Training.batch_size`; eta -> `Training.lr`; w_k -> a row of `Gathered.models`.

Algorithm: Alg. 1, server -> `average` with `BySize`; client update -> `Training`.

Deviations from the paper:
1. The weights are renormalised over the round's participants, as everyone does.
2. A BatchNorm's running statistics are averaged with the same weights, here and
   wherever a method's module says nothing else.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.arguments import Whole, checked
from fedlab_core.client import PLAIN, Rule, Training
from fedlab_core.rounds import (
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
from fedlab_core.tree import weighted_sum


@checked
@dataclass(frozen=True)
class BySize:
    """n_k = m_k / sum_j m_j over the members. Paper: FedAvg Alg. 1."""

    name: str = "size"
    scalars: Whole = 0

    def __call__(self, members: Members) -> Tensor:
        sizes = members.sizes.to(torch.float64)
        return sizes / sizes.sum()


@checked
@dataclass(frozen=True)
class Equal:
    """The same weight for every member."""

    name: str = "equal"
    scalars: Whole = 0

    def __call__(self, members: Members) -> Tensor:
        k = len(members.sizes)
        return torch.full((k,), 1 / k, dtype=torch.float64)


def average(now: Gathered) -> ServerState:
    """w <- sum_k p_k w_k. Paper: FedAvg Alg. 1."""
    return ServerState(weighted_sum(now.models, now.weights))


AVERAGE = Server("average", average)


@checked
def fedavg(
    training: Training | None = None,
    weigh: Weigh | None = None,
    groups: Groups = everyone,
    name: str = "FedAvg",
    server: Server = AVERAGE,
    rule: Rule = PLAIN,
) -> Method:
    """Federated averaging: local SGD, weights by size, the plain average."""
    training, weigh = training or Training(), weigh or BySize()
    return Method(name, training, rule, weigh, server, groups)


@checked
def local_only(training: Training | None = None) -> Method:
    """Every client trains alone; the reference for whether working together pays."""
    return fedavg(training, groups=nobody, name="Local")

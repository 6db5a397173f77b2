"""Distances between the clients' models after a round, in all and layer by layer."""

from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Stacked, checked
from fedlab_core.tree import Tree, check_shapes, clients_of, flatten, tree_map

Grouping = Literal["tensor", "layer", "part"]


@checked
def divergence(states: Stacked, centre: Tree) -> Tensor:
    """Euclidean distance of each client's parameters from the centre's: (clients,)."""
    check_shapes(states, centre, "states must be", clients_of(states))
    return torch.linalg.vector_norm(flatten(states, True) - flatten(centre), dim=1)


@checked
def mean_divergence(states: Stacked, centre: Tree | None = None) -> float:
    """Plain mean over clients of the distance from the centre: one number.

    The centre is the plain mean of the clients' models unless given.

    Paper: FedImpro Sec. 5.2.
    """
    return float(divergence(states, _centre(states, centre)).mean())


@checked
def layer_divergence(
    states: Stacked, centre: Tree | None = None, by: Grouping = "layer"
) -> dict[str, float]:
    """`mean_divergence` of each tensor, of each layer, or of features and head.

    A layer is the tensors whose names differ in the last part only (weight, bias);
    "part" looks at the first part of the name.

    Paper: FedImpro Fig. 3.
    """
    centre = _centre(states, centre)
    groups: dict[str, list[str]] = {}
    for name in states:
        groups.setdefault(_group(name, by), []).append(name)
    return {
        group: mean_divergence({n: states[n] for n in names}, centre)
        for group, names in groups.items()
    }


def _centre(states: Tree, centre: Tree | None) -> Tree:
    if centre is None:
        return tree_map(lambda v: v.mean(0), states)
    here = {n: v for n, v in centre.items() if n in states}
    check_shapes(states, here, "states must be", clients_of(states))
    return {name: centre[name] for name in states}


def _group(name: str, by: str) -> str:
    if by == "tensor":
        return name
    return name.rpartition(".")[0] or name if by == "layer" else name.partition(".")[0]

"""Distances between the clients' models after a round, in all and layer by layer."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from fedlab_core.arguments import Axes, Stacked, checked
from fedlab_core.tree import Tree, check_shapes, clients_of, flatten, tree_map

Line = Annotated[np.ndarray | Sequence[float], Axes("_", "measured")]
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


@checked
def relative_to_peak(curves: Mapping[Any, Line]) -> dict[Any, np.ndarray]:
    """Each curve divided by its own largest value, to compare trends.

    A curve of zeros stays as it is. Paper: FedImpro Fig. 3.
    """
    lines = {name: np.asarray(curve, dtype=float) for name, curve in curves.items()}
    peaks = {name: np.nanmax(line, initial=0) for name, line in lines.items()}
    return {n: line / (peaks[n] if peaks[n] > 0 else 1) for n, line in lines.items()}


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

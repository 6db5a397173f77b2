"""Distances between the clients' features, judged by their means.

delta_k is the mean feature vector of client k: (clients, width). With a linear kernel
the maximum mean discrepancy of two clients is the distance of their deltas.
"""

from typing import Annotated

import torch
from torch import Tensor

from fedlab_core.arguments import Axes, checked
from fedlab_core.errors import require

PREFIX = "features."
Delta = Annotated[Tensor, Axes("clients width")]  # means of features


@checked
def mmd(delta: Delta) -> Tensor:
    """Squared discrepancy of every two clients, |delta_i - delta_j|^2: symmetric.

    Paper: rFedAvg Eq. (2).
    """
    delta = _checked(delta)
    # Centred and in double precision, so that the subtraction loses nothing that counts
    centred = (delta - delta.mean(0)).double()
    gram = centred @ centred.T
    own = torch.diagonal(gram)
    squared = (own[:, None] + own - 2 * gram).clamp(min=0)
    squared.fill_diagonal_(0)
    return squared.to(delta.dtype)


@checked
def regulariser(delta: Delta) -> Tensor:
    """r_k: mean over the other clients of the squared discrepancy: (clients,).

    Paper: rFedAvg Eq. (5).
    """
    delta = _checked(delta)
    return mmd(delta).sum(1) / (len(delta) - 1)


@checked
def spread(delta: Delta, normalise: bool = False) -> Tensor:
    """Sum of the squared discrepancy over the pairs of clients, each pair once.

    `normalise` divides by the mean over clients of |delta_k|^2: then the scale of the
    features does not count.
    """
    delta = _checked(delta)
    total = mmd(delta).sum() / 2
    return total / (delta**2).sum(1).mean() if normalise else total


def _checked(delta: Tensor) -> Tensor:
    require(len(delta) >= 2, f"delta: 2 clients or more, not {len(delta)}")
    return delta if delta.is_floating_point() else delta.double()

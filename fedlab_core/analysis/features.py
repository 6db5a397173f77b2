"""How far the clients' features are apart, judged by their means.

delta_k is the mean feature vector of client k: (clients, width). With a linear kernel
the maximum mean discrepancy of two clients is the distance of their deltas.
"""

import torch
from torch import Tensor

from fedlab_core.errors import require

PREFIX = "features."


def mmd(delta: Tensor) -> Tensor:
    """Squared discrepancy of every two clients, |delta_i - delta_j|^2: symmetric.

    Paper: rFedAvg Eq. (2).
    """
    _check(delta)
    # Centred and in double precision, so that the subtraction loses nothing that counts
    centred = (delta - delta.mean(0)).double()
    gram = centred @ centred.T
    own = torch.diagonal(gram)
    squared = (own[:, None] + own - 2 * gram).clamp(min=0)
    squared.fill_diagonal_(0)
    return squared.to(delta.dtype)


def regulariser(delta: Tensor) -> Tensor:
    """r_k: mean over the other clients of the squared discrepancy: (clients,).

    Paper: rFedAvg Eq. (5).
    """
    _check(delta)
    return mmd(delta).sum(1) / (len(delta) - 1)


def spread(delta: Tensor, normalise: bool = False) -> Tensor:
    """Sum of the squared discrepancy over the pairs of clients, each pair once.

    `normalise` divides by the mean over clients of |delta_k|^2: then the scale of the
    features does not count.
    """
    total = mmd(delta).sum() / 2
    return total / (delta**2).sum(1).mean() if normalise else total


def _check(delta: Tensor) -> None:
    require(
        delta.ndim == 2 and len(delta) >= 2,
        "delta must be one row of features for each of 2 or more clients, "
        f"not of shape {tuple(delta.shape)}",
    )

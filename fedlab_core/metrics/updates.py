"""Whether clients pull the same way: the updates of one round, side by side.

The update of client i is g_i = w - w_i: where the round started, less where the client
ended. Trees may hold buffers too; what is given is what is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.errors import require
from fedlab_core.tree import Tree, flatten, norm


def coherence(states: Tree, start: Tree) -> Tensor:
    """Cosine of the angle between every two clients' updates: (clients, clients).

    Paper: FedLAW Sec. 5.1.
    """
    moves = F.normalize(flatten(states, True) - flatten(start), dim=1)
    return moves @ moves.T


def critical_round(values: Sequence[float] | Tensor) -> int | None:
    """Position of the first value below 0 that follows one of 0 or more, if any.

    Paper: FedLAW Sec. 5.1.
    """
    values = [float(v) for v in values]
    for t in range(1, len(values)):
        if values[t] < 0 <= values[t - 1]:
            return t
    return None


@dataclass(frozen=True)
class Balance:
    """How long a server's step is, and how long its shrinking."""

    step: float  # |gamma server_lr g|
    shrink: float  # |(1 - gamma) w|

    @property
    def ratio(self) -> float:
        """r = step / shrink; infinite where nothing is shrunk."""
        return self.step / self.shrink if self.shrink else float("inf")


def shrinking(
    states: Tree, start: Tree, weights: Tensor, gamma: float, server_lr: float = 1.0
) -> Balance:
    """Norms of the two pseudo-gradients of w - gamma server_lr g - (1 - gamma) w.

    g is the weighted sum of the clients' updates. Paper: FedLAW Eq. (4).
    """
    moves = flatten(start) - flatten(states, True)
    said = f"weights must be one number for each of {len(moves)} clients, not of shape "
    require(weights.shape == (len(moves),), f"{said}{tuple(weights.shape)}")
    step = torch.linalg.vector_norm(weights.to(moves) @ moves)
    return Balance(
        abs(gamma * server_lr) * float(step), abs(1 - gamma) * float(norm(start))
    )

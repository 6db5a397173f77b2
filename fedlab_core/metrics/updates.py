"""Whether clients pull the same way: the updates of one round, side by side.

The update of client i is g_i = w - w_i: where the round started, less where the client
ended. Trees may hold buffers too; all of their entries are measured.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.arguments import Axes, Measured, Stacked, checked
from fedlab_core.tree import Tree, check_shapes, clients_of, flatten, norm


@checked
def coherence(states: Stacked, start: Tree) -> Tensor:
    """Cosine of the angle between every two clients' updates: (clients, clients).

    Paper: FedLAW Sec. 5.1.
    """
    check_shapes(states, start, "states must be", clients_of(states))
    moves = F.normalize(flatten(states, True) - flatten(start), dim=1)
    return moves @ moves.T


@checked
@dataclass(frozen=True)
class Balance:
    """Length of a server's step, and of its shrinking."""

    step: Measured  # |gamma server_lr g|
    shrink: Measured  # |(1 - gamma) w|

    @property
    def ratio(self) -> float:
        """r = step / shrink; infinite where nothing is shrunk."""
        return self.step / self.shrink if self.shrink else float("inf")


@checked
def shrinking(
    states: Stacked,
    start: Tree,
    weights: Annotated[Tensor, Axes("clients")],
    gamma: float,
    server_lr: float = 1.0,
) -> Balance:
    """Norms of the two pseudo-gradients of w - gamma server_lr g - (1 - gamma) w.

    g is the weighted sum of the clients' updates. Paper: FedLAW Eq. (4).
    """
    check_shapes(states, start, "states must be", clients_of(states))
    moves = flatten(start) - flatten(states, True)
    step = torch.linalg.vector_norm(weights.to(moves) @ moves)
    return Balance(
        abs(gamma * server_lr) * float(step), abs(1 - gamma) * float(norm(start))
    )

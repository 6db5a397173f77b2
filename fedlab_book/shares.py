"""Clients' shares in a round: those that a server learned, or those by size."""

import numpy as np
from torch import Tensor

from fedlab_core.rounds.records import Round


def shares_of(now: Round) -> Tensor:
    """Everyone's share in a round: the learned one, or that by size."""
    return now.servers[0].memory.get("lambda", now.weights[0]).cpu()


def shares(now: Round) -> dict[str, np.ndarray]:
    """The same, to be seen in every round of a run."""
    return {"shares": shares_of(now).numpy()}

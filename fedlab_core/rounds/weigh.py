"""How much each member of a group counts, by what clients report: `Members`.

Weights that depend on the models themselves are a server's business: see `server`.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Members:
    """What the server knows of the clients whose models it is about to average."""

    counts: Tensor  # samples held per class
    ids: Tensor
    loss: Tensor  # mean training loss of the round
    steps: Tensor  # local steps taken

    @property
    def sizes(self) -> Tensor:
        """Samples held, m_k."""
        return self.counts.sum(1)

    @classmethod
    def holding(cls, counts: Tensor) -> "Members":
        """Clients with these counts, to ask a rule what it would do with them."""
        return cls(counts, torch.arange(len(counts)), *torch.zeros(2, len(counts)))


class Weigh(Protocol):
    """How much each member counts: weights of 0 or more that sum to one."""

    @property
    def name(self) -> str: ...
    @property
    def scalars(self) -> int: ...  # numbers a client reports once, besides its models

    def __call__(self, members: Members) -> Tensor: ...

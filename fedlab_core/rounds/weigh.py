"""How much each member of a group counts, by what clients report: `Members`.

Weights that depend on the models themselves are a server's business: see `server`.
"""

from dataclasses import dataclass
from typing import Annotated, Protocol

import torch
from torch import Tensor

from fedlab_core.arguments import Axes, Within, checked


@checked
@dataclass(frozen=True)
class Members:
    """The server's knowledge of the clients whose models it is about to average."""

    counts: Annotated[Tensor, Axes("members classes", "number", Within(0))]  # held
    ids: Annotated[Tensor, Axes("members", "whole", Within(0))]
    loss: Annotated[Tensor, Axes("members", "any")]  # mean training loss of the round
    steps: Annotated[Tensor, Axes("members", "any")]  # local steps taken

    @property
    def sizes(self) -> Tensor:
        """Samples held, m_k."""
        return self.counts.sum(1)

    @classmethod
    def holding(cls, counts: Tensor) -> "Members":
        """Clients with these counts, to ask a rule what it would do with them."""
        return cls(counts, torch.arange(len(counts)), *torch.zeros(2, len(counts)))


class Weigh(Protocol):
    """Weights of 0 or more that sum to one; `fits(counts)`, if there, may refuse."""

    @property
    def name(self) -> str: ...
    @property
    def scalars(self) -> int: ...  # numbers a client reports once, besides its models

    def __call__(self, members: Members) -> Tensor: ...

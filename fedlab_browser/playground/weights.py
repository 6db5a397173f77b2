"""Weights of the playground: those of the core, and two for a reader's hand."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.methods.combined import WEIGHS as CORE
from fedlab_core.rounds.weigh import Members


@dataclass(frozen=True)
class SizePower:
    """In proportion to a power of the sizes: 0 is equal, 1 is by size."""

    p: float = 0.5
    name: str = "power of size"
    scalars: int = 0

    def __call__(self, members: Members) -> Tensor:
        raised = members.sizes.double() ** self.p
        return raised / raised.sum()


@dataclass(frozen=True)
class LastShare:
    """A share that is laid down for the last member; the rest is shared by size."""

    share: float = 0.4
    name: str = "one by hand"
    scalars: int = 0

    def __call__(self, members: Members) -> Tensor:
        sizes = members.sizes.double()
        if len(sizes) == 1:
            return torch.ones_like(sizes)
        others = (1 - self.share) * sizes / sizes[:-1].sum()
        last = torch.arange(len(sizes)) == len(sizes) - 1
        return torch.where(last, self.share, others)


WEIGHS: dict[str, Callable] = {**CORE, "power": SizePower, "last": LastShare}

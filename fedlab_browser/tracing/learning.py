"""Servers that learn in every round, as something that can be run step by step.

A loop over mini-batches is no program; its beginning, one step and its end are. Which
servers can be taken apart that way is registered with `in_steps`, by their type.
"""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Protocol

from torch import Tensor

from fedlab_core.client import Batch
from fedlab_core.rounds import Gathered, ServerState
from fedlab_core.tree import Tree

Slope = Callable[[Tensor, Batch], Tensor]  # the network's, at a vector of parameters


class Learning(Protocol):
    """A server's learning: on what is `known` in a round, it changes what is `found`.

    A step is told what of it is known before any gradient, as `paces`.
    """

    @property
    def epochs(self) -> int:
        """Epochs on the server's samples, in every round."""
        ...

    @property
    def batch(self) -> int:
        """Samples of a mini-batch."""
        ...

    def begin(self, now: Gathered) -> tuple[Tree, Tree]:
        """Trees of what is known in a round, and of what is found, as it begins."""
        ...

    def paces(self, per_epoch: int) -> dict[str, list[float]]:
        """Numbers of each step, with so many steps an epoch."""
        ...

    def step(
        self,
        known: Tree,
        found: Tree,
        batch: Batch,
        paces: Mapping[str, Tensor],
        slope: Slope,
    ) -> Tree:
        """Tree of what is found after one more step."""
        ...

    def finish(
        self, now: Gathered, known: Tree, found: Tree, buffers: Tree
    ) -> tuple[ServerState, Tree]:
        """The server's next state, and what it has learned, to be shown."""
        ...


@singledispatch
def in_steps(step: Callable[[Gathered], ServerState]) -> Learning | None:
    """A server's step as `Learning`, if every round of it is a loop that is known."""
    return None

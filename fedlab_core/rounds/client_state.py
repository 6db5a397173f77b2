"""What clients keep from round to round, of those that have taken part and no more."""

from collections.abc import Callable

import torch

from fedlab_core.tree import Tree, copied, stack, take


class Memories:
    """One tree a client, on the device or waiting on the host."""

    def __init__(self, device: torch.device | str):
        self.device = device
        self.of: dict[int, Tree] = {}

    def recall(self, ids: list[int], first: Callable[[list[int]], Tree]) -> Tree:
        """Their memories with a client axis; `first` makes those of some newcomers.

        It is given the newcomers' places among the ids.
        """
        new = [place for place, k in enumerate(ids) if k not in self.of]
        fresh = first(new) if new else {}
        begun = {ids[place]: take(fresh, row) for row, place in enumerate(new)}
        return stack([self.of.get(k) or begun[k] for k in ids])

    def keep(self, ids: list[int], memory: Tree) -> None:
        """Put away each client's row."""
        away = {n: v.to(self.device) for n, v in memory.items()}
        for row, k in enumerate(ids):
            self.of[k] = copied(take(away, row))

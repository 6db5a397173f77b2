"""What clients keep from round to round, of those that have taken part and no more."""

from collections.abc import Callable

import torch

from fedlab_core.tree import Tree, copied, stack, take


class ClientStates:
    """One tree a client, on the device or waiting on the host."""

    def __init__(self, device: torch.device | str):
        self.device = device
        self.of: dict[int, Tree] = {}
        self.names: frozenset[str] | None = None  # of a whole state, once one is known

    def recall(self, ids: list[int], begin: Callable[[list[int]], Tree]) -> Tree:
        """Their states with a client axis; what somebody lacks begins anew.

        `begin` makes whole first states, of the ids in some places.
        """
        kept = [self.of.get(k, {}) for k in ids]
        whole = self.names
        lacking = [
            place
            for place, state in enumerate(kept)
            if whole is None or not whole <= state.keys()
        ]
        if lacking:
            fresh = begin(lacking)
            self.names = frozenset(fresh)
            for row, place in enumerate(lacking):
                kept[place] = take(fresh, row) | kept[place]
        return stack(kept)

    def keep(self, ids: list[int], states: Tree) -> None:
        """Put away each client's row."""
        away = {n: v.to(self.device) for n, v in states.items()}
        for row, k in enumerate(ids):
            self.of[k] = copied(take(away, row))

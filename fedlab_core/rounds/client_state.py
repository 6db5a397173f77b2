"""State kept from round to round, only for clients that have taken part."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from fedlab_core.tree import Tree, copied, stack, take


@dataclass(frozen=True)
class ClientStates:
    """One tree a client, and the names of a whole one."""

    of: dict[int, Tree] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def recall(self, ids: list[int], begin: Callable[[list[int]], Tree]) -> Tree:
        """Their states with a client axis; what somebody lacks begins anew.

        `begin` makes whole first states, of the ids in some places.
        """
        kept, whole = [self.of.get(k, {}) for k in ids], set(self.names)
        lacking = [
            place
            for place, k in enumerate(ids)
            if k not in self.of or not whole <= kept[place].keys()
        ]
        if lacking:
            fresh = begin(lacking)
            for row, place in enumerate(lacking):
                kept[place] = take(fresh, row) | kept[place]
        return stack(kept)

    def keep(
        self, ids: list[int], states: Tree, whole: Tree, device: torch.device | str
    ) -> "ClientStates":
        """The same with each client's row put away; `whole` has a state's names."""
        away = {n: v.to(device) for n, v in states.items()}
        rows = {k: copied(take(away, row)) for row, k in enumerate(ids)}
        return ClientStates(self.of | rows, tuple(whole))

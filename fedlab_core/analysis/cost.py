"""What is sent: bytes a round and client, each way, as 32-bit numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fedlab_core.errors import require
from fedlab_core.tree import Tree, count


def state_bytes(state: Tree) -> int:
    """Bytes to send one state as 32-bit numbers."""
    return 4 * count(state)


@dataclass(frozen=True)
class Traffic:
    """Bytes that one client receives and sends in one round."""

    down: int
    up: int

    def __post_init__(self) -> None:
        require(
            min(self.down, self.up) >= 0,
            f"bytes must be 0 or more, not {self.down} down and {self.up} up",
        )

    @property
    def total(self) -> int:
        """Both ways together."""
        return self.down + self.up


def traffic(down: Sequence[Tree], up: Sequence[Tree]) -> Traffic:
    """Bytes of all the trees sent to one client, and of all those it sends back."""
    return Traffic(sum(map(state_bytes, down)), sum(map(state_bytes, up)))


def cost_table(
    methods: Mapping[str, Traffic], clients: int, rounds: int = 1
) -> pd.DataFrame:
    """One row a method: bytes a client and round, and of all clients and rounds.

    `clients` is how many take part in a round; "relative" compares with the first row.
    """
    require(len(methods) > 0, "methods is empty: name one or more")
    require(clients >= 1, f"clients must be 1 or more, not {clients}")
    require(rounds >= 1, f"rounds must be 1 or more, not {rounds}")
    rows = {
        name: {
            "down": sent.down,
            "up": sent.up,
            "round": clients * sent.total,
            "total": rounds * clients * sent.total,
        }
        for name, sent in methods.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return table.assign(relative=table["total"] / table["total"].iloc[0])

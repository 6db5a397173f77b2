"""Groups of clients that are averaged together: the fourth choice of a method.

A client is in one group at a time: soft clusters, in which it counts for several, do
not fit in here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from fedlab_core.arguments import Count, checked
from fedlab_core.errors import require
from fedlab_core.rounds.identity import digest
from fedlab_core.rounds.server import ServerState, ServerView
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree

GroupOf = list[int]  # the group of every client
Losses = Callable[[], Tensor]  # (participants, groups): each group's model on each


@checked
@dataclass(frozen=True)
class Regrouping:
    """Facts for moving clients between groups after a round's training."""

    group_of: GroupOf
    ids: list[int]  # the clients that took part
    before: list[ServerState]  # of every group
    models: Tree  # the trained models of `ids`, with a client axis
    sizes: Tensor  # samples that every client holds
    view: ServerView
    key: tuple[int, int]  # seed, round


@checked
@dataclass(frozen=True, eq=False)
class Groups:
    """A group for every client, which may change: its members are averaged together.

    `begin` gives the first groups. `pick` moves participants before they train, from
    the losses of all groups' models on their data. `regroup` moves clients after
    training and says from which earlier group each group goes on. With `models`, that
    many groups begin from models of their own. `fits` refuses a number of clients, or
    of participants a round, that it cannot group. Two that are made alike are equal.
    """

    name: str
    begin: Callable[[World, int], GroupOf]
    pick: Callable[[GroupOf, list[int], Losses], GroupOf] | None = None
    regroup: Callable[[Regrouping], tuple[GroupOf, list[int]]] | None = None
    models: Count | None = None
    fits: Callable[[int, int], None] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and digest(self) == digest(other)

    def __hash__(self) -> int:
        return hash(self.name)

    @classmethod
    def fixed(
        cls, coalitions: Sequence[Sequence[int]], name: str = "fixed"
    ) -> "Groups":
        """These coalitions, each a list of client ids, from beginning to end."""
        group_of = {k: g for g, members in enumerate(coalitions) for k in members}

        def begin(world: World, seed: int) -> GroupOf:
            everyone_once = sorted(k for members in coalitions for k in members)
            require(
                everyone_once == list(range(len(world))),
                f"groups={name}: every client from 0 to {len(world) - 1} must be in "
                "exactly one coalition",
            )
            return [group_of[k] for k in range(len(world))]

        return cls(name, begin)


def all_in_one(world: World, seed: int) -> GroupOf:
    """Everyone in group 0."""
    return [0] * len(world)


def each_alone(world: World, seed: int) -> GroupOf:
    """Everyone in a group of its own."""
    return list(range(len(world)))


everyone = Groups("everyone", all_in_one)
nobody = Groups("nobody", each_alone)

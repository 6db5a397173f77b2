"""A federated method as five choices.

- `local`: what does a client minimise, and how does it step? (`local.Local`)
- `weigh`: how much does each member count? (`Weigh`)
- `server`: what becomes of the weighted models? (`Server`)
- `groups`: who is averaged with whom? (`Groups`)
- `personal`: what does a client keep for itself? (`Personal`)

`Method` is a frozen record of the five, so a method is varied with `replace`:
`replace(fl.scaffold(), weigh=fl.Disco())` is SCAFFOLD with FedDisco's weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from fedlab_core.client.local import Local
from fedlab_core.errors import require
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree

# What every client can be told: its share of all samples, how many clients there are,
# the round, and the sum of the learning rates of the steps before it.
COMMON = ("share", "clients", "round", "lr_sum")


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
        none = torch.zeros(len(counts))
        return cls(counts, torch.arange(len(counts)), none, none)


class Weigh(Protocol):
    """How much each member counts: weights of 0 or more that sum to one."""

    @property
    def name(self) -> str: ...

    @property
    def scalars(self) -> int:
        """How many numbers a client reports once, besides its models."""
        ...

    def __call__(self, members: Members) -> Tensor: ...


@dataclass(frozen=True)
class ServerState:
    """What a server goes on with: a group's model, and what else it needs."""

    model: Tree  # the model that is judged
    memory: Tree = field(default_factory=dict)  # what the server remembers
    broadcast: Tree = field(default_factory=dict)  # what it sends besides the start
    start: Tree | None = None  # what clients begin from, if not the model
    metrics: dict[str, float] = field(default_factory=dict)  # numbers for the history

    @property
    def begin(self) -> Tree:
        """What clients begin the next round from."""
        return self.model if self.start is None else self.start


@dataclass(frozen=True)
class Gathered:
    """What a server has in hand when a group's round is over."""

    before: ServerState
    models: Tree  # the members', with a client axis
    weights: Tensor
    members: Members
    uploads: Tree  # what members send besides their models, with a client axis
    clients: int  # members of the group, present or not
    world: World
    key: tuple[int, int, int]  # seed, round, group: for what a server draws

    def moves(self) -> Tree:
        """How far each member has gone from where it began, with a client axis."""
        begin = self.before.begin
        return {n: w - begin[n] for n, w in self.models.items()}


class Server(Protocol):
    """What the server makes of the members' models."""

    @property
    def name(self) -> str: ...

    @property
    def tells(self) -> tuple[str, ...]:
        """What it sends besides models, by the first part of the names."""
        ...

    @property
    def hears(self) -> tuple[str, ...]:
        """What members must send besides models, by the first part of the names."""
        ...

    def begin(self, model: Tree, world: World, clients: int) -> ServerState:
        """Before the first round."""
        ...

    def __call__(self, now: Gathered) -> ServerState: ...


@dataclass(frozen=True)
class Regrouping:
    """What may change who belongs to which group, after a round's training."""

    group_of: list[int]  # the group of every client
    ids: list[int]  # the clients that took part
    before: list[ServerState]  # of every group
    models: Tree  # the trained models of `ids`, with a client axis
    world: World
    key: tuple[int, int]  # seed, round


GroupOf = list[int]
Losses = Callable[[], Tensor]  # (participants, groups): each group's model on each


@dataclass(frozen=True)
class Groups:
    """Who is averaged with whom: a home for every client, which may change.

    `begin` gives the first groups. `pick` moves participants before they train, from
    the losses of all groups' models on their data. `regroup` moves clients after
    training and says from which earlier group each group goes on. With `models`, that
    many groups begin from models of their own.
    """

    name: str
    begin: Callable[[World, int], GroupOf]
    pick: Callable[[GroupOf, list[int], Losses], GroupOf] | None = None
    regroup: Callable[[Regrouping], tuple[GroupOf, list[int]]] | None = None
    models: int | None = None

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


everyone = Groups("everyone", lambda world, seed: [0] * len(world))
nobody = Groups("nobody", lambda world, seed: list(range(len(world))))


@dataclass(frozen=True)
class Personal:
    """What a client keeps for itself, and is judged by.

    `adapt` trains a copy of the group's model before it is judged; `beside` trains a
    model of the client's own in every round, from where it was, and is sent the
    group's model as "round.NAME"; `kept` names a model in the client's memory.
    """

    name: str
    adapt: Local | None = None
    own_model: Local | None = None
    kept: str | None = None


nothing = Personal("nothing")


@dataclass(frozen=True)
class Method:
    """The choices, and a name. A combination without sense is refused when built."""

    name: str
    local: Local
    weigh: Weigh
    server: Server
    groups: Groups = everyone
    personal: Personal = nothing

    def __post_init__(self) -> None:
        alone = self.groups is nobody and self.weigh.scalars > 0
        require(
            not alone,
            f"{self.name}: weigh={self.weigh.name} compares the members of a group, "
            "but groups=nobody leaves every client alone: use groups=everyone",
        )
        unheard = set(self.local.listens) - {*self.server.tells, *COMMON}
        require(
            not unheard,
            f"{self.name}: its local rule listens for {', '.join(sorted(unheard))}, "
            f"which server={self.server.name} does not send: choose both together",
        )
        lost = set(self.server.hears) - set(self.local.uploads)
        require(
            not lost,
            f"{self.name}: server={self.server.name} waits for "
            f"{', '.join(sorted(lost))}, which the local rule does not send: "
            "choose both together",
        )

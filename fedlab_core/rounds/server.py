"""The server, which makes a new model of the weighted ones: a method's third choice.

A server sees the members' models and uploads, and of the rest of the world a
`ServerView`: never a client's data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Measured, checked
from fedlab_core.errors import InputError
from fedlab_core.models.network import Network
from fedlab_core.rounds.weigh import Members
from fedlab_core.tree import Tree


@checked
@dataclass(frozen=True, eq=False)
class ServerView:
    """A server's knowledge besides what clients send."""

    model: nn.Module  # the network, to try models out
    parameters: tuple[str, ...]  # names of what is trained; the rest are statistics
    blank: Tensor  # a sample without anything in it
    classes: tuple[str, ...]
    proxy: tuple[Tensor, Tensor] | None = None  # samples and labels of its own

    @property
    def like(self) -> Tensor:
        """A parameter: what the server's own numbers are made like."""
        return next(self.model.parameters())

    @cached_property
    def features(self) -> int:
        """How many numbers the network makes of a sample before its head."""
        state = self.model.state_dict()
        with torch.no_grad():
            found = Network(self.model).features(state, self.blank)
        return found.flatten(1).shape[1]

    def proxy_set(self, whose: str) -> tuple[Tensor, Tensor]:
        """The server's own data; a method without it is told how to get some."""
        if self.proxy is None:
            raise InputError(
                f"{whose} learns on data of the server: make the world with proxy=..., "
                "such as fl.world(..., proxy=fl.Proxy(per_class=10)), or --proxy 10"
            )
        return self.proxy


@checked
@dataclass(frozen=True)
class ServerState:
    """The state a server goes on with: a group's model, and whatever else it needs."""

    model: Tree  # the model that is judged
    memory: Tree = field(default_factory=dict)  # what the server remembers
    broadcast: Tree = field(default_factory=dict)  # what it sends besides the start
    start: Tree | None = None  # what clients begin from, if not the model
    metrics: Mapping[str, Measured | Tensor] = field(
        default_factory=dict
    )  # one number each

    @property
    def begin(self) -> Tree:
        """The model that clients begin the next round from."""
        return self.model if self.start is None else self.start


@checked
@dataclass(frozen=True)
class Gathered:
    """Everything a server has in hand when a group's round is over."""

    before: ServerState
    models: Tree  # the members', with a client axis
    weights: Tensor
    members: Members
    uploads: Tree  # what members send besides their models, with a client axis
    clients: int  # members of the group, present or not
    view: ServerView
    key: tuple[int, int, int]  # seed, round, group: for what a server draws

    def moves(self) -> Tree:
        """How far each member has gone from where it began, with a client axis."""
        begin = self.before.begin
        return {n: w - begin[n] for n, w in self.models.items()}


def from_the_model(model: Tree, view: ServerView) -> ServerState:
    """A server that begins with nothing but the first model."""
    return ServerState(model)


@checked
@dataclass(frozen=True)
class Server:
    """A server: it makes a new model of the members' models.

    `step` turns what was gathered into the next state; `begin` makes the first one, of
    a group's first model.
    """

    name: str
    step: Callable[[Gathered], ServerState]
    begin: Callable[[Tree, ServerView], ServerState] = from_the_model
    sends: tuple[str, ...] = ()  # besides models, by the first part of the names
    needs: tuple[str, ...] = ()  # what members must send besides models, likewise

"""A run that is asked for, what is seen of each round, and what comes of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from torch import Tensor

from fedlab_core.arguments import Count, Seed, checked
from fedlab_core.client.rule import ClientInput, Rule
from fedlab_core.client.training import Training
from fedlab_core.engine import Client, Trained
from fedlab_core.errors import require
from fedlab_core.metrics import Scores
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.method import Method
from fedlab_core.rounds.server import ServerState
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, check_shapes, stack

if TYPE_CHECKING:
    from pandas import DataFrame

# what a row of a history comes to have, besides what was counted in its round
OWN = ("accuracy", "loss", "method", "seed")
Keep = Literal["device", "host"]  # where clients' states wait for their next turn


@checked
@dataclass
class History:
    """One row a round; `accuracy` says which of the usual three numbers it reports."""

    method: str
    seed: Seed
    rows: list[dict] = field(default_factory=list)
    states: Tree = field(default_factory=dict)  # the final model of every group
    group_of: list[int] = field(default_factory=list)  # the group of every client
    clients: np.ndarray | None = None  # accuracy of each on its own test, at the end
    diverged_at: int | None = None  # the round that left numbers that are not finite

    @property
    def diverged(self) -> bool:
        """Whether the run ended before its time, in NaN or infinity."""
        return self.diverged_at is not None

    @property
    def frame(self) -> "DataFrame":
        """The rows as a table, with the method and the seed."""
        from pandas import DataFrame  # slow to load

        return DataFrame(self.rows).assign(method=self.method, seed=self.seed)

    @checked
    def accuracy(
        self, which: Literal["last", "best", "mean"] = "last", k: Count = 5
    ) -> float:
        """Test accuracy: "last" round, "best" round, or "mean" of the last k.

        It is NaN if the run diverged; how far it came is in `rows`.
        """
        curve = [row["accuracy"] for row in self.rows if "accuracy" in row]
        require(bool(curve), "this history has no round yet")
        if self.diverged:
            return math.nan
        if which == "best":
            return max(curve)
        return curve[-1] if which == "last" else float(np.mean(curve[-k:]))


@checked
@dataclass(frozen=True, eq=False)
class Run:
    """One simulation to be played: a method in a world, for some rounds, from a seed.

    `participants` clients are drawn each round (all by default) from the seed alone, so
    that every method meets the same ones; nobody without a sample is. `observe` adds
    columns to the history, of names that a round does not have itself: it is called
    each round with a `Round`. One that remembers something has it in a dict `memory`,
    which a checkpoint keeps.
    """

    world: World
    method: Method
    rounds: Count
    seed: Seed = 0
    participants: Count | None = None
    observe: Callable[["Round"], dict] | None = None
    start: Tree | None = None
    keep: Keep = "device"
    judge_every: Count = 1  # rounds between tests; the last is always judged

    def __post_init__(self) -> None:
        w, asked = self.world, self.participants
        clients, most = len(w), len(w.holders)
        fits = asked is None or asked <= most
        require(fits, f"participants must be 1 to {most}, not {asked}")
        if self.start is not None:
            check_shapes(self.start, w.model.state_dict(), "start must be")
        if self.method.groups.fits:
            self.method.groups.fits(clients, asked or clients)
        if fits := getattr(self.method.weigh, "fits", None):
            fits(w.counts)


@checked
@dataclass(frozen=True)
class Round:
    """One round, as an observer sees it."""

    world: World
    number: int
    ids: list[int]
    before: Tree  # models of all groups at the round's start
    trained: Trained
    weights: list[Tensor]  # one tensor a group
    after: Tree
    group_of: list[int]  # the group of every client
    scores: Scores | None  # of the groups' models on the whole test set
    kept: Tree  # what the participants keep, with a client axis
    uploads: Tree  # what they sent besides models, with a client axis
    servers: list[ServerState]  # what they go on with
    personal: Tree | None = None  # clients' own models that were judged, if there are
    row: dict = field(default_factory=dict)  # what the history has of the round so far


@dataclass
class RunState:
    """The state of a run between rounds: all that the next round needs.

    All else is made anew from the run, so that this is what a checkpoint writes. A
    round makes a new one and leaves the old as it is.
    """

    servers: list[ServerState]  # of every group
    group_of: list[int]  # the group of every client
    bytes: int  # that were sent
    kept: ClientStates = field(default_factory=ClientStates)
    own_models: ClientStates = field(default_factory=ClientStates)
    reports: dict[int, Tree] = field(default_factory=dict)  # of clients that trained
    rows: list[dict] = field(default_factory=list)  # the history, one row a round
    clients: Tensor | None = None  # accuracy of each on its own test
    diverged_at: int | None = None
    memory: dict = field(default_factory=dict)  # what the observer remembers

    @property
    def models(self) -> Tree:
        """The groups' models, with a group axis."""
        return stack([server.model for server in self.servers])


def draw_participants(
    clients: int, take_part: int | None, seed: int, t: int
) -> list[int]:
    """The ids that take part in round t, in ascending order."""
    if take_part is None or take_part == clients:
        return list(range(clients))
    rng = np.random.default_rng([seed, t, 0x5E1EC7])
    return sorted(int(k) for k in rng.choice(clients, take_part, replace=False))


@dataclass(frozen=True)
class TrainRequest:
    """A run's order for training: the clients, their input, and how to train."""

    cohort: list[Client]
    given: ClientInput
    training: Training
    rule: Rule
    counts: bool = True  # whether it is a round of its own

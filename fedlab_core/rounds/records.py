"""A run that is asked for, what is seen of each round, and where it stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

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
from fedlab_core.rounds.validate_hooks import without_classes
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, check_shapes, stack

Keep = Literal["device", "host"]  # where clients' states wait for their next turn
# A round's clients: of its number, from 1, all clients' samples, and the run's seed.
Presence = Callable[[int, list[int], int], Sequence[int]]


@checked
@dataclass(frozen=True, eq=False)
class Run:
    """One simulation to be played: a method in a world, for some rounds, from a seed.

    `participants` clients are drawn each round (all by default) from the seed alone, so
    that every method meets the same ones; nobody without a sample is. A function may
    give them, as `DrawBySize` does: of the round, from 1, how many samples each client
    has, and the seed. A round of nobody changes nothing. `observe` adds columns to the
    history, of names that a round does not have itself: it is called each round with a
    `Round`. One that remembers something has it in a dict `memory`, which a checkpoint
    keeps. `stop` sees the rows after each test, and may end the run.
    """

    world: World
    method: Method
    rounds: Count
    seed: Seed = 0
    participants: Count | Presence | None = None
    observe: Callable[["Round"], dict] | None = None
    start: Tree | None = None
    keep: Keep = "device"
    judge_every: Count = 1  # rounds between tests; the last is always judged
    stop: Callable[[list[dict]], bool] | None = None  # as `Patience`

    def __post_init__(self) -> None:
        w, asked = self.world, self.participants
        clients, most = len(w), len(w.holders)
        if callable(asked):  # what it has as `fits` says how many it gives at least
            asked = getattr(asked, "fits", lambda _: 0)(w.partition.sizes.tolist())
        else:
            asked = asked or clients
            fits = self.participants is None or asked <= most
            require(fits, f"participants must be 1 to {most}, not {asked}")
        if self.start is not None:
            check_shapes(self.start, w.model.state_dict(), "start must be")
        if self.method.groups.fits:
            self.method.groups.fits(clients, asked)
        if fits := getattr(self.method.weigh, "fits", None):
            fits(w.counts)
        if w.loss:
            without_classes(self.method)


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
    stayed: tuple[str, ...] = ()  # what of a model each client keeps, and never sends


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

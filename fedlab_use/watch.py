"""Observers joined, numbers of each client, and when to stop."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pandas import DataFrame, concat

from fedlab_core.arguments import Count, NotNegative, checked
from fedlab_core.errors import require
from fedlab_core.rounds.history import History
from fedlab_core.rounds.records import Round
from fedlab_core.rounds.worlds import World

Observer = Callable[[Round], dict]


@checked
def together(observers: Sequence[Observer]) -> Observer:
    """Several observers as one: each sees the round, and what those before it said.

    The columns of all go into the history; a checkpoint keeps the memory of each.
    """
    return _Together(observers)


class _Together:
    """Observers in a row, and the memories of those that have one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = observers
        had = (getattr(one, "memory", {}) for one in observers)
        self.memory: dict = {str(i): memory for i, memory in enumerate(had)}

    def __call__(self, now: Round) -> dict:
        said: dict = {}
        for i, one in enumerate(self.observers):
            own, kept = getattr(one, "memory", None), self.memory[str(i)]
            if own is not None and own is not kept:  # a checkpoint was loaded
                own.clear()
                own.update(kept)
                self.memory[str(i)] = own
            new = one(now)
            good = isinstance(new, dict)
            require(good, f"an observer must give a dict, not {type(new).__name__}")
            twice = ", ".join(sorted(new.keys() & said.keys()))
            require(not twice, f"two observers give {twice}")
            said |= new
            now.row.update(new)
        return said


@checked
@dataclass(frozen=True)
class Patience:
    """The rule of stopping early, for `Run.stop`: so many tests without a better one.

    Better is more than `least` above the best so far. The history ends with the round
    in which it says so, and has everything until then.
    """

    tests: Count
    least: NotNegative = 0.0
    column: str = "accuracy"
    lower: bool = False  # whether less is better, as of a loss

    def __call__(self, rows: list[dict]) -> bool:
        curve = [row[self.column] for row in rows if self.column in row]
        known = ", ".join(dict.fromkeys(name for row in rows for name in row))
        require(bool(curve), f"stop: no column {self.column!r} in {known}")
        best, since = -math.inf, 0
        for value in curve:
            value = -value if self.lower else value
            better = value > best + self.least
            best, since = (value, 0) if better else (best, since + 1)
        return since >= self.tests


@checked
class EachClient:
    """An observer of every participant in every round; `frame` has the table.

    Columns: round, client, group, samples, weight (in its group's model), steps,
    train_loss.
    """

    def __init__(self) -> None:
        self.memory: dict = {"rows": []}

    def __call__(self, now: Round) -> dict:
        sizes, losses = now.world.counts.sum(1).tolist(), now.trained.loss.tolist()
        steps = now.trained.steps.tolist()
        taken = [0] * len(now.weights)
        for place, k in enumerate(now.ids):
            g = now.group_of[k]
            row = [now.number, k, g, sizes[k], float(now.weights[g][taken[g]])]
            taken[g] += 1
            self.memory["rows"] = [
                *self.memory["rows"],
                [*row, steps[place], losses[place]],
            ]
        return {}

    @property
    def frame(self) -> DataFrame:
        """A row for each participant of each round."""
        return DataFrame(self.memory["rows"], columns=list(EACH))


EACH = ("round", "client", "group", "samples", "weight", "steps", "train_loss")


@checked
def curves(histories: Sequence[History]) -> DataFrame:
    """The rounds of several histories as one table: the `frame` of each."""
    require(len(histories) > 0, "curves: there is no history")
    return concat([h.frame for h in histories], ignore_index=True)


@checked
def by_client(history: History, world: World) -> DataFrame:
    """A row for each client at a run's end: client, group, samples, accuracy.

    The last is called after the world's metric, if that is another. It is of the model
    by which the client is judged, on its own test if it has one, and missing (NaN)
    where no client is judged by itself.
    """
    fits = len(history.group_of) == len(world)
    require(fits, f"the history has {len(history.group_of)} clients, not {len(world)}")
    own = history.clients
    accuracy = [math.nan] * len(world) if own is None else own.tolist()
    samples = world.partition.sizes.tolist()
    named = {"group": history.group_of, "samples": samples, history.metric: accuracy}
    return DataFrame({"client": range(len(world)), **named})

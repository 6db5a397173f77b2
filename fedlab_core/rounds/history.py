"""The history of a run: its rounds, and the models that it ended with."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedlab_core.arguments import Count, Seed, Whole, checked
from fedlab_core.errors import require
from fedlab_core.rounds.extensions import brought
from fedlab_core.tree import Tree

if TYPE_CHECKING:
    from pandas import DataFrame

# what a row of a history comes to have, besides what was counted in its round
OWN = ("accuracy", "loss", "method", "seed")


@checked
@dataclass
class History:
    """One row a round; `accuracy` says which of the usual three numbers it reports.

    Printed, it is five lines. Its models have a group axis in `states`, and none in
    `model()`, which a network's `load_state_dict` takes.
    """

    method: str
    seed: Seed
    rows: list[dict] = field(default_factory=list)
    states: Tree = field(default_factory=dict)  # the final model of every group
    group_of: list[int] = field(default_factory=list)  # the group of every client
    clients: np.ndarray | None = None  # the metric of each on its own test, at the end
    diverged_at: int | None = None  # the round that left numbers that are not finite
    metric: str = "accuracy"  # the column by which its world judges models
    stayed: tuple[str, ...] = ()  # what each client kept instead, untrained in `states`

    def __repr__(self) -> str:
        first, last = ([{}, *self.rows][k] for k in (min(1, len(self.rows)), -1))
        judged = any(self.metric in row for row in self.rows)
        three = ("last", "best", "mean") if judged else ()
        scores = ", ".join(f"{which} {self.score(which):.4f}" for which in three)
        worst = None if self.clients is None else self._worst(self.clients)
        own = "" if worst is None else f", worst {worst:.4f}"
        losses = (row.get("train_loss", math.nan) for row in (first, last))
        begun, ended = (f"{loss:.4f}" for loss in losses)
        groups, clients = len(next(iter(self.states.values()), ())), len(self.group_of)
        numbers = sum(v[0].numel() for v in self.states.values())
        early = f", diverged in round {self.diverged_at}" if self.diverged else ""
        return "\n".join((
            f"{self.method}, seed {self.seed}: {len(self.rows)} rounds{early}",
            f"test {self.metric}: {scores or 'not judged yet'}{own}",
            f"train loss: {begun} to {ended}; {last.get('bytes', 0) / 1e6:.1f} MB sent",
            f"models: {groups} of {numbers:,} numbers, for {clients} clients",
            f"columns: {', '.join(last)}",
        ))  # fmt: skip

    def _worst(self, values: np.ndarray) -> float:
        there = values if np.isnan(values).all() else values[~np.isnan(values)]
        return float(there.max() if self.metric == "loss" else there.min())

    @property
    def diverged(self) -> bool:
        """Whether the run ended before its time, in NaN or infinity."""
        return self.diverged_at is not None

    @property
    def frame(self) -> "DataFrame":
        """The rows as a table, with the method and the seed.

        Columns: round, train_loss, participants, steps, bytes (sent so far), and where
        the round was judged accuracy and loss; worst and spread over clients, if each
        has its own test or model; the server's and the observer's own; method, seed.
        """
        from pandas import DataFrame  # slow to load

        return DataFrame(self.rows).assign(method=self.method, seed=self.seed)

    @checked
    def accuracy(
        self, which: Literal["last", "best", "mean"] = "last", k: Count = 5
    ) -> float:
        """Test accuracy: "last" round, "best" round, or "mean" of the last k.

        It is NaN if the run diverged; how far it came is in `rows`.
        """
        said = f"this history's world is judged by {self.metric}: ask for score()"
        require(self.metric == "accuracy", said)
        return self.score(which, k)

    @checked
    def score(
        self, which: Literal["last", "best", "mean"] = "last", k: Count = 5
    ) -> float:
        """The metric of its world, as `accuracy`: of a loss the "best" is the least."""
        curve = [row[self.metric] for row in self.rows if self.metric in row]
        require(bool(curve), "this history has no round yet")
        if self.diverged:
            return math.nan
        if which == "best":
            return min(curve) if self.metric == "loss" else max(curve)
        return curve[-1] if which == "last" else float(np.mean(curve[-k:]))

    @checked
    def model(self, group: Whole | None = None, client: Whole | None = None) -> Tree:
        """The final model of the only group, of a group, or of a client's group.

        It is a state without a group axis: `net.load_state_dict(history.model())`.
        Of a method whose parts stay at clients there is none but theirs: `OwnModels`.
        """
        text = (
            f"{self.method} trains no shared {', '.join(self.stayed[:1])}: each client"
        )
        said = f"{text}'s model is kept by observe=own, own = fl.OwnModels()"
        require(not self.stayed, said)
        groups = len(next(iter(self.states.values()), ()))
        if client is not None:
            last = len(self.group_of) - 1
            require(client <= last, f"client must be 0 to {last}, not {client}")
            group = self.group_of[client]
        chosen = 0 if group is None and groups == 1 else group
        said = f"this history has {groups} groups: say model(group) or model(client=k)"
        require(chosen is not None and chosen < groups, said)
        return {n: v[chosen].clone() for n, v in self.states.items()}

    def plot(self, *others: "History", column: str | None = None) -> Any:
        """A picture of a column by round, its metric's unless another is named.

        Other histories stand in it, too, and beside it the clients' accuracies where
        each has a test of its own.
        """
        return brought("plot")([self, *others], column or self.metric)

"""Clients that take part in a round, by other rules than an even draw.

Each is given as `participants`: `fl.federate(world, method, participants=fl.UpAndDown(
0.2, 0.5))`. A rule is told the round, from 1, how many samples each client has, and the
run's seed, and draws from these alone: every method meets the same clients, and a run
that goes on from a checkpoint meets those that it would have met. A function of one's
own may stand in its place, `def mine(number, sizes, seed): return [0, 3]`. Clients
without a sample never take part.

A method's server is told of the clients that are there, and their number. What is
assumed of the others is each method's own: SCAFFOLD's c is the mean of all clients'
c_i, those of absent ones as they were last; FedDyn's h is the sum of all moves so far.
Both take it that everybody comes from time to time. Where somebody never does, or
seldom, the model is that of the clients who come.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fedlab_core.arguments import Count, Fraction, NotNegative, Within, checked
from fedlab_core.errors import require
from fedlab_core.rounds.records import Presence, draw_participants

Chance = Annotated[float, Within(0, 1, above=True)]
_DRAW, _UP, _DROP = 0x51CED, 0x0BADD, 0xD50BB  # what a generator's seed is for


@checked
@dataclass(frozen=True)
class DrawBySize:
    """So many clients a round, those with more samples more often.

    One after another is drawn from those that are left, in proportion to their samples.
    FedAvg weighs by samples, too, which counts them twice: with `weigh=fl.Equal()` the
    mean of the models is nearly that of everybody's weighed by samples, the nearer the
    fewer are drawn of many. SCAFFOLD and FedDyn weigh clients equally, so that large
    ones come to count more than in their papers.
    """

    clients: Count

    def __call__(self, number: int, sizes: list[int], seed: int) -> list[int]:
        return _drawn(sizes, self.clients, number, seed)

    def fits(self, sizes: list[int]) -> int:
        """The number of clients that it gives; refused if there are not as many."""
        return _enough(self.clients, sizes, "DrawBySize: clients")


@checked
@dataclass(frozen=True)
class DrawByChance:
    """So many clients a round, drawn in proportion to given chances, one a client.

    One after another is drawn from those that are left. A client with chance 0 never
    takes part. Nothing undoes the draw afterwards: FedAvg's model leans towards those
    that are drawn often, and so do SCAFFOLD's and FedDyn's, whose memories of the
    others grow old.
    """

    clients: Count
    chances: tuple[NotNegative, ...]

    def __call__(self, number: int, sizes: list[int], seed: int) -> list[int]:
        return _drawn(self._parts(sizes), self.clients, number, seed)

    def fits(self, sizes: list[int]) -> int:
        """The number of clients that it gives; refused if there are not as many."""
        given, many = len(self.chances), len(sizes)
        text = f"DrawByChance: chances must be {many}, one a client, not {given}"
        require(given == many, text)
        parts = self._parts(sizes)
        can = [part / sum(parts) for part in parts if part]  # none that vanishes
        return _enough(self.clients, can, "DrawByChance: clients")

    def _parts(self, sizes: list[int]) -> list[float]:
        held = zip(self.chances, sizes, strict=True)
        return [chance if size else 0.0 for chance, size in held]


@checked
@dataclass(frozen=True)
class UpAndDown:
    """Clients that are up, each by itself: who is up goes down by the chance `falls`.

    Who is down comes up again by the chance `rises`, from one round to the next. In the
    long run, and in the first round, a client is up with chance rises / (rises +
    falls). With `most`, that many of those that are up are drawn evenly. A round in
    which nobody is up changes nothing. A client that is away is away for 1 / rises
    rounds on average: SCAFFOLD's c_i and FedDyn's h_i of such a one are as old. All are
    up equally often, so that FedAvg is as unbiased as with an even draw, but a round's
    clients are much the same as the last one's.
    """

    falls: Fraction
    rises: Chance
    most: Count | None = None

    def __call__(self, number: int, sizes: list[int], seed: int) -> list[int]:
        draws = np.random.default_rng([seed, _UP]).random((number, len(sizes)))
        up = draws[0] < self.rises / (self.rises + self.falls)
        for u in draws[1:]:  # from the first round on, so that nothing is to be kept
            up = np.where(up, u >= self.falls, u < self.rises)
        there = [k for k, size in enumerate(sizes) if size and up[k]]
        if self.most is None or len(there) <= self.most:
            return there
        return _drawn(
            [k in {*there} for k in range(len(sizes))], self.most, number, seed
        )

    def fits(self, sizes: list[int]) -> int:
        """0: the least that may be up."""
        return 0


@checked
@dataclass(frozen=True)
class DropOut:
    """Clients that begin a round, of which each drops out by a chance.

    Their work is lost: they count as not having taken part, in the model, in what they
    keep and in what is sent. `of` says who begins: so many, drawn evenly, all by
    default, or those of another rule. A round that all drop out of changes nothing.
    Everybody drops out equally often, so that over the rounds nobody counts for less:
    FedAvg's mean is of fewer, and SCAFFOLD's c moves by the share of those left.
    """

    chance: Fraction
    of: Count | Presence | None = None

    def __call__(self, number: int, sizes: list[int], seed: int) -> list[int]:
        if callable(self.of):
            begin = self.of(number, sizes, seed)
        else:
            held = [k for k, size in enumerate(sizes) if size]
            drawn = draw_participants(len(held), self.of, seed, number - 1)
            begin = [held[k] for k in drawn]
        lost = np.random.default_rng([seed, number, _DROP]).random(len(sizes))
        return [k for k in begin if lost[k] >= self.chance]

    def fits(self, sizes: list[int]) -> int:
        """The least that may be left; refused if not as many clients can begin."""
        if callable(self.of):
            fits: Callable[[list[int]], int] = getattr(self.of, "fits", lambda _: 0)
            least = fits(sizes)
        else:
            most = sum(size > 0 for size in sizes)
            least = _enough(self.of or most, sizes, "DropOut: of")
        return 0 if self.chance else least


def _enough(asked: int, sizes: Sequence[float], name: str) -> int:
    most = sum(size > 0 for size in sizes)
    require(asked <= most, f"{name} must be 1 to {most}, not {asked}")
    return asked


def _drawn(parts: Sequence[float], most: int, number: int, seed: int) -> list[int]:
    """So many different clients, each in proportion to its part of what is left."""
    chances = np.asarray(parts, np.float64)
    rng = np.random.default_rng([seed, number, _DRAW])
    some = rng.choice(len(chances), most, replace=False, p=chances / chances.sum())
    return sorted(int(k) for k in some)

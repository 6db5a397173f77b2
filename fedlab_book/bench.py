"""Comparisons for the chapters: one task, one network, seeds in pairs.

    bench = Bench(dataset, data_dir, samples=1000, sizes={"hidden": [32, 32]},
                  seeds=range(330, 334))
    uneven = bench.place("dirichlet", clients=10, alpha=0.1)
    arms = {"FedAvg": fl.fedavg(training), "FedDisco": fl.feddisco(training)}
    found = bench.compare(uneven, arms, rounds=10)
    pm(found.gain("FedDisco")), verdict(found.gain("FedDisco"))

Numbers over seeds are arrays, one a seed: `pm` writes them, `verdict` judges them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

import fedlab_core as fl
from fedlab_book.parallel import arrays, run_apart, spread
from fedlab_core import tree
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval
from fedlab_ledger.model.verdict import OPPOSITE, SAME, judge_gain

Place = Callable[[int], fl.World]  # the world of a seed
Key = tuple[Any, str, int]  # place, arm and seed of a run

SAID = ("gains", "loses", "cannot tell")  # of a difference, where nothing is claimed

# How a part of a real set is drawn: for training, for testing.
PARTS = {
    "any": ("any", "any"),
    "by class": ("by class", "any"),  # as many of each class to train on
    "even": ("even", "even"),  # and to test on
}


@dataclass(frozen=True)
class Bench:
    """Data drawn anew for every seed, a network, and the seeds to compare on.

    The letters are drawn with that `noise`; of a real set it is a part, in one of the
    ways of `PARTS`, or with "all" the whole of it. With `proxy`, the server has
    labelled samples, its draw by the seed as well. With `apart`, comparisons take every
    core, in processes of which what observers keep for themselves is lost.
    """

    dataset: str = "letters"
    data_dir: str | None = None
    samples: int = 3000
    tests: int = 2000
    noise: float = 0.35
    part: str = "any"
    model: str = "mlp"
    sizes: Mapping[str, Any] = field(default_factory=dict)  # options of the network
    device: str = "cpu"
    proxy: fl.Proxy | None = None
    seeds: Sequence[int] = ()
    last: int = 5  # rounds that a score is the mean of
    apart: bool = False  # runs in processes of their own

    def __post_init__(self) -> None:
        known = f"part: {', '.join(PARTS)} or all, not {self.part!r}"
        require(self.part in PARTS or self.part == "all", known)
        for name in ("last", "samples", "tests"):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be 1 or more, not {value}")

    def task(self, seed: int) -> fl.Dataset:
        """The data of a seed: the same object whenever it is asked for."""
        sizes = (self.samples, self.tests)
        if self.dataset == "letters":
            return _letters(*sizes, self.noise, seed)
        if self.part == "all":
            return _whole(self.dataset, self.data_dir)
        return _part(self.dataset, self.data_dir, *sizes, self.part, seed)

    def network(self, data: fl.Dataset) -> Callable[[], nn.Module]:
        """Makes the network for such data."""
        return fl.build(self.model, data.shape, len(data.classes), **self.sizes)

    def scenario(self, seed: int, kind: str, **options: Any) -> fl.Scenario:
        """A seed's data, divided in one of the core's ways: see `fl.scenario`."""
        return fl.scenario(self.task(seed), kind, seed=seed, **options)

    def place(self, made: str | Callable[[int], fl.Scenario], **options: Any) -> Place:
        """Place to compare methods in: the world of each seed, made when asked for.

        `made` is a kind of split with its `options`, or a function from the seed to a
        scenario.
        """
        require(isinstance(made, str) or not options, "a function takes the seed alone")

        @cache
        def world(seed: int) -> fl.World:
            if isinstance(made, str):
                s = self.scenario(seed, made, **options)
            else:
                s = made(seed)
            proxy = self.proxy and replace(self.proxy, seed=seed)
            return fl.world_of(s, self.network(s.data), self.device, proxy=proxy)

        return world

    def compare(
        self,
        places: Place | Mapping[Any, Place],
        arms: Mapping[str, fl.Method],
        rounds: int | Mapping[Any, int],
        *,
        seeds: Sequence[int] | None = None,
        starts: Mapping[int, tree.Tree] | None = None,
        **options: Any,
    ) -> "Comparison":
        """Every arm in every place on every seed: the same data, start and draws.

        Args:
            rounds: of all runs, or for each place.
            seeds: others than the bench's.
            starts: each seed's first model, where it is not the seed's own.
            options: further ones of `fl.Run`, the same for all.
        """
        spots = places if isinstance(places, Mapping) else {"": places}
        on = self.seeds if seeds is None else seeds
        require(len(on) > 0, "a comparison needs at least one seed")
        require(len({*on}) == len(on), f"seeds must differ, not {list(on)}")
        keys: list[Key] = [(w, a, s) for w in spots for a in arms for s in on]
        plays = []
        for where, arm, seed in keys:
            turns = rounds[where] if isinstance(rounds, Mapping) else rounds
            how = {"start": starts[seed]} if starts else {}
            run = fl.Run(spots[where](seed), arms[arm], turns, seed, **how, **options)
            plays.append(run)
        played = run_apart(plays) if self.apart else fl.run_all(plays)
        return Comparison(dict(zip(keys, played, strict=True)), last=self.last)

    def each(
        self, made: Callable[[int], Any], seeds: Sequence[int] | None = None
    ) -> list[Any]:
        """Call a function with every seed; with `apart`, on every core.

        Tensors in what it makes, or in lists, tuples and dicts of it, become arrays.
        """
        on = self.seeds if seeds is None else seeds

        def part(some: Sequence[int]) -> list[Any]:
            return [arrays(made(seed)) for seed in some]

        return spread(part, on) if self.apart and self.device == "cpu" else part(on)


@dataclass(frozen=True)
class Comparison:
    """Histories of runs, by place, arm and seed; `a | b` joins two.

    A place need not be named where there is only one.
    """

    runs: Mapping[Key, fl.History]
    last: int = 5  # rounds that a score is the mean of

    def __or__(self, other: "Comparison") -> "Comparison":
        require(self.last == other.last, f"last: {self.last} and {other.last}")
        return replace(self, runs={**self.runs, **other.runs})

    def of(self, arm: str, where: Any = None) -> list[fl.History]:
        """An arm's histories, seed by seed."""
        places = list(dict.fromkeys(w for w, *_ in self.runs))
        named = where is not None or len(places) == 1
        require(named, f"which place? There are {', '.join(map(str, places))}")
        at = places[0] if where is None else where
        found = {s: h for (w, a, s), h in self.runs.items() if (w, a) == (at, arm)}
        require(len(found) > 0, f"no run of {arm!r} in {at!r}")
        return [found[s] for s in sorted(found)]

    def curves(self, arm: str, where: Any = None, what: str = "accuracy") -> np.ndarray:
        """Something seen of rounds, of those that have it: (seeds, rounds, ...)."""
        rows = [[r[what] for r in h.rows if what in r] for h in self.of(arm, where)]
        return np.array(rows)

    def ends(self, arm: str, where: Any = None, what: str = "accuracy") -> np.ndarray:
        """The same, on average over the last rounds that have it, seed by seed."""
        return self.curves(arm, where, what)[:, -self.last :].mean(axis=1)

    def scores(self, arm: str, where: Any = None, report: str = "last") -> np.ndarray:
        """In percent, one a seed: mean of the "last" rounds, of "all", or "best".

        A run that diverged has none: NaN.
        """
        known = report in ("last", "all", "best")
        require(known, f"unknown report {report!r}: choose from last, all, best")
        runs = self.of(arm, where)
        rows = pd.concat([h.frame for h in runs], ignore_index=True)
        seen = rows.accuracy.dropna()
        if report == "last":
            seen = seen.groupby(rows.seed).tail(self.last)
        each = seen.groupby(rows.seed)
        found = 100 * (each.max() if report == "best" else each.mean()).to_numpy()
        return np.where([h.diverged for h in runs], np.nan, found)

    def gain(
        self, arm: str, over: str = "FedAvg", where: Any = None, report: str = "last"
    ) -> np.ndarray:
        """Points that one arm is ahead of another, seed by seed."""
        on = [[h.seed for h in self.of(a, where)] for a in (arm, over)]
        require(on[0] == on[1], f"{arm} and {over} were not run on the same seeds")
        mine, base = (self.scores(a, where, report) for a in (arm, over))
        return mine - base

    def model(self, arm: str, seed: int, where: Any = None) -> tree.Tree:
        """The model that a run of one group ended with."""
        of_seed = {h.seed: h for h in self.of(arm, where)}
        return tree.take(of_seed[seed].states, 0)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All rounds as a table, with the columns where, method (the arm) and seed."""
        parts = [
            h.frame.assign(where=w, method=a) for (w, a, _), h in self.runs.items()
        ]
        return pd.concat(parts, ignore_index=True)


def pm(
    values: Sequence[float] | np.ndarray,
    digits: int = 1,
    sign: str = "+",
    space: str = " ",
) -> str:
    """Mean ± half its 95 % interval over seeds; what rounds to zero has no minus.

    `sign` is Python's: "+" shows it always, "" only where negative. Seeds without a
    number are left out, and counted.
    """
    values = np.asarray(values, float)
    there = values[np.isfinite(values)]
    if not len(there):
        return "none"
    mean, half = mean_interval(there)
    lost = f" ({len(values) - len(there)} diverged)" * (len(there) < len(values))
    return f"{mean:{sign}z.{digits}f}{space}±{space}{half:.{digits}f}{lost}"


def side(values: Sequence[float] | np.ndarray) -> int:
    """1 or -1, the sign of a mean over seeds; 0 where its interval has zero in it.

    By the rule of all verdicts: fewer than three seeds are on neither side.
    """
    return {SAME: 1, OPPOSITE: -1}.get(verdict(values), 0)


def verdict(values: Sequence[float] | np.ndarray, sign: float = 1) -> str:
    """Verdict of a paired difference on a claim that it has that sign."""
    numbers = enumerate(np.asarray(values, float).tolist())
    mine = {k: v if np.isfinite(v) else None for k, v in numbers}
    theirs, claimed = dict.fromkeys(mine, 0.0), 1 if sign > 0 else -1
    return judge_gain(mine, theirs, None, 0.0, sign=claimed, own_scale=False).word


def effect(values: Sequence[float] | np.ndarray, words: Sequence[str] = SAID) -> str:
    """The same where nothing is claimed: it gains, loses, or we cannot tell."""
    return (*words[:2], SAID[2])[{1: 0, -1: 1, 0: 2}[side(values)]]


@cache
def _letters(samples: int, tests: int, noise: float, seed: int) -> fl.Dataset:
    return fl.load("letters", n_train=samples, n_test=tests, noise=noise, seed=seed)


@cache
def _whole(dataset: str, data_dir: str | None) -> fl.Dataset:
    return fl.load(dataset, data_dir)


@cache
def _part(
    dataset: str, data_dir: str | None, samples: int, tests: int, part: str, seed: int
) -> fl.Dataset:
    data, rng = _whole(dataset, data_dir), np.random.default_rng(seed)
    training, testing = PARTS[part]
    for name, n, y in [
        ("samples", samples, data.y_train),
        ("tests", tests, data.y_test),
    ]:
        require(n <= len(y), f"{name}={n}: {dataset} has {len(y)}")
    train = _some(data.y_train, samples, training, rng)
    test = _some(data.y_test, tests, testing, rng)
    return replace(
        data,
        x_train=data.x_train[train],
        y_train=data.y_train[train],
        x_test=data.x_test[test],
        y_test=data.y_test[test],
    )


def _some(y: np.ndarray, n: int, way: str, rng: np.random.Generator) -> np.ndarray:
    """Places of n samples; as many of every class, if classes matter."""
    kinds = int(y.max()) + 1
    if way == "by class":
        every = [rng.permutation(np.flatnonzero(y == c)) for c in range(kinds)]
        return rng.permutation(np.concatenate([some[: n // kinds] for some in every]))
    order = rng.permutation(len(y))
    if way == "any":
        return order[:n]
    each = [order[y[order] == c][: -(-n // kinds)] for c in range(kinds)]
    least = min(map(len, each))
    require(least >= n // kinds, f"{n} samples of {kinds} classes: one has {least}")
    return rng.permutation(np.stack([some[:least] for some in each], 1).ravel()[:n])

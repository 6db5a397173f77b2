"""Differences of a paper and its published code, each switched on and off.

A difference is a pair of readings on the built-in letters that differ in nothing else:
as the paper states it, and as the code does it. Both play the same seeds, with the same
data, first network and order of mini-batches. Those that letters cannot show say why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedlab_core.errors import require
from fedlab_core.rounds.run import run_all
from fedlab_ledger.model import Setting
from fedlab_ledger.model.measures import measure, seen
from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.numbers import known, read
from fedlab_ledger.run.build import run_of

# The world of all readings, but for its clients: so small that all of them together
# take well under a minute.
LETTERS: Plain = {
    "dataset": "letters",
    "data": {"n_train": 1200, "n_test": 500, "noise": 0.2},
    "network": {"hidden": [32, 32]},
    "rounds": 10,
    "local": {"lr": 0.01, "momentum": 0.9, "epochs": 2, "batch_size": 32},
}


@dataclass(frozen=True)
class Reading:
    """One way to understand a method, and the number that is reported of it."""

    setting: Setting
    metric: str = "mean-5"


Pair = tuple[Reading, Reading]  # as stated, as done


def pair(world: Plain, stated: Plain, done: Plain, *both: Plain) -> Pair:
    """Two readings in one world; `both` is what they have in common."""
    one, other = (Setting(**joined(world, *both, part)) for part in (stated, done))
    return Reading(one), Reading(other)


def method(name: str, **options) -> Plain:
    """A method with some of its options."""
    return {"method": name, "options": options}


@dataclass(frozen=True)
class Difference:
    """A statement of a paper, what its code does instead, and our switch.

    `stated` and `done` are to be run; `why` says why there is nothing to run.
    """

    paper: str
    name: str
    says: str
    does: str
    switch: str
    stated: Reading | None = None
    done: Reading | None = None
    why: str = ""

    def __post_init__(self) -> None:
        pair = (self.stated is None) == (self.done is None)
        require(pair, f"{self.name}: two readings, or none")
        reason = (self.stated is None) == bool(self.why)
        require(reason, f"{self.name}: say why nothing is run, and only then")


def effects(
    differences: Sequence[Difference], seeds: Sequence[int]
) -> dict[str, np.ndarray]:
    """By name, the code's accuracy minus the paper's, in points, a number a seed."""
    pairs = [(d.stated, d.done) for d in differences if d.stated and d.done]
    settings = {r.setting.key: r.setting for pair in pairs for r in pair}
    runs = [run_of(s, k) for s in settings.values() for k in seeds]
    lines = iter([seen(h) for h in run_all(runs, progress=False)])
    played = {key: [next(lines) for _ in seeds] for key in settings}

    def values(r: Reading) -> np.ndarray:
        found = [measure(r.metric, line) for line in played[r.setting.key]]
        return np.array([np.nan if v is None else v for v in found])

    return {
        d.name: values(d.done) - values(d.stated)
        for d in differences
        if d.stated and d.done
    }


def differences_of(
    path: Path, paper: str, readings: Mapping[str, Pair]
) -> tuple[Difference, ...]:
    """The differences of a file, with the readings that code has by their names."""
    made, found = [], read(path)
    known(path, "readings", readings, found)
    for name, about in found.items():
        names = ("says", "does", "switch")
        known(path, name, about, (*names, "why"), names)
        both = dict(zip(("stated", "done"), readings.get(name, ()), strict=False))
        made.append(Difference(paper, name, **about, **both))
    return tuple(made)

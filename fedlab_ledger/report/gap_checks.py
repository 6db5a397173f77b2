"""Checks of our numbers that are off by more than is allowed.

All of it is made of what is stored: the number read off the same curves in another way,
and the searches whose `checks` name it, at its own scale or at another. What nobody ran
otherwise is named, too: that remains.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedlab_core.metrics import mean_interval
from fedlab_ledger.judge.claims import Judged, judged
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.measures import measure
from fedlab_ledger.model.provenance import counted
from fedlab_ledger.model.verdict import MATCHES, SAME
from fedlab_ledger.papers.common import joined
from fedlab_ledger.papers.gaps import Gap
from fedlab_ledger.report.headline import Quoted

# Rounds that an accuracy can be reported of, as a metric and in words.
ROUNDS = {
    "best": "the best round",
    "last": "the last round",
    "mean-5": "the mean of the last 5 rounds",
    "mean-10": "the mean of the last 10 rounds",
}
_SAME_ROUND = {"acc": "last"}


@dataclass(frozen=True)
class Choice:
    """A choice of every such setting: where it stands, and in words."""

    name: str
    group: str  # "local", or nothing where it is the setting's own
    option: str
    chosen: str  # where the setting has it
    usual: str  # where it has not

    def of(self, setting: Mapping[str, Any]) -> Any:
        """Value that a setting, or a change of one, has there; None without it."""
        return (setting.get(self.group, {}) if self.group else setting).get(self.option)


CHOICES = (
    Choice("augmentation", "local", "crop", "images cropped and mirrored", "none"),
    Choice(
        "normalisation",
        "",
        "normalise",
        "one mean and deviation for all channels",
        "the data set's usual mean and deviation",
    ),
    Choice("short mini-batches", "local", "drop_last", "dropped", "trained on"),
)


@dataclass(frozen=True)
class Other:
    """The same number, had in another way."""

    words: str
    values: tuple[float, ...]  # of the seeds that have one
    fits: bool  # whether their mean is within the cell's tolerance

    @property
    def mean(self) -> float:
        return float(mean_interval(np.array(self.values))[0])

    @property
    def half(self) -> float:
        """Half the 95 % interval; not a number of a single seed."""
        return float(mean_interval(np.array(self.values))[1])


@dataclass(frozen=True)
class Checked:
    """A cell that is off, and everything that was looked at because it might tell why.

    `choices` were set in one way only: name, and how. `searches` are those at another
    scale: the scale, tries on the paper's side, and all tries.
    """

    quoted: Quoted
    reported: tuple[Other, ...]
    changed: tuple[Other, ...]
    choices: tuple[tuple[str, str], ...]
    searches: tuple[tuple[str, int, int], ...]

    @property
    def told(self) -> list[Other]:
        """Ways that bring the number within the tolerance."""
        return [other for other in (*self.reported, *self.changed) if other.fits]


def tried(gap: Gap, found: Found) -> list[Judged]:
    """The claim as it failed and with each change, all at the scale of the search."""
    return judged([gap.before, *gap.claims], found, gap.scale)


def checked_of(
    quotes: Iterable[Quoted], gaps: Sequence[Gap], found: Found
) -> list[Checked]:
    """Checks of each of these cells that is off by more than allowed."""
    return [_checked(q, gaps, found) for q in quotes if q.off is not None]


def _checked(q: Quoted, gaps: Sequence[Gap], found: Found) -> Checked:
    name = f"{q.cell.table} {q.cell.row} | {q.cell.column}"
    mine = [gap for gap in gaps if name in gap.checks]
    changed, changes = [], []
    for gap in (g for g in mine if g.scale == SCALE):
        for claim, t in zip(gap.claims, gap.tries, strict=True):
            lines = counted(claim.cell, SCALE, found).values()
            there = [v["value"] for v in lines if v["value"] is not None]
            if there:
                changed.append(_made(claim.sentence, there, q.cell))
                changes.append(joined(t.both, t.mine))
    here = q.cell.settings[SCALE].plain()
    choices = tuple(
        (c.name, c.chosen if c.of(here) else c.usual)
        for c in CHOICES
        if not any(c.of(change) is not None for change in changes)
    )
    if q.cell.reading and not any("options" in change for change in changes):
        choices += (("the reading", q.cell.reading),)
    away = tuple(_search(g, found) for g in mine if g.scale != SCALE)
    return Checked(q, _reported(q), tuple(changed), choices, away)


def _search(gap: Gap, found: Found) -> tuple[str, int, int]:
    rows = [j for j in judged(gap.claims, found) if j.verdict.n]
    good = sum(j.verdict.word in (MATCHES, SAME) for j in rows)
    return gap.scale, good, len(rows)


def _reported(q: Quoted) -> tuple[Other, ...]:
    """An accuracy read off the same curves at other rounds; else nothing."""
    own = _SAME_ROUND.get(q.cell.metric, q.cell.metric)
    if own not in ROUNDS:
        return ()
    unit = 0.01 if q.cell.unit == "share" else 1.0
    made = []
    for metric in ("best", "last", "mean-10"):
        values = [measure(metric, line) for line in q.lines.values()]
        there = [unit * v for v in values if v is not None]
        if metric != own and there:
            made.append(_made(f"as {ROUNDS[metric]}", there, q.cell))
    return tuple(made)


def _made(words: str, values: list[float], of: Cell) -> Other:
    x = np.asarray(values, float)
    off = float(mean_interval(x)[0]) - (of.paper_value or 0.0)
    return Other(words, tuple(values), abs(off) <= of.tolerance)

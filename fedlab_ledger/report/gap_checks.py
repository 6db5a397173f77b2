"""Where a number of ours is off by more than is allowed: what was checked for it.

All of it is made of what is stored: the number read off the same curves in another way,
runs at the same scale that differ in one choice and not in the method, searches for a
claim that did not come out. What nobody ran otherwise is named, too: that remains.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedlab_core.metrics import mean_interval
from fedlab_ledger.model.cells import Cell, Setting, Table
from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.measures import measure
from fedlab_ledger.model.provenance import counted
from fedlab_ledger.report.headline import Quoted

# Rounds that an accuracy can be reported of, as a metric and in words.
ROUNDS = {
    "best": "the best round",
    "last": "the last round",
    "mean-5": "the mean of the last 5 rounds",
    "mean-10": "the mean of the last 10 rounds",
}
_SAME_ROUND = {"acc": "last"}
# Beside the options of a method, what may differ without its being another experiment.
_READINGS = {
    "normalise", "held", "local.crop", "local.drop_last", "local.momentum",
    "local.weight_decay", "local.keep_velocity", "local.decay",
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What every such setting chooses: where it stands, and what it is in words."""

    name: str
    leaf: str
    chosen: str  # where the setting has it
    usual: str  # where it has not


CHOICES = (
    Choice("augmentation", "local.crop", "images cropped and mirrored", "none"),
    Choice(
        "normalisation",
        "normalise",
        "one mean and deviation for all channels",
        "the data set's usual mean and deviation",
    ),
    Choice("short mini-batches", "local.drop_last", "dropped", "trained on"),
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

    `choices` were set in one way only: name, and how.
    """

    quoted: Quoted
    reported: tuple[Other, ...]
    changed: tuple[Other, ...]
    choices: tuple[tuple[str, str], ...]

    @property
    def nothing(self) -> bool:
        """Whether nothing at all was checked."""
        return not (self.reported or self.changed)

    @property
    def told(self) -> list[Other]:
        """What brings the number within the tolerance."""
        return [other for other in (*self.reported, *self.changed) if other.fits]


def checked_of(
    quotes: Iterable[Quoted], tables: Mapping[str, Table], found: Found
) -> list[Checked]:
    """What was checked for each of these cells that is off by more than allowed."""
    return [_checked(q, tables, found) for q in quotes if q.off is not None]


def _checked(q: Quoted, tables: Mapping[str, Table], found: Found) -> Checked:
    near = [
        (cell, diff) for cell, diff in _near(q.cell, tables) if _measured(cell, found)
    ]
    tried = {leaf for _, diff in near for leaf in diff}
    here = _leaves(q.cell.settings[SCALE])
    choices = tuple(
        (c.name, c.chosen if here.get(c.leaf) else c.usual)
        for c in CHOICES
        if c.leaf not in tried
    )
    if q.cell.reading and not any("options." in leaf for leaf in tried):
        choices += (("the reading", q.cell.reading),)
    changed = (_other(_words(cell, diff), cell, found, q.cell) for cell, diff in near)
    return Checked(q, _reported(q), tuple(filter(None, changed)), choices)


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


def _other(words: str, cell: Cell, found: Found, of: Cell) -> Other | None:
    lines = counted(cell, SCALE, found).values()
    there = [line["value"] for line in lines if line["value"] is not None]
    return _made(words, there, of) if there else None


def _made(words: str, values: list[float], of: Cell) -> Other:
    x = np.asarray(values, float)
    off = float(mean_interval(x)[0]) - (of.paper_value or 0.0)
    return Other(words, tuple(values), abs(off) <= of.tolerance)


def _measured(cell: Cell, found: Found) -> bool:
    return bool(counted(cell, SCALE, found))


def _near(cell: Cell, tables: Mapping[str, Table]) -> list[tuple[Cell, dict]]:
    """Cells of the same number whose setting differs in one reading or option."""
    here, keys, made = cell.settings[SCALE], {cell.key(SCALE)}, []
    cells = [c for t in tables.values() for c in t.cells if SCALE in c.settings]
    for other in sorted(cells, key=lambda c: c.paper != "gaps"):  # which have words
        if other.metric != cell.metric or other.key(SCALE) in keys:
            continue
        diff = differing(here, other.settings[SCALE])
        if len(diff) == 1 and all(_is_reading(leaf) for leaf in diff):
            made.append((other, diff))
            keys.add(other.key(SCALE))
    return made


def _is_reading(leaf: str) -> bool:
    return leaf in _READINGS or leaf.startswith("options.")


def differing(one: Setting, other: Setting) -> dict[str, tuple[Any, Any]]:
    """In what two settings differ: name, and its values, None where there is none."""
    a, b = _leaves(one), _leaves(other)
    names = sorted(a.keys() | b.keys())
    return {n: (a.get(n), b.get(n)) for n in names if a.get(n) != b.get(n)}


def _leaves(s: Setting) -> dict[str, Any]:
    """A setting as names with dots; what is a dict of options has one name each."""
    found: dict[str, Any] = {}
    for name, value in s.plain().items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{part}": v for part, v in value.items()}
        else:
            found[name] = value
    return found


def _words(cell: Cell, diff: Mapping[str, tuple[Any, Any]]) -> str:
    """The change in words: those of the search, or what differs."""
    if cell.paper == "gaps":
        return cell.column
    said = (
        f"{leaf.rpartition('.')[2]} = {_value(new)} for {_value(old)}"
        for leaf, (old, new) in diff.items()
    )
    return ", ".join(said)


def _value(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if _number(value) else str(value)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

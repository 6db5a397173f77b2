"""A finding: one sentence that a person wrote, then the numbers that carry it.

    finding(
        "Shrinking a little in every round helps where clients are alike.",
        [Row("γ = 0.93, alike", gain, sign=1), Row("γ = 0.93, uneven", other)],
    )

Numbers stand in the table and not in the sentence. The sentence has a condition under
which it is true, here the side of zero on which the first row's interval has to lie; if
the runs do not meet it any more, the build stops and names it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.bench import SAID, effect, pm, side, verdict
from fedlab_book.html import macros
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval
from fedlab_ledger.model.verdict import LEAST

_WIDTH, _HIGH, _EDGE = 200, 26, 10  # of a row's interval, and what is free beside it
_MOST_DIGITS = 4
_ELSEWHERE = (
    "The sentence that stands here for the built-in letters is not carried by these "
    "runs; read the table."
)

_html = macros("findings")


Facts = dict[str, Any]  # what `finding` takes but for its sentence


class Unsupported(Exception):
    """A sentence of the book that its runs do not carry any more."""


@dataclass(frozen=True)
class Row:
    """A comparison: ours seed by seed, the paper's numbers, and the sign it claims."""

    name: str
    values: np.ndarray | Sequence[float]
    paper: float | Sequence[float] | None = None  # of one network, or of each
    claim: int | None = None  # 1 or -1; without it, a gain or a loss is a finding
    words: Sequence[str] = SAID  # for above zero and below it
    within: float | None = None  # what is smaller, interval and all, is as good as zero
    aside: bool = False  # not for every reader: folded below the table
    ran: str = ""  # the data set, where it is not the table's
    sign: int | None = None  # the side of zero that the sentence needs; 0: zero inside

    @property
    def printed(self) -> list[float]:
        """The paper's numbers, as many as it has."""
        if self.paper is None:
            return []
        return [float(v) for v in np.atleast_1d(self.paper)]

    @property
    def near(self) -> bool:
        """Whether the whole interval, over three seeds or more, lies `within` that."""
        mean, half = mean_interval(np.asarray(self.values, float))
        many, bound = len(self.values) >= LEAST, self.within or 0.0
        return many and bool(abs(mean) + half < bound)

    @property
    def says(self) -> str:
        """The verdict, by the book's one rule; or that it is smaller than `within`."""
        values = np.asarray(self.values, float)
        if self.near:
            return f"within {self.within:g}"
        if self.claim is not None:
            return verdict(values, self.claim)
        return effect(values, self.words)


def finding(
    sentence: str,
    rows: Sequence[Row],
    *,
    holds: bool | np.bool_ | None = None,
    unit: str = "points",
    folded: str = "",
    digits: int = 1,
    note: str = "",
    each: str = "seeds, paired",
    built_in: bool = True,
) -> HTML:
    """The sentence, and a table of intervals on one axis; what is undecided is grey.

    Args:
        holds: whether the runs carry what of the sentence no row's sign says.
        folded: the unit of the rows that stand aside, where that is another.
        note: what else a reader of the table needs, such as whose gain it is over.
        each: what the values of a row are, one by one.
        built_in: whether they are those of the built-in task, for which it was written.
            On other data a sentence that does not hold gives way to one that says so.
    """
    require(len(rows) > 0, "a finding needs a row")
    true = carried(rows, holds)
    if not true and built_in:
        raise Unsupported(f"the runs do not carry this sentence any more: {sentence!r}")
    said = sentence if true else _ELSEWHERE
    main, more = ([r for r in rows if r.aside == aside] for aside in (False, True))
    caption = f"{_counted(main or more, each)} {note}".rstrip()
    span = _span(rows)
    shown = _forest(main, caption, span, unit, digits) if main else ""
    what, rest = "", Markup()
    if more:
        what = f"{len(more)}{' more' * bool(main)} comparison{'s' * (len(more) > 1)}"
        told = f"The same {each.split(',')[0]}, on the same axis." if main else caption
        rest = _forest(more, told, span, folded or unit, digits)
    return HTML(str(_html.finding(said, shown, what, rest)))


def _counted(rows: Sequence[Row], each: str) -> str:
    """How many values the rows have, and which have fewer than the others."""
    most = max(len(row.values) for row in rows)
    fewer = [row for row in rows if len(row.values) < most]
    named = "; ".join(f"{row.name}: {len(row.values)}" for row in fewer)
    return f"{most} {each}{f' ({named})' * bool(fewer)}."


def _forest(
    rows: Sequence[Row], caption: str, span: tuple[float, float], unit: str, digits: int
) -> Markup:
    papers = any(row.printed for row in rows)
    head = ["", unit, "mean ± 95 %", "we can say", *(["paper"] if papers else [])]
    lines = [_line(row, *span, digits, papers) for row in rows]
    return _html.forest(head, lines, caption)


def carried(rows: Sequence[Row], holds: bool | np.bool_ | None = None) -> bool:
    """Whether every row is on the side of zero that it has to be on, and `holds`."""
    on = [side(row.values) == row.sign for row in rows if row.sign is not None]
    on += [] if holds is None else [bool(holds)]
    require(len(on) > 0, "a finding needs a condition: a row's sign, or holds")
    return all(on)


def told(rows: Sequence[Row], digits: int = 1) -> str:
    """Every row in words, for a text alternative."""
    return "; ".join(f"{row.name} {pm(row.values, digits)}" for row in rows)


def _reach(row: Row) -> tuple[float, float]:
    """The mean over seeds, and how far its interval goes to either side."""
    mean, half = (float(v) for v in mean_interval(np.asarray(row.values, float)))
    return mean, half if math.isfinite(half) else 0.0


def _span(rows: Sequence[Row]) -> tuple[float, float]:
    """The axis that all rows share: zero is on it."""
    ends = [0.0]
    for row in rows:
        mean, wide = _reach(row)
        ends += [mean - wide, mean + wide]
        ends += row.printed
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 1, high + 1)


def _line(
    row: Row, low: float, high: float, digits: int, papers: bool
) -> tuple[Row, bool, list[str]]:
    """A row, whether it is grey, and its cells."""
    values = np.asarray(row.values, float)
    decided = bool(side(values))
    digits = _digits(values, digits)
    drawn = _interval(row, low, high, decided, digits)
    cells = [drawn, pm(values, digits), row.says]
    if papers:
        cells.append(", ".join(f"{v:+z.{digits}f}" for v in row.printed))
    return row, not (decided or row.near), cells


def _digits(values: np.ndarray, digits: int) -> int:
    """As many as it takes to see a width, and that zero is outside where it is."""
    mean, half = (float(v) for v in mean_interval(values))
    if not half > 0:
        return digits
    decided = bool(side(values))

    def unclear(digits: int) -> bool:
        wide, away = round(half, digits), round(abs(mean), digits)
        return wide == 0 or (decided and away <= wide)

    while unclear(digits) and digits < _MOST_DIGITS:
        digits += 1
    return digits


def _interval(row: Row, low: float, high: float, decided: bool, digits: int) -> Markup:
    """A dot in its interval, with the paper's numbers, on the axis of all rows."""
    mean, wide = _reach(row)

    def x(value: float) -> float:
        along = (value - low) / (high - low)
        return round(_EDGE + along * (_WIDTH - 2 * _EDGE), 1)

    ends = f"from {mean - wide:z.{digits}f} to {mean + wide:z.{digits}f}"
    alt = f"An interval {ends}; zero is {'outside' if decided else 'inside'} of it."
    marks = (x(0), x(mean - wide), x(mean), x(mean + wide))
    fill, paper = "currentColor" if decided else "none", [x(v) for v in row.printed]
    return _html.interval(_WIDTH, _HIGH, alt, *marks, fill, paper)

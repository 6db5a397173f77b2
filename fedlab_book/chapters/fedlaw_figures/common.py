"""What several sections need: the signs of rows, late rounds, marks and axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.bench import Comparison, pm, side
from fedlab_book.figures import INK, PALETTE, look
from fedlab_book.findings import Row, finding
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval

Facts = Mapping[str, Row]  # a finding's rows, by short names
Picture = tuple[Figure, str, str]  # its text alternative, and its caption
Numbers = tuple[pd.DataFrame, str]  # a table and its caption


def signs(facts: Facts) -> list[int]:
    """On which side of zero each row's interval lies; 0 where zero is inside."""
    return [side(row.values) for row in facts.values()]


def stated(
    sentence: str,
    facts: Facts,
    sides: Sequence[int | None],
    *,
    holds: bool = True,
    **how: Any,
) -> HTML:
    """A finding that holds if the interval of every row lies on its side of zero.

    Args:
        sides: 1, -1, or 0 for a row that has zero inside; None where the sentence does
            not depend on it.
        holds: whatever else the sentence depends on.
        how: further arguments of `finding`.
    """
    require(len(sides) == len(facts), "sides: one for every row")
    pairs = zip(signs(facts), sides, strict=True)
    carried = all(claimed in (None, side) for side, claimed in pairs)
    rows = list(facts.values())
    return finding(sentence, rows, holds=holds and carried, **how)


def told(facts: Facts, digits: int = 1) -> str:
    """Every row in words, for a text alternative."""
    each = (f"{row.name} {pm(row.values, digits)}" for row in facts.values())
    return "; ".join(each)


def seen(
    found: Comparison, arm: str, where: Any = None, what: str = "accuracy"
) -> np.ndarray:
    """What was seen, round by round: (seeds, rounds, ...)."""
    return found.curves(arm, where, what)


def late(
    found: Comparison, arm: str, where: Any, what: str, until: int | None = None
) -> np.ndarray:
    """Mean over the last rounds, or over the last ones until a round: one a seed."""
    return seen(found, arm, where, what)[:, :until][:, -found.last :].mean(axis=1)


def spot(ax: Axes, at: float, values: np.ndarray, arm: str, **more: Any) -> None:
    """An arm's mark at a place, with its 95 % interval over seeds."""
    mean, half = mean_interval(values)
    style = look(arm) | {"linestyle": "", "markersize": 8} | more
    ax.errorbar([at], [mean], yerr=[half], capsize=4, **style)


def by_rounds(ax: Axes, last: int, step: int = 4) -> None:
    """Whole rounds under a curve, and a light grid."""
    ax.set_xlabel("round")
    ax.set_xticks([1, *range(step, last + 1, step)])
    ax.grid(axis="y")


def line_of(colour: str, mark: str, dash: str, name: str) -> dict[str, Any]:
    """The style of a curve that is no method of the book's."""
    style = {"color": PALETTE[colour], "marker": mark, "linestyle": dash}
    return style | {"label": name}


def zero(ax: Axes) -> None:
    """A dotted line where nothing is gained."""
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)

"""Tools of several sections: late rounds, marks and axes."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.bench import Comparison
from fedlab_book.figures import INK, PALETTE, look
from fedlab_core.metrics import mean_interval

Picture = tuple[Figure, str, str]  # its text alternative, and its caption
Numbers = tuple[pd.DataFrame, str]  # a table and its caption


def late(
    found: Comparison, arm: str, where: Any, what: str, until: int | None = None
) -> np.ndarray:
    """Mean over the last rounds, or over the last ones until a round: one a seed."""
    seen = found.curves(arm, where, what)[:, :until]
    return seen[:, -found.last :].mean(axis=1)


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

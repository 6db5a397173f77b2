"""A headline table as a picture: a row a cell, the paper's number, our seeds."""

import math
from collections.abc import Sequence

import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.figures import INK, PALETTE, canvas, legend, show, styled
from fedlab_book.ledger.markup import number, whose
from fedlab_ledger.model.describe import ran_on, without_names
from fedlab_ledger.report.headline import Quoted, played

_WIDTH, _ROW, _TITLE, _BELOW = 480, 25, 44, 38  # pixels
_THEIRS, _OURS = PALETTE["orange"], PALETTE["blue"]


def dots(quotes: Sequence[Quoted], where: str) -> HTML:
    """The picture, with every number in its text; `where` is the paper's place."""
    panels = _panels(quotes)
    done = played(quotes)
    ran = "; ".join(dict.fromkeys(ran_on(_setting(q)) for q in done))
    theirs = whose(q.cell for q in quotes)
    alt = f"The paper's {where} and ours, a row a number. " + " ".join(
        f"{name}: {'; '.join(map(_said, rows))}." for name, rows in panels.items()
    )
    number_ = "the paper's number" if theirs == "paper" else f"the {theirs}"
    caption = (
        f"Diamond: {number_}. Circles: our seeds. Square and bar: their mean with its "
        "95 % interval; a bar that reaches the edge goes on beyond it."
    )
    caption += f" Ours ran on {ran}." if ran else " None of ours was run yet."
    return show(_drawn(panels, theirs), alt, caption, ran)


def _setting(q: Quoted):
    return q.cell.settings[q.shown.scale]


def _panels(quotes: Sequence[Quoted]) -> dict[str, list[Quoted]]:
    """The rows of each of the paper's columns, under a title that says what they are.

    A column of which nothing was run does not bear the names of its data and network.
    """
    columns: dict[str, list[Quoted]] = {}
    for q in quotes:
        columns.setdefault(q.cell.column, []).append(q)
    none = not played(quotes)
    return {_title(column, rows, none): rows for column, rows in columns.items()}


def _title(column: str, rows: Sequence[Quoted], none: bool) -> str:
    name = column if played(rows) else without_names(column)
    name = f"The paper's {column}" if none else name
    unit = rows[0].cell.unit
    return name if unit in name or not unit else f"{name} ({unit})"


def _said(q: Quoted) -> str:
    """A row in words: FedAvg, paper 54.27, ours 49.20 ± 4.08 (seeds 48.47, 51.07)."""
    unit, theirs = q.cell.unit, q.cell.paper_value
    paper = "none" if theirs is None else f"{theirs:g}"
    ours = "not run yet"
    if q.lines:
        seeds = ", ".join(seed(v, unit) for v in q.seeds.values())
        ours = f"ours {q.shown.ours} (seeds {seeds})"
    return f"{q.cell.row}, {whose([q.cell])} {paper}, {ours}"


def seed(value: float | None, unit: str) -> str:
    """Result of one seed, with no digits that say nothing: 48.47, 67, 0.917."""
    if value is None:
        return "none"
    return number(value, unit) if unit == "%" else f"{round(value, 3):g}"


@styled
def _drawn(panels: dict[str, list[Quoted]], theirs: str) -> Figure:
    tall = [_ROW * len(rows) + _TITLE for rows in panels.values()]
    height = sum(tall) + _BELOW
    fig, axes = canvas(
        _WIDTH, height, len(panels), 1, squeeze=False, height_ratios=tall
    )
    for ax, (name, rows) in zip(axes[:, 0], panels.items(), strict=True):
        _panel(ax, name, rows)
    marks = (
        {"color": _THEIRS, "marker": "D", "label": theirs},
        {"color": _OURS, "marker": "o", "mfc": "none", "label": "a seed"},
        {"color": _OURS, "marker": "s", "label": "our mean"},
    )
    handles = [axes[0, 0].plot([], [], linestyle="none", **m)[0] for m in marks]
    legend(fig, handles, 3, "outside lower left")
    return fig


def _panel(ax: Axes, name: str, rows: Sequence[Quoted]) -> None:
    low, high = _range(rows)
    for i, q in enumerate(rows):
        ax.axhline(i, color=INK, alpha=0.12, linewidth=0.8)
        _row(ax, i, q, (low + high) / 2)
    ax.set(xlim=(low, high), ylim=(len(rows) - 0.4, -0.6), title=name)
    ax.set_yticks(range(len(rows)), [q.cell.row for q in rows])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def _row(ax: Axes, i: int, q: Quoted, middle: float) -> None:
    theirs, v = q.cell.paper_value, q.shown.verdict
    shift = 0.17 if q.lines else 0.0  # so that no mark hides another
    if theirs is not None:
        ax.plot(theirs, i - shift, "D", color=_THEIRS, markersize=8, zorder=2)
    if not q.lines:
        at = middle if theirs is None else theirs
        left = theirs is not None and theirs > middle
        gap = 0 if theirs is None else -10 if left else 10
        side = "center" if theirs is None else "right" if left else "left"
        ax.annotate(
            "not run yet", (at, i), (gap, 0), textcoords="offset points",
            ha=side, va="center", color=INK, alpha=0.7,
        )  # fmt: skip
        return
    if v.n:
        half = v.half if math.isfinite(v.half) else 0.0
        bar = {"marker": "s", "color": _OURS, "capsize": 3, "zorder": 3}
        ax.errorbar(v.mean, i + shift, xerr=half, **bar)
    seeds = [s for s in q.seeds.values() if s is not None]
    ax.plot(
        seeds, np.full(len(seeds), i + shift), "o", mfc="none", color=_OURS,
        markersize=7, markeredgewidth=1.3, linestyle="none", zorder=4,
    )  # fmt: skip


def _range(rows: Sequence[Quoted]) -> tuple[float, float]:
    """From the lowest mark to the highest; a wide interval does not stretch it far."""
    marks = [q.cell.paper_value for q in rows if q.cell.paper_value is not None]
    marks += [v for q in rows for v in q.seeds.values() if v is not None]
    if not marks:
        return 0.0, 1.0
    low, high = min(marks), max(marks)
    room = 0.12 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room

"""Panels that have a row, or a bar, for each of what they compare."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fedlab_book.bench import pm, side
from fedlab_book.draw import class_bars
from fedlab_book.figures import INK, PALETTE
from fedlab_book.findings import Row, told
from fedlab_book.panels.panel import ROW, Colours, Panel, looks_of, worded
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval
from fedlab_ledger.model.verdict import two_groups

_ABREAST = 40  # letters of names below bars; of more, a word takes a line


def gains(rows: Sequence[Row], unit: str = "points", title: str = "") -> Panel:
    """Paired differences as dots in their intervals, and the paper's as triangles.

    A dot is hollow where its interval has zero in it.
    """
    require(len(rows) > 0, "a gain needs a row")

    def draw(ax: Axes) -> None:
        for i, row in enumerate(rows):
            mean, half = mean_interval(np.asarray(row.values, float))
            colour = PALETTE["blue"] if side(row.values) else PALETTE["rose"]
            fill = colour if side(row.values) else "none"
            reach = half if np.isfinite(half) else 0.0
            style = {"color": colour, "mfc": fill, "marker": "o", "capsize": 3}
            ax.errorbar(mean, i, xerr=reach, **style)
            ax.plot(row.printed, [i] * len(row.printed), "^", color=PALETTE["orange"])
        ax.axvline(0, color=INK, linestyle=":", linewidth=1.5)
        ax.set_yticks(range(len(rows)), [row.name for row in rows])
        ax.set(ylim=(len(rows) - 0.5, -0.5), xlabel=unit, title=title)
        ax.grid(axis="x")

    require(len({r.name for r in rows}) == len(rows), "two rows have one name")
    papers = [f"{r.name} {', '.join(f'{v:+g}' for v in r.printed)}" for r in rows]
    theirs = "; ".join(p for p, r in zip(papers, rows, strict=True) if r.printed)
    said = f"{worded(title, unit)}, with 95 percent intervals: {told(rows)}."
    said += f" The paper's: {theirs}." if theirs else ""
    return Panel(draw, said, high=70 + ROW * len(rows))


def beside(
    pairs: Sequence[tuple[str, float | None, np.ndarray]], unit: str, title: str = ""
) -> Panel:
    """The paper's number as a diamond, ours as a dot in its interval, a row each.

    Seeds that fall into two groups are a ring each.
    """
    require(len(pairs) > 0, "nothing to set beside")
    theirs, ours = PALETTE["orange"], PALETTE["blue"]

    def draw(ax: Axes) -> None:
        for i, (_, paper, values) in enumerate(pairs):
            if paper is not None:
                ax.plot(paper, i - 0.16, "D", color=theirs)
            if len(values):
                at = i + 0.16
                if two_groups(np.asarray(values, float)):  # the mean is nobody's
                    ax.plot(values, [at] * len(values), "o", color=ours, mfc="none")
                    continue
                mean, half = mean_interval(np.asarray(values, float))
                reach = half if np.isfinite(half) else 0.0
                ax.errorbar(mean, at, xerr=reach, fmt="o", color=ours, capsize=3)
        ax.set_yticks(range(len(pairs)), [name for name, *_ in pairs])
        ax.set(ylim=(len(pairs) - 0.5, -0.5), xlabel=unit, title=title)
        ax.grid(axis="both")

    each = "; ".join(
        f"{name}: paper {'none' if paper is None else f'{paper:g}'}, ours "
        f"{_ours(np.asarray(values, float))}"
        for name, paper, values in pairs
    )
    names = {
        "paper": {"color": theirs, "marker": "D", "linestyle": ""},
        "ours": {"color": ours, "marker": "o", "linestyle": "-"},
    }
    said = f"{worded(title, unit)}. {each}."
    return Panel(draw, said, high=70 + ROW * len(pairs), names=names)


def _ours(values: np.ndarray) -> str:
    """Our mean in words, and what two groups of seeds have where they lie apart."""
    if not len(values):
        return "not run"
    each = [f"{len(v)} seeds near {v.mean():.1f}" for v in two_groups(values) or ()]
    return ", ".join([pm(values, sign=""), *each])


def bars(
    values: Mapping[str, Sequence[float] | np.ndarray],
    labels: Sequence[str],
    *,
    label: str,
    along: str = "client",
    title: str = "",
    colours: Colours | None = None,
) -> Panel:
    """Weights, shares or scores as bars: a group of bars a client, one a name."""
    looks = looks_of(values, colours)
    wrong = [n for n, v in values.items() if len(v) != len(labels)]
    require(not wrong, f"{wrong[:1]}: one bar for each of {len(labels)} labels")
    wide = 0.8 / max(1, len(values))
    styles: dict[str, dict[str, Any]] = {
        name: {"facecolor": of["color"], "hatch": "//" * (i % 2), "edgecolor": INK}
        for i, (name, of) in enumerate(looks.items())
    }
    under = [text.replace(" ", "\n") for text in labels]

    def draw(ax: Axes) -> None:
        at = np.arange(len(labels))
        for i, (name, heights) in enumerate(values.items()):
            x = at + wide * (i - (len(values) - 1) / 2)
            ax.bar(x, heights, 0.9 * wide, **styles[name])
            for k in np.flatnonzero(np.asarray(heights) == 0):
                ax.text(x[k], 0, "0", ha="center", va="bottom", fontweight="bold")
        ax.set_xticks(at, under if sum(map(len, labels)) > _ABREAST else labels)
        ax.set(title=title, xlabel=along, ylabel=label)
        ax.grid(axis="y")

    each = "; ".join(
        f"{name}: {', '.join(f'{v:.2g}' for v in heights)}"
        for name, heights in values.items()
    )
    said = f"{worded(title, label)} of {along} {', '.join(labels)}. {each}."
    return Panel(draw, said, names=styles)


def held(counts: np.ndarray, classes: Sequence[str], title: str = "") -> Panel:
    """Bars of who holds what: one a client, a coloured part a class."""
    row = max(14, min(26, 480 / len(counts)))

    def draw(ax: Axes) -> None:
        class_bars(ax, counts, classes, row)
        ax.set(xlabel="samples held, by class", title=title)

    each = "; ".join(
        f"client {k + 1} {', '.join(f'{n} {c}' for n, c in pairs) or 'none'}"
        for k, own in enumerate(counts)
        for pairs in [[(n, c) for c, n in zip(classes, own, strict=True) if n]]
    )
    said = f"{worded(title, 'samples held')}, by class. {each}."
    return Panel(draw, said, high=90 + row * len(counts))

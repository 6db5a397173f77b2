"""The pictures, and the parts of pictures, that several chapters draw.

A function that is given no axes returns a figure for `figures.show`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from fedlab_book.figures import INK, LETTERS, PALETTE, canvas, on, styled
from fedlab_core.metrics import mean_interval
from fedlab_core.partition.scenarios import Scenario

_MARK = 18  # pixels that the mark of an angle or a label map takes


@styled
def holdings(
    counts: np.ndarray,
    classes: Sequence[str],
    title: str = "",
    height: float | None = None,
) -> Figure:
    """Picture of who holds what: one bar a client, one coloured segment a class.

    Segments wide enough are labelled with their class, so that colour is not needed.
    """
    height = height or min(90 + 26 * len(counts), 620)
    fig, ax = canvas(height=height)
    class_bars(ax, counts, classes, (height - 90) / len(counts))
    ax.set(xlabel="samples held, by class", title=title)
    return fig


def class_bars(
    ax: Axes,
    counts: np.ndarray,
    classes: Sequence[str],
    row: float,
    beside: np.ndarray | int = 0,
) -> None:
    """Draw the bars of `holdings` in rows of so many pixels, with room for more beside.

    Clients count from one, as on the playground.
    """
    clients, longest = len(counts), (counts.sum(1) + beside).max()
    left = np.zeros(clients)
    for c, name in enumerate(classes):
        ax.add_collection(_bars(left, counts[:, c], color=LETTERS[c % 10]))
        for k in np.flatnonzero(counts[:, c] > longest / 20):
            if row >= 20:  # else there is no room for letters
                at = left[k] + counts[k, c] / 2
                ink = on(LETTERS[c % 10])
                style: dict[str, Any] = {"va": "center_baseline", "color": ink}
                ax.text(at, int(k), name, ha="center", fontweight="bold", **style)
        left += counts[:, c]
    step = max(1, -(-clients // 20))
    at = range(0, clients, step)
    ax.set_yticks(at, [str(k + 1) for k in at])
    ax.set(ylabel="client", xlim=(0, 1.05 * longest), ylim=(clients - 0.5, -0.5))


def _bars(left: np.ndarray, width: np.ndarray, **style: Any) -> PolyCollection:
    """Bars one above the other as one artist, which is drawn three times as fast."""
    up = np.arange(len(left)) - 0.41
    corners = [(left, up), (left + width, up), (left + width, up + 0.82)]
    corners.append((left, up + 0.82))
    held = width > 0
    shapes = list(np.array(corners).transpose(2, 0, 1)[held])
    return PolyCollection(shapes, **style)


@styled
def scenario_plot(
    s: Scenario, title: str = "", height: float | None = None, shares: bool = False
) -> Figure:
    """Picture of who holds what in a scenario; at the right, what was done to whom.

    With `shares`, the classes are drawn once more as shares of what a client holds, for
    clients so small that their own bars cannot be read.

    An own test set is the hatched end of a bar. Clients next to each other that share
    an angle or a label map share its mark. A label map is drawn with the classes from
    left to right and the labels they get from top to bottom: a falling diagonal is no
    change. A cross marks corrupted labels. Classes with long names are numbered.
    """
    sides = {
        head: values
        for head, values in {"turned": s.angles, "labels": s.maps}.items()
        if values
    }
    shortest = min((len(run) for v in sides.values() for run in _runs(v)), default=99)
    room = 90 + len(s) * _MARK / shortest  # all marks apart from each other
    height = height or max(min(90 + 26 * len(s), 620), room)
    first = [6, 5] if shares else [9]
    widths = [*first, *([1.6] * len(sides)), *([1.4] if s.corrupted else [])]
    ratios = {"width_ratios": widths}
    wide = 500 if len(widths) == 1 else 620
    size = {"width": wide, "height": height, "ncols": len(widths)}
    fig, axes = canvas(**size, sharey=True, squeeze=False, gridspec_kw=ratios)
    row = (height - 90) / len(s)
    _with_tests(axes[0, 0], s, row)
    axes[0, 0].set_title(title)
    if shares:
        own = s.counts / s.counts.sum(1, keepdims=True).clip(min=1)
        class_bars(axes[0, 1], 100 * own, _names(s), row)
        axes[0, 1].set(title="the same, in %", ylabel="", xlim=(0, 100))
    rest = axes[0, len(first) :]
    for ax in rest:
        ax.axis("off")
        ax.set_xlim(0, 1)
    for ax, (head, values) in zip(rest, sides.items(), strict=False):
        ax.set_title(head, loc="center")
        for run in _runs(values):
            tall = len(run) * (height - 90) / len(s)
            _turned(ax, run, values) if head == "turned" else _map(
                ax, run, values, tall
            )
    if s.corrupted:
        axes[0, -1].set_title("wrong", loc="center")
        across = min(8, 0.5 * (height - 90) / len(s))
        crosses = {"color": PALETTE["red"], "markersize": across, "markeredgewidth": 2}
        at = np.full(len(s.corrupted), 0.5)
        axes[0, -1].plot(at, s.corrupted, "x", **crosses)
    return fig


def _names(s: Scenario) -> Sequence[str]:
    short = all(len(name) <= 2 for name in s.data.classes)
    return s.data.classes if short else [str(c) for c in range(len(s.data.classes))]


def _with_tests(ax: Axes, s: Scenario, row: float) -> None:
    tests = np.zeros(len(s), dtype=int) if s.test is None else s.test.sizes
    class_bars(ax, s.counts, _names(s), row, beside=tests)
    held = s.train.sizes.astype(float)
    hatched = {"facecolor": "none", "edgecolor": INK, "hatch": "////", "linewidth": 0.8}
    ax.add_collection(_bars(held, tests, **hatched))
    also = "; hatched: own test set" if tests.any() else ""
    ax.set_xlabel("samples held, by class" + also)


def _runs(values: Sequence[Any]) -> list[range]:
    """Neighbours with equal values."""
    new = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    return [range(a, b) for a, b in zip(new, [*new[1:], len(values)], strict=True)]


def _bracket(ax: Axes, run: range) -> None:
    ends = [run[0] - 0.35, run[-1] + 0.35]
    ax.plot([0, 0], ends, color=INK, linewidth=1, clip_on=False)


def _turned(ax: Axes, run: range, angles: Sequence[float]) -> None:
    """An arrow that points up where nothing is turned, and the angle."""
    _bracket(ax, run)
    middle, angle = (run[0] + run[-1]) / 2, angles[run[0]]
    style: dict[str, Any] = {"va": "center_baseline", "color": INK}
    ax.text(0.2, middle, "↑", rotation=angle, ha="center", va="center", fontsize=15)
    ax.text(0.38, middle, f"{angle:g}°".replace("-", "−"), **style)


def _map(ax: Axes, run: range, maps: Sequence[Sequence[int]], tall: float) -> None:
    """Dots: one column a class, one row a label."""
    _bracket(ax, run)
    order = np.array(maps[run[0]])
    step = np.linspace(-0.5, 0.5, len(order))
    rows = len(run) * min(1, 60 / tall) * 0.75
    down = (run[0] + run[-1]) / 2 + rows * step[order]
    size = min(3.5, 0.8 * min(60, tall) / len(order))
    ax.plot(0.5 + 0.7 * step, down, "o", color=INK, markersize=size)


def mark_best(ax: Axes, x: np.ndarray, y: np.ndarray, colour: str) -> None:
    """A star on the highest point of a curve."""
    best = int(np.argmax(y))
    ax.plot(x[best], y[best], "*", color=colour, markersize=17, markeredgecolor=INK)


def banded(
    ax: Axes,
    x: Sequence[float] | np.ndarray,
    values: np.ndarray,
    *,
    color: str,
    alpha: float = 0.2,
    **style: Any,
) -> None:
    """A line, the mean over seeds (the first axis), in a band, its 95 % interval."""
    mean, half = mean_interval(values, axis=0)
    ax.fill_between(x, mean - half, mean + half, color=color, alpha=alpha, linewidth=0)
    ax.plot(x, mean, color=color, **style)


def tiles(ax: Axes, images: np.ndarray, row: int = 0, **style: Any) -> None:
    """Small grey pictures in a row, two pixels apart; `style` is that of `imshow`."""
    height, width = images.shape[1:3]
    top = row * (height + 2)
    for i, image in enumerate(images):
        left = i * (width + 2)
        extent = (left, left + width, top + height, top)
        ax.imshow(image, cmap="gray_r", extent=extent, **style)

"""Panels over two quantities: a triangle of mixtures, a map of settings, points."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from fedlab_book.figures import INK, on
from fedlab_book.panels.panel import Colours, Panel, looks_of, worded
from fedlab_core.errors import require


def triangle(
    shares: np.ndarray,
    loss: np.ndarray,
    marks: Mapping[str, Sequence[float] | np.ndarray],
    corners: Sequence[str],
    *,
    title: str = "",
    colours: Colours | None = None,
) -> Panel:
    """The loss of every average of three models, and some averages marked.

    `shares` is a grid of (points, 3), as `fedlab_ledger.model.landscape.simplex` has.
    """
    require(shares.shape == (len(loss), 3), "shares: three for every loss")
    looks, above = looks_of(marks, colours), loss - loss.min()

    def draw(ax: Axes) -> None:
        levels = np.unique(np.quantile(above, np.linspace(0, 1, 9)))
        ax.tricontourf(*_corner(shares), above, levels, cmap="cividis_r")
        for name, at in marks.items():
            style: dict[str, Any] = {**looks[name], "linestyle": "", "mec": "white"}
            ax.plot(*_corner(np.asarray(at)), **style, markersize=12, clip_on=False)
        for (x, y), name in zip(((0, 0), (1, 0), (0.5, 0.87)), corners, strict=True):
            up = "bottom" if y else "top"
            ax.text(x, y + (0.04 if y else -0.04), name, ha="center", va=up)
        ax.set(xlim=(-0.15, 1.15), ylim=(-0.16, 1.02), aspect="equal", title=title)
        ax.axis("off")

    near = {n: _nearest(shares, at) for n, at in marks.items()}
    each = "; ".join(
        f"{name} at {', '.join(f'{v:.2f}' for v in marks[name])}, loss {loss[k]:.2f}"
        for name, k in near.items()
    )
    said = f"{worded(title, 'loss')} of all averages of {', '.join(corners)}. {each}."
    names = {n: {**s, "linestyle": ""} for n, s in looks.items()}
    return Panel(draw, said, high=300, names=names)


def grid(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str,
    title: str = "",
    most: float | None = None,
    digits: int = 1,
) -> Panel:
    """A map of two settings, its numbers printed; with `most`, colours from -most on.

    What is not a number is left blank.
    """
    require(values.shape == (len(rows), len(columns)), "values: (rows, columns)")
    low = float(np.nanmin(values)) if most is None else -most
    high = float(np.nanmax(values)) if most is None else most
    paint = mpl.colormaps["cividis" if most is None else "RdBu"]

    def draw(ax: Axes) -> None:
        ax.imshow(values, vmin=low, vmax=high, cmap=paint, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                depth = (value - low) / (high - low) if high > low else 0.5
                colour = to_hex(paint(float(np.clip(depth, 0, 1))))
                style: dict[str, Any] = {
                    "ha": "center",
                    "va": "center",
                    "color": on(colour),
                }
                sign = "+" if most is not None else ""
                ax.text(j, i, f"{value:{sign}z.{digits}f}", **style)
        ax.set_xticks(range(len(columns)), columns)
        ax.set_yticks(range(len(rows)), rows)
        ax.set(title=title or label)

    each = "; ".join(
        f"{row}: "
        + ", ".join(
            f"{c} {v:z.{digits}f}"
            for c, v in zip(columns, line, strict=True)
            if np.isfinite(v)
        )
        for row, line in zip(rows, values, strict=True)
    )
    return Panel(draw, f"{worded(title, label)}. {each}.", high=80 + 34 * len(rows))


def scatter(
    points: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    line: str = "fit",
    colours: Colours | None = None,
) -> Panel:
    """Points with the line that fits them best, or with that of equality ("same")."""
    require(line in ("fit", "same", ""), f"line={line!r}: fit, same, or none")
    looks = looks_of(points, colours)
    x = np.concatenate([np.ravel(p[0]) for p in points.values()])
    y = np.concatenate([np.ravel(p[1]) for p in points.values()])
    r = float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else float("nan")

    def draw(ax: Axes) -> None:
        for name, (across, up) in points.items():
            style = {"color": looks[name]["color"], "marker": looks[name]["marker"]}
            ax.scatter(np.ravel(across), np.ravel(up), s=18, alpha=0.7, **style)
        if line == "same":
            low, high = min(x.min(), y.min()), max(x.max(), y.max())
            ax.plot([low, high], [low, high], color=INK, linestyle=":")
        elif line:
            ends = np.array([x.min(), x.max()])
            ax.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color=INK, linewidth=1)
        ax.set(xlabel=xlabel, ylabel=ylabel, title=title)

    said = f"{worded(title, ylabel)} against {xlabel}, {len(x)} points: "
    said += f"correlation {r:.2f}."
    said += f" Mean difference {float((y - x).mean()):+.3g}." if line == "same" else ""
    names = {n: {**s, "linestyle": ""} for n, s in looks.items()}
    return Panel(draw, said, names=names if len(points) > 1 else None)


def _corner(shares: np.ndarray) -> tuple[Any, Any]:
    """Points of three shares: the first left, the second right, the third on top."""
    return shares[..., 1] + shares[..., 2] / 2, shares[..., 2] * 3**0.5 / 2


def _nearest(shares: np.ndarray, at: Sequence[float] | np.ndarray) -> int:
    return int(np.abs(shares - np.asarray(at)).sum(1).argmin())

"""Panels of what was measured round by round, or setting by setting."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fedlab_book.bench import pm
from fedlab_book.draw import banded
from fedlab_book.figures import INK
from fedlab_book.panels.panel import HIGH, Colours, Panel, looks_of, unmarked, worded
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval

Curves = Mapping[str, np.ndarray]  # by name: (seeds, points)


def course(
    curves: Curves,
    *,
    label: str,
    at: Sequence[float] | None = None,
    along: str = "round",
    title: str = "",
    colours: Colours | None = None,
    zero: bool = False,
    levels: Mapping[str, float] | None = None,
    ylim: tuple[float, float] | None = None,
    digits: int = 1,
) -> Panel:
    """Curves over rounds: the mean over seeds in its 95 % band.

    Args:
        at: where the points lie; else from one.
        zero: with a line at zero, as for differences.
        levels: further lines across, such as guessing, by their names.
    """
    require(len(curves) > 0, "a course needs a curve")
    looks = looks_of(curves, colours)

    def draw(ax: Axes) -> None:
        for name, values in curves.items():
            x = np.arange(1, values.shape[1] + 1) if at is None else at
            banded(ax, x, values, **unmarked(looks[name]))
        if zero:
            ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
        for name, height in (levels or {}).items():
            ax.axhline(height, color=INK, linestyle="--", linewidth=1)
            where = ax.get_yaxis_transform()
            ax.text(1, height, name, ha="right", va="bottom", transform=where)
        ax.set(title=title, xlabel=along, ylabel=label)
        ax.locator_params(axis="x", integer=along == "round")  # none is a half
        if ylim:
            ax.set_ylim(ylim)
        ax.grid(axis="y")

    each = "; ".join(
        f"{name} from {_mean(values[:, 0]):.{digits}f} to "
        f"{pm(values[:, -1], digits, '')}"
        for name, values in curves.items()
    )
    said = f"{worded(title, label)} against {along}, mean and 95 percent band: {each}."
    return Panel(draw, said, names={n: unmarked(s) for n, s in looks.items()})


def sweep(
    values: Curves,
    at: Sequence[str],
    *,
    label: str,
    along: str,
    title: str = "",
    colours: Colours | None = None,
    paper: Mapping[str, Mapping[int, float]] | None = None,
) -> Panel:
    """A line over settings, with 95 % intervals over seeds.

    `paper` has what the paper prints, by name and place in `at`: stars.
    """
    require(len(values) > 0, "a sweep needs a line")
    looks, printed = looks_of(values, colours), paper or {}
    star = {"marker": "*", "markersize": 14, "markeredgecolor": INK, "linestyle": ""}

    def draw(ax: Axes) -> None:
        for i, (name, rows) in enumerate(values.items()):
            mean, half = mean_interval(rows, 0)
            x = np.arange(len(at)) + 0.06 * (i - (len(values) - 1) / 2)
            ax.errorbar(x, mean, yerr=half, capsize=3, **looks[name])
            stars = printed.get(name, {})
            color = looks[name]["color"]
            ax.plot([x[k] for k in stars], [*stars.values()], color=color, **star)
        if ax.get_ylim()[0] < 0:
            ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
        ax.set_xticks(range(len(at)), at)
        ax.set(title=title, xlabel=along, ylabel=label)
        ax.grid(axis="y")

    said = []
    for name, rows in values.items():
        pairs = zip(at, rows.T, strict=True)
        ours = ", ".join(f"{pm(v, sign='')} at {x}" for x, v in pairs)
        stars = printed.get(name, {}).items()
        theirs = ", ".join(f"{v:g} at {at[k]}" for k, v in stars)
        said.append(f"{name}: {ours}" + f" (the paper: {theirs})" * bool(theirs))
    names: dict[str, Any] = dict(looks)
    names |= {"the paper's": {"color": INK, **star}} if printed else {}
    text = f"{worded(title, label)} by {along}. {'; '.join(said)}."
    return Panel(draw, text, names=names)


def strip(
    values: np.ndarray,
    names: Sequence[str],
    *,
    title: str = "",
    along: str = "round",
    dots: np.ndarray | None = None,
) -> Panel:
    """Shares from 0 to 1, a row a name and a column a round, as depth of colour.

    `dots` marks some of the fields, for instance where somebody holds the class.
    """
    require(values.shape[0] == len(names), "names: one for every row")

    def draw(ax: Axes) -> None:
        ax.imshow(values, aspect="auto", vmin=0, vmax=1, cmap="Blues")
        if dots is not None:
            down, right = np.nonzero(dots)
            deep = values[down, right] > 0.5
            for chosen, ink in ((deep, "white"), (~deep, "#101010")):
                ax.plot(right[chosen], down[chosen], ".", color=ink, markersize=5)
        rounds = values.shape[1]
        step = max(1, -(-rounds // 6))
        at = range(0, rounds, step)
        ax.set_xticks(at, [str(t + 1) for t in at])
        ax.set_yticks(range(len(names)), names)
        ax.set(title=title, xlabel=along)

    ends = ", ".join(
        f"{name} {100 * row[-1]:.0f} %" for name, row in zip(names, values, strict=True)
    )
    said = f"{worded(title, 'share')}, a row each of {', '.join(names)}. Last: {ends}."
    return Panel(draw, said, high=max(HIGH, 60 + 19 * len(names)))


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

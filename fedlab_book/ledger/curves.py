"""The curves behind a table of the ledger: a panel a group, seeds as lines or band."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.figures import CLASSES, INK, LOOKS, canvas, legend, show, styled
from fedlab_book.ledger.markup import place
from fedlab_ledger.judge.show import COMPARABLE, Shown
from fedlab_ledger.model.cells import Table
from fedlab_ledger.model.describe import data, network, without_names
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.model.measures import of_accuracy
from fedlab_ledger.model.provenance import lines_of
from fedlab_ledger.report.book import Book, grouped
from fedlab_ledger.report.headline import Quoted, played

_POINTS = 80  # of a drawn curve: more cannot be told apart
_STYLES = ("-", "--", "-.", ":")
_MOST = 12  # lines of a panel that an eye can follow
_WIDTH, _PANEL, _LINE = 700, 230, 20  # pixels
_LETTERS = 66  # of a title as wide as a picture
Panel = list[tuple[str, list[np.ndarray]]]


def curves_of(book: Book, table: Table) -> HTML | None:
    """Accuracy by round of the cells that report it; None if there is no curve."""
    cells = [s for s in book.measured(table) if of_accuracy(s.cell.metric)]
    every = _panels(book, cells)
    panels = {title: lines for title, lines in every.items() if len(lines) <= _MOST}
    if not panels:
        return None
    alt = _said(panels, place(table))
    caption = (
        "Thin lines are seeds, thick ones their mean. The axis leaves out the first "
        "rounds' low accuracies."
    )
    if len(panels) < len(every):
        caption += f" No panel with more than {_MOST} methods is drawn."
    ran = "; ".join(dict.fromkeys(map(_ran, cells)))
    return show(_drawn(panels), alt, caption, ran)


def banded(book: Book, headline: Headline, quotes: Sequence[Quoted]) -> HTML | None:
    """Accuracy by round of a headline's cells, at the paper's scale: a band over seeds.

    None where the paper draws no such curves, or nothing was run yet.
    """
    cells = [q.shown for q in played(quotes)]
    panels = _panels(book, cells) if headline.curves else {}
    if not panels:
        return None
    caption = (
        f"The paper draws these curves in its {headline.curves}. Lines: mean of our "
        "seeds; bands: from the lowest seed to the highest. The axis leaves out the "
        "first rounds' low accuracies."
    )
    ran = "; ".join(dict.fromkeys(map(_ran, cells)))
    return show(_drawn(panels, band=True), _said(panels, headline.name), caption, ran)


def _said(panels: dict[str, Panel], where: str) -> str:
    """The curves in words."""
    ends = "; ".join(
        f"{name}: " + ", ".join(f"{label} {_end(runs):.1f}" for label, runs in lines)
        for name, lines in panels.items()
    )
    many = max(len(runs) for lines in panels.values() for _, runs in lines)
    return (
        f"Test accuracy in percent against round behind {where}, a panel for "
        f"each of: {', '.join(panels)}; up to {many} seeds. In the last round, mean of "
        f"the seeds: {ends}."
    )


def _ran(s: Shown) -> str:
    setting = s.cell.settings[s.scale]
    return f"{data(setting)}, {network(setting)}"


def _panels(book: Book, cells: Sequence[Shown]) -> dict[str, Panel]:
    """The curves by group and by what they ran on; the same runs are drawn once."""
    panels: dict[str, Panel] = {}
    seen: set[tuple[str, str]] = set()
    for name, members in grouped(cells).items():
        for label, s in members:
            at = (s.cell.settings[s.scale].key, s.scale)
            runs = _curves(book, s)
            if runs and at not in seen:
                panels.setdefault(_title(name, s), []).append((label, runs))
            seen.add(at)
    return panels


def _title(name: str, s: Shown) -> str:
    """Title: the place in the paper's table, without what was not run, and the run."""
    where = name if s.status == COMPARABLE else without_names(name)
    return f"{where}: {_ran(s)}" if where else _ran(s)


def _curves(book: Book, s: Shown) -> list[np.ndarray]:
    found = lines_of(s.cell, s.scale, book.found)
    lines = [[v for v in line["curve"] if v is not None] for line in found]
    return [100 * np.asarray(curve) for curve in lines if len(curve) > 1]


def _mean(runs: Sequence[np.ndarray]) -> np.ndarray:
    shortest = min(map(len, runs))
    return np.mean([run[:shortest] for run in runs], axis=0)


def _end(runs: Sequence[np.ndarray]) -> float:
    return float(np.mean([run[-1] for run in runs]))


def _looks(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The book's look where a method has one, another for each of the rest."""
    own = {n: LOOKS[n] for n in labels if n in LOOKS}
    taken = {look.color for look in own.values()}
    free = [c for c in CLASSES if c not in taken] or list(CLASSES)
    looks = {n: {"color": k.color, "linestyle": k.linestyle} for n, k in own.items()}
    for i, n in enumerate(n for n in labels if n not in own):
        dashes = _STYLES[(i // len(free)) % len(_STYLES)]
        looks[n] = {"color": free[i % len(free)], "linestyle": dashes}
    return looks


@styled
def _drawn(panels: dict[str, Panel], band: bool = False) -> Figure:
    labels = list(dict.fromkeys(label for p in panels.values() for label, _ in p))
    looks = _looks(labels)
    ncols = 2 if len(panels) > 1 else 1
    nrows = math.ceil(len(panels) / ncols)
    titles = [_wrapped(name, _LETTERS // ncols) for name in panels]
    high = _PANEL + _LINE * (max(map(len, titles)) - 1)
    fig, axes = canvas(_WIDTH, nrows * high, nrows, ncols, squeeze=False)
    for ax, title, lines in zip(axes.flat, titles, panels.values(), strict=False):
        _panel(ax, "\n".join(title), lines, looks, band)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for row in axes:
        row[0].set_ylabel("accuracy (%)")
    handles = [
        axes.flat[0].plot([], [], linewidth=2, label=n, **looks[n])[0] for n in labels
    ]
    legend(fig, handles, 3, "outside lower left")
    return fig


def _wrapped(title: str, most: int) -> list[str]:
    """A title in lines of at most that many letters: first the place, then the run."""
    if len(title) <= most:
        return [title]
    parts = title.replace(": ", ":\n").splitlines()
    return [line for part in parts for line in textwrap.wrap(part, most)]


def _panel(
    ax: Axes, name: str, lines: Panel, looks: dict[str, dict], band: bool
) -> None:
    low, high = math.inf, -math.inf
    for label, runs in lines:
        if band:
            _band(ax, runs, looks[label]["color"])
        for run in [] if band else runs:
            ax.plot(*_thinned(run), linewidth=0.7, alpha=0.45, **looks[label])
        mean = _mean(runs)
        ax.plot(*_thinned(mean), linewidth=2, **looks[label])
        later = np.concatenate([run[len(run) // 5 :] for run in runs])
        low, high = min(low, later.min()), max(high, later.max())
    room = 0.06 * max(high - low, 1.0)
    ax.set(title=name, xlabel="round", ylim=(low - room, high + room))
    ax.locator_params(axis="x", integer=True)
    ax.grid(axis="y", color=INK)


def _band(ax: Axes, runs: Sequence[np.ndarray], colour: str) -> None:
    """From the lowest seed to the highest, round by round."""
    shortest = min(map(len, runs))
    every = np.array([run[:shortest] for run in runs])
    (at, low), (_, high) = _thinned(every.min(0)), _thinned(every.max(0))
    ax.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)


def _thinned(run: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rounds, from 1, and values, at no more points than can be seen."""
    n = len(run)
    at = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int))
    return at + 1, run[at]

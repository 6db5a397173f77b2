"""A panel from the ledger: a sweep over columns."""

from collections.abc import Iterator, Mapping

import numpy as np
from IPython.display import HTML

from fedlab_book.bench import pm
from fedlab_book.figures import INK, canvas, look, show, styled
from fedlab_core.errors import require
from fedlab_core.metrics.scores import mean_interval
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.provenance import lines_of
from fedlab_ledger.report.book import Book

Values = dict[int, float]  # by seed


def sweep(
    book: Book,
    path: str,
    at: Mapping[str, str],
    *,
    gains: bool = False,
    scale: str = "small",
) -> dict[str, np.ndarray]:
    """By row of a table: what was measured in the columns `at`, (seeds, columns).

    With `gains`, what a row has over the row that it is declared to be compared with,
    seed by seed; rows compared with none are left out. So are those that are not yet
    measured in every column. A run that diverged is not a number.
    """
    seen: dict[str, dict[str, Values]] = {}
    base: dict[str, str] = {}
    for cell, lines in _measured(book, path, scale):
        if cell.column in at:
            values = {line["seed"]: _value(line) for line in lines}
            seen.setdefault(cell.row, {})[cell.column] = values
            if cell.over:
                base[cell.row] = cell.over[1]
    found = {}
    for row, columns in seen.items():
        both = [columns, seen.get(base.get(row, ""), {})] if gains else [columns]
        if (gains and row not in base) or any(c not in b for b in both for c in at):
            continue
        seeds = sorted(set.intersection(*(set(b[c]) for b in both for c in at)))
        parts = [np.array([[b[c][s] for c in at] for s in seeds]) for b in both]
        found[row] = parts[0] - parts[1] if gains else parts[0]
    return found


def _value(line: Line) -> float:
    return float("nan") if line["value"] is None else line["value"]


def swept(
    found: Mapping[str, np.ndarray],
    at: Mapping[str, str],
    labels: tuple[str, str],
    alt: str,
    caption: str,
    looks: Mapping[str, str] | None = None,
    paper: Mapping[str, Mapping[str, float]] | None = None,
) -> HTML:
    """A line a row, with 95 % intervals; `looks` names the method a row looks like.

    `paper` has what the paper prints, by row and column: stars beside the lines.
    """
    require(bool(found), "no row was measured in every column")
    printed = paper or {}
    strange = [
        (r, c) for r in printed for c in printed[r] if r not in found or c not in at
    ]
    require(not strange, f"nothing beside the paper's {strange[:1]}")
    named = {row: (looks or {}).get(row, row) for row in found}
    said = []
    for row, values in found.items():
        each = zip(at.values(), values.T, strict=True)
        ours = ", ".join(f"{pm(v, sign='')} at {x}" for x, v in each)
        theirs = ", ".join(f"{v:g} at {at[c]}" for c, v in printed.get(row, {}).items())
        said.append(f"{row}: {ours}" + (f" (the paper: {theirs})" if theirs else ""))
    fig = _swept(found, at, labels, named, printed)
    return show(fig, f"{alt} {'; '.join(said)}.", caption)


@styled
def _swept(
    found,
    at: Mapping[str, str],
    labels: tuple[str, str],
    named: Mapping[str, str],
    printed: Mapping[str, Mapping[str, float]],
):
    fig, ax = canvas(560, 340)
    star = {"marker": "*", "markersize": 14, "markeredgecolor": INK, "linestyle": ""}
    for i, (row, values) in enumerate(found.items()):
        mean, half = mean_interval(values, 0)
        aside = np.arange(len(at)) + 0.06 * (i - (len(found) - 1) / 2)
        style = look(named[row])
        ax.errorbar(aside, mean, yerr=half, capsize=3, label=row, **style)
        theirs = printed.get(row, {})
        spots = [aside[[*at].index(column)] for column in theirs]
        ax.plot(spots, [*theirs.values()], color=style["color"], **star)
    if printed:
        ax.plot([], [], color=INK, label="the paper's", **star)
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, linestyle=":", linewidth=1)
    ax.set_xticks(range(len(at)), [*at.values()])
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.grid(axis="y")
    fig.legend(loc="outside upper left", ncols=2)
    return fig


def _measured(book: Book, path: str, scale: str) -> Iterator[tuple[Cell, list[Line]]]:
    """A table's cells that were measured at a scale, each with its lines."""
    require(path in book.tables, f"unknown table {path!r}")
    for cell in book.tables[path].cells:
        if lines := lines_of(cell, scale, book.found):
            yield cell, lines

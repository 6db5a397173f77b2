"""Stored lines as the shared panels take them: differences, settings, rounds, maps.

A cell is named as in a paper's data files, "table row | column". A comparison of two
is "table row | column > row | column": the first less the second, seed by seed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from fedlab_book.findings import Row
from fedlab_book.panels import Panel, beside, course, gains, grid, sweep
from fedlab_core.errors import InputError, require
from fedlab_ledger.judge.claims import Judged
from fedlab_ledger.model.cells import SCALES, Cell
from fedlab_ledger.model.describe import data, in_words, network, ran_on
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.provenance import counted
from fedlab_ledger.model.verdict import LEAST
from fedlab_ledger.report.book import Book

Plain = Mapping[str, Any]
COMPARED = re.compile(r" ([<>~]) ")
_MOST = 80  # points of a drawn curve: more cannot be told apart


@dataclass(frozen=True)
class Ran:
    """The setting of a number: data and network, the whole, how many seeds."""

    short: str
    whole: str
    seeds: int


@dataclass(frozen=True)
class Paper:
    """A paper's stored lines and judged claims, asked for by the names of its files."""

    book: Book
    name: str
    claims: Mapping[str, Judged]

    def cell(self, text: str) -> Cell:
        """The cell called "table row | column"."""
        table, _, rest = text.partition(" ")
        row, _, column = rest.partition(" | ")
        path = f"{self.name}/{table}"
        require(path in self.book.tables, f"unknown table {path!r}")
        found = self.book.tables[path].at(row, column)
        if found is None:
            raise InputError(f"{self.name}: there is no cell {text!r}")
        return found

    def claim(self, name: str) -> Judged:
        """The claim of that name, with its verdict."""
        require(name in self.claims, f"{self.name}: there is no claim {name!r}")
        return self.claims[name]

    def lines(self, cells: Sequence[Cell]) -> list[dict[int, Line]]:
        """Every cell's lines by seed, at the largest scale that can decide them all."""
        for least, scale in product((LEAST, 1), reversed(SCALES[1:])):
            found = [counted(cell, scale, self.book.found) for cell in cells]
            if all(len(lines) >= least for lines in found):
                return found
        where = "; ".join(cell.name for cell in cells)
        raise InputError(f"not measured at one scale: {where}")

    def ran(self, cells: Iterable[Cell], scale: str, seeds: int) -> list[Ran]:
        """Each setting once that these cells ran on at a scale."""
        settings = [c.settings[scale] for c in cells]
        each = (Ran(f"{data(s)}, {network(s)}", ran_on(s), seeds) for s in settings)
        return list(dict.fromkeys(each))


Drawn = tuple[Panel, list[Ran]]


def compared(paper: Paper, text: str) -> tuple[list[Cell], str]:
    """The cells of a comparison, one where it is with zero, and its sign."""
    first, sign, second = COMPARED.split(text)
    table = first.partition(" ")[0]
    other = [] if second == "0" else [paper.cell(f"{table} {second}")]
    return [paper.cell(first), *other], sign


def differences(paper: Paper, text: str) -> np.ndarray:
    """Differences of a comparison's two cells, seed by seed."""
    cells, _ = compared(paper, text)
    lines = paper.lines(cells)
    zero = {seed: {**line, "value": 0.0} for seed, line in lines[0].items()}
    return _less(lines[0], zero if len(lines) == 1 else lines[1]) * _unit(cells[0])


def _less(mine: Mapping[int, Line], theirs: Mapping[int, Line]) -> np.ndarray:
    both = sorted(mine.keys() & theirs.keys())
    return np.array([_value(mine[k]) - _value(theirs[k]) for k in both])


def _there(values: np.ndarray) -> np.ndarray:
    """The seeds that have a number."""
    return values[np.isfinite(values)]


def _value(line: Line) -> float:
    return float("nan") if line["value"] is None else line["value"]


def _unit(cell: Cell) -> float:
    """A share is shown in points."""
    return 100.0 if cell.unit == "share" else 1.0


def _scale(paper: Paper, cells: Sequence[Cell], lines: Sequence[Any]) -> str:
    """Scale at which these lines were measured."""
    for scale in SCALES:
        found = [counted(cell, scale, paper.book.found) for cell in cells]
        if found == list(lines):
            return scale
    raise InputError(f"no scale of {cells[0].name}")


def _about(paper: Paper, cells: Sequence[Cell], lines: Sequence[Any]) -> list[Ran]:
    scale, many = _scale(paper, cells, lines), max(map(len, lines))
    return paper.ran(cells, scale, many)


def _gains(paper: Paper, asked: Plain) -> Drawn:
    """Rows by label: a claim's gain beside the paper's, or a comparison of cells."""
    rows, about = [], list[Ran]()
    for label, text in asked["rows"].items():
        if COMPARED.search(text):
            cells, _ = compared(paper, text)
            about += _about(paper, cells, paper.lines(cells))
            ours = _there(differences(paper, text))
            rows.append(Row(label, ours, paper=_printed(cells)))
            continue
        judged = paper.claim(text)
        require(judged.scale != "-", f"{paper.name}: {text!r} was not run")
        unit, gain = _unit(judged.claim.cell), judged.claim.gain
        values = _there(_less(judged.mine, judged.theirs) * unit)
        printed = None if gain is None else gain * unit
        rows.append(Row(label, values, paper=printed))
        about += paper.ran(judged.claim.sides, judged.scale, len(values))
    unit = asked.get("unit", "points")
    return gains(rows, unit, asked.get("title", "")), list(dict.fromkeys(about))


def _printed(cells: Sequence[Cell]) -> float | None:
    """The paper's difference of two cells, if it prints both."""
    values = [cell.paper_value for cell in cells]
    if len(values) < 2 or None in values:
        return None
    return _unit(cells[0]) * (values[0] - values[1])  # type: ignore[operator]


def _beside(paper: Paper, asked: Plain) -> Drawn:
    """Rows by label: the paper's number, and ours at its own scale."""
    cells = {label: paper.cell(text) for label, text in asked["rows"].items()}
    lines = {k: counted(c, "paper", paper.book.found) for k, c in cells.items()}
    pairs, about = [], list[Ran]()
    for label, cell in cells.items():
        unit, theirs = _unit(cell), cell.paper_value
        ours = unit * np.array([_value(line) for line in lines[label].values()])
        pairs.append((label, None if theirs is None else theirs * unit, ours))
        about += paper.ran([cell], "paper", len(ours))
    unit = asked.get("unit", "test accuracy (%)")
    return beside(pairs, unit, asked.get("title", "")), list(dict.fromkeys(about))


def _places(text: str, at: Sequence[str]) -> list[str]:
    return [text.replace("{}", x) for x in at]


def _values(
    paper: Paper, places: Sequence[str], over: bool
) -> tuple[np.ndarray, list[Ran]]:
    """Values of some cells, or what each has over the one that it is compared with.

    (seeds, cells), of the seeds that all of them have.
    """
    cells = [paper.cell(text) for text in places]
    base = [_base(paper, cell) for cell in cells] if over else []
    lines = paper.lines([*cells, *base])
    seeds = sorted(set.intersection(*(set(found) for found in lines)))
    found = np.array([[_value(x[s]) for x in lines] for s in seeds])
    mine, theirs = found[:, : len(cells)], found[:, len(cells) :]
    unit = np.array([_unit(cell) for cell in cells])
    about = _about(paper, [*cells, *base], lines)
    return unit * (mine - theirs if over else mine), about


def _base(paper: Paper, cell: Cell) -> Cell:
    if cell.over is None:
        raise InputError(f"{cell.name} is compared with nothing")
    table, row = cell.over
    return paper.cell(f"{table} {row} | {cell.column}")


def _sweep(paper: Paper, asked: Plain) -> Drawn:
    """Lines by name, "row | column" with {} for each place of `at`."""
    found, about = dict[str, np.ndarray](), list[Ran]()
    for name, text in asked["lines"].items():
        places = _places(f"{asked['table']} {text}", asked["at"])
        found[name], ran = _values(paper, places, asked.get("over", False))
        about += ran
    panel = sweep(
        found,
        asked.get("names", asked["at"]),
        label=asked["label"],
        along=asked["along"],
        title=asked.get("title", ""),
        colours=asked.get("colours"),
    )
    return panel, list(dict.fromkeys(about))


def _grid(paper: Paper, asked: Plain) -> Drawn:
    """A map of what cells have over theirs: [] for each row, {} for each column."""
    rows, at = asked["down"], asked["at"]
    text = f"{asked['table']} {asked['place']}"
    places = [p for r in rows for p in _places(text.replace("[]", r), at)]
    found, about = _values(paper, places, asked.get("over", True))
    means = np.nanmean(found, 0).reshape(len(rows), len(at))
    names = [asked.get("row", "{}").format(r) for r in rows]
    tops = [asked.get("column", "{}").format(c) for c in at]
    label, most = asked["label"], asked.get("most", float(np.abs(means).max()))
    title = asked.get("title", "")
    return grid(means, names, tops, label=label, title=title, most=most), about


def _course(paper: Paper, asked: Plain) -> Drawn:
    """Lines by name, "row | column": what was seen of a run, or else its accuracy.

    With `over`, what each has over that place, seed by seed; with `from`, from that
    round on.
    """
    places = [*asked["lines"].values(), *filter(None, [asked.get("over")])]
    cells = [paper.cell(f"{asked['table']} {text}") for text in places]
    lines = paper.lines(cells)
    seen = [_rounds(found) for found in lines]
    seeds = sorted(set.intersection(*(set(found) for found in seen)))
    short = min(len(curve) for found in seen for curve in found.values())
    every = np.array([[found[s][:short] for s in seeds] for found in seen])
    curves = every[:-1] - every[-1:] if "over" in asked else every
    at = np.flatnonzero(np.isfinite(curves).all((0, 1)))
    first = asked.get("from", 1)
    at = at[at + 1 >= first]
    at = at[np.unique(np.linspace(0, len(at) - 1, _MOST).round().astype(int))]
    panel = course(
        {n: c[:, at] for n, c in zip(asked["lines"], curves, strict=True)},
        label=asked["label"],
        at=[int(t) + 1 for t in at],
        title=asked.get("title", f"from round {first} on" if first > 1 else ""),
        colours=asked.get("colours"),
        zero=asked.get("zero", "over" in asked),
        digits=asked.get("digits", 1),
    )
    return panel, _about(paper, cells, lines)


def _rounds(found: Mapping[int, Line]) -> dict[int, np.ndarray]:
    """Values round by round, by seed; one that diverged is left out."""
    made = dict[int, np.ndarray]()
    for seed, line in found.items():
        seen = next(iter(line.get("seen", {}).values()), None)
        curve = 100 * np.array(line["curve"], float) if seen is None else seen
        if not line["diverged"]:
            made[seed] = np.array(curve, float)
    return made


KINDS: dict[str, Callable[[Paper, Plain], Drawn]] = {
    "gains": _gains,
    "beside": _beside,
    "sweep": _sweep,
    "grid": _grid,
    "course": _course,
}


def panel_of(paper: Paper, asked: Plain) -> Drawn:
    """A panel that an entry asks for, and on what its numbers were measured."""
    kind = asked.get("kind", "")
    require(kind in KINDS, f"kind={kind!r}: one of {', '.join(KINDS)}")
    return KINDS[kind](paper, asked)


def told(about: Sequence[Ran], usual: str) -> str:
    """Settings that a picture's numbers were measured on, if not the usual one."""
    if all(r.whole == usual for r in about):
        return ""
    parts = []
    for short in dict.fromkeys(r.short for r in about):
        mine = [r for r in about if r.short == short]
        rest = [r.whole.removeprefix(f"{short}, ").split(", ") for r in mine]
        seeds = sorted({r.seeds for r in mine})
        many = (
            in_words(seeds[-1])
            if len(seeds) == 1
            else f"{seeds[0]} to {seeds[-1]} seeds"
        )
        each = [several(column) for column in zip(*rest, strict=True)]
        parts.append(", ".join([short, *each, many]))
    return f"Ran on {'; '.join(parts)}."


def several(texts: Iterable[str]) -> str:
    """Different texts as one: "25 or 100 rounds", "ResNet-20, ResNet-56 or VGG-9"."""
    each = list(dict.fromkeys(texts))
    tails = [text.partition(" ")[2] for text in each]
    if len(each) > 1 and tails[0] and len(set(tails)) == 1:
        return f"{several(text.partition(' ')[0] for text in each)} {tails[0]}"
    return " or ".join(filter(None, [", ".join(each[:-1]), each[-1]]))

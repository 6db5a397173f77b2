"""A paper's numbers, read from the TOML file of its folder: each is typed once, there.

A table of the file says what holds for all its cells (title, where, unit, metric, ...),
`columns`, and `rows`: a line of numbers each, "-" where the paper has none, "." where
there is no cell; rows without any number are a list of names. `row` and `column` say
what holds for one of them alone, `spread` what the paper prints after ±. A `metric`
of a row that begins with a colon follows the column's. `turned` tables have the
ledger's columns as their lines. `by` rows at a time go column by column. A table of
several `parts` has columns and rows in each. `joined` lines are named with their
column, "row, column", and make the one column that it says. "= table row" stands for
the numbers of an earlier row. `cited` tables are quoted in chapters and are no cells.
Lists of `names` that are used twice stand at the top.
"""

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fedlab_core.errors import InputError, require
from fedlab_ledger.model import Cell, Table

Plain = dict[str, Any]
Pairs = dict[tuple[str, str], float | None]

_OF_CELLS = (
    "where", "unit", "metric", "tolerance", "better", "reading", "over", "lacks"
)  # fmt: skip
_OF_PARTS = (*_OF_CELLS, "columns", "rows", "spread", "by", "turned")
_OF_TABLES = (*_OF_PARTS, "row", "column", "joined", "title", "parts", "cited")


@dataclass(frozen=True)
class Printed:
    """A place in a paper's tables: what is printed there, and what is said of it."""

    table: str
    row: str
    column: str
    value: float | None = None
    spread: float | None = None
    fields: Plain = field(default_factory=dict)


@dataclass(frozen=True)
class Sheet:
    """A table of a paper as its file has it, in the order of its cells."""

    name: str
    title: str
    cited: bool
    cells: tuple[Printed, ...]

    @property
    def rows(self) -> list[str]:
        """The names of the rows, in order."""
        return list(dict.fromkeys(c.row for c in self.cells))

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(dict.fromkeys(c.column for c in self.cells))

    def at(self, row: str, column: str) -> Printed:
        """The number, its spread and fields in that place."""
        found = {(c.row, c.column): c for c in self.cells}
        for name, some in ((row, self.rows), (column, self.columns)):
            there = ", ".join(some)
            require(name in some, f"{self.name} has no {name!r}: it has {there}")
        require((row, column) in found, f"{self.name} has no {row} | {column}")
        return found[row, column]


def read(path: Path) -> Mapping[str, Any]:
    """Return a TOML file; an `InputError` names it where it is no such file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{_short(path)}: {error}") from None


def known(
    path: Path,
    where: str,
    given: Iterable[str],
    names: Collection[str],
    needed: Iterable[str] = (),
) -> None:
    """Raise an `InputError` that names file and key where a key is unknown or lacks."""
    at, there = f"{_short(path)}: {where}", set(given)
    for key in given:
        require(key in names, f"{at}: unknown key {key!r} ({', '.join(names)})")
    for key in needed:
        require(key in there, f"{at}: there is no {key!r}")


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@cache
def sheets(path: Path) -> Mapping[str, Sheet]:
    """The tables of a file of numbers, by name."""
    file = dict(read(path))
    reader = _Reader(path, file.pop("names", {}))
    return {name: reader.sheet(name, table) for name, table in file.items()}


@dataclass
class _Reader:
    """A file's names, and the numbers read so far: {(table, row, column): number}."""

    path: Path
    names: Mapping[str, list[str]]
    before: dict[tuple[str, str, str], float | None] = field(default_factory=dict)

    def sheet(self, name: str, table: Plain) -> Sheet:
        """One table of the file."""
        known(self.path, name, table, _OF_TABLES, ["title"])
        for what in ("row", "column"):
            for line in table.get(what, {}).values():
                known(self.path, f"{name}.{what}", line, _OF_CELLS)
        cells: list[Printed] = []
        for part in table.get("parts", [{}]):
            known(self.path, name, part, _OF_PARTS)
            known(self.path, name, table | part, _OF_TABLES, ["rows", "columns"])
            cells += self._cells(name, table | part)
            self.before |= {(name, c.row, c.column): c.value for c in cells}
        title, cited = table["title"], table.get("cited", False)
        made = Sheet(name, title, cited, tuple(cells))
        for what, names in (("row", made.rows), ("column", made.columns)):
            known(self.path, f"{name}.{what}", table.get(what, {}), names)
        return made

    def _cells(self, name: str, part: Plain) -> Iterator[Printed]:
        """The cells of a part, `by` rows at a time."""
        lines, across = (self._list(name, part[k]) for k in ("rows", "columns"))
        values = self._typed(name, part["rows"], lines, across)
        spreads = self._typed(name, part.get("spread", {}), lines, across)
        turned, joined = part.get("turned", False), part.get("joined", "")
        rows, columns = (across, lines) if turned else (lines, across)
        by = part.get("by", 1)
        for i in range(0, len(rows), by):
            for column in columns:
                for row in rows[i : i + by]:
                    at = (column, row) if turned else (row, column)
                    if at in values:
                        place = (
                            (f"{row}, {column}", joined) if joined else (row, column)
                        )
                        said = _said(name, *place, part)
                        yield Printed(name, *place, values[at], spreads.get(at), said)

    def _list(self, table: str, given: str | list[str] | Mapping) -> list[str]:
        """The names of rows or columns; a text is the name of a list of them."""
        if isinstance(given, str):
            says = f"{_short(self.path)}: {table}: no names {given!r}"
            require(given in self.names, says)
            given = self.names[given]
        return list(given)

    def _typed(
        self, name: str, rows: Any, lines: list[str], columns: list[str]
    ) -> Pairs:
        """{(line, column): number} of typed lines."""
        found: Pairs = {}
        if not isinstance(rows, dict):
            return {(line, column): None for line in lines for column in columns}
        for line, text in rows.items():
            at = f"{_short(self.path)}: {name}, {line}"
            require(line in lines, f"{at}: no such row")
            words = text.split()
            if words[0] == "=":
                table, row = words[1], " ".join(words[2:])
                places = [(table, row, c) for c in columns]
                there = all(p in self.before for p in places)
                require(there, f"{at}: there is no {table} {row}")
                found |= {(line, p[2]): self.before[p] for p in places}
                continue
            fits = len(words) == len(columns)
            require(fits, f"{at}: {len(words)} numbers for {len(columns)} columns")
            for column, word in zip(columns, words, strict=True):
                if word != ".":
                    found[line, column] = _number(word, at)
        return found


def _number(word: str, at: str) -> float | None:
    if word == "-":
        return None
    try:
        return float(word)
    except ValueError:
        raise InputError(f"{at}: {word!r} is no number") from None


def _said(table: str, row: str, column: str, part: Plain) -> Plain:
    """Fields of a cell: the table's, then the column's, then the row's."""
    of_column = part.get("column", {}).get(column, {})
    of_row = part.get("row", {}).get(row, {})
    every = {k: v for k, v in part.items() if k in _OF_CELLS}
    said = every | of_column | of_row
    if said.get("metric", "").startswith(":"):
        begins = (every | of_column).get("metric", "")
        said["metric"] = begins + said["metric"]
    beside = said.pop("over", "")
    if beside and beside != row:
        said["over"] = (table, beside)
    return said


def tables(
    paper: str, found: Mapping[str, Sheet], run: Callable[[Printed], Plain]
) -> tuple[Table, ...]:
    """The paper's tables; `run` has the other fields of each cell: what is run."""
    return tuple(
        Table(paper, s.name, s.title, tuple(_cell(paper, p, run) for p in s.cells))
        for s in found.values()
        if not s.cited
    )


def _cell(paper: str, p: Printed, run: Callable[[Printed], Plain]) -> Cell:
    about: Plain = {"settings": {}, "paper_value": p.value, "paper_spread": p.spread}
    return Cell(paper, p.table, p.row, p.column, **about | p.fields | run(p))

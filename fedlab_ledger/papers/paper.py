"""One record a paper, read from the data files of its folder.

`numbers.toml` has its tables, `claims.csv` a claim a line, `differences.toml` and
`gaps.toml` what they are called after, `paper.toml` the rest. What runs is code beside
them: `tables.py` for the cells, `readings.py` for the differences.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fedlab_core.errors import InputError, require
from fedlab_ledger.model import Cell, Claim, Table
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.papers.differences import Difference, Pair, differences_of
from fedlab_ledger.papers.gaps import Gap, gaps_of
from fedlab_ledger.papers.numbers import Sheet, known, read, sheets

_COLUMNS = (
    "name", "sentence", "cell", "beside", "sign", "said", "tolerance", "without",
    "role", "setting",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A paper's main claim as its authors would say it, and what one needs for it.

    `changes` is which choice of a round is another than FedAvg's, `made` what the paper
    tells its gains for: data, clients, rounds, what is reported. In the common field
    it plays as `arm`, on the table `judged`; `controls` need what it needs.
    """

    paper: str
    changes: str
    claim: str
    made: str
    needs: str
    arm: str
    judged: str = "for_all"
    controls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """All that the ledger knows of a paper; `chapter` is the book's on it."""

    id: str
    name: str
    chapter: int
    numbers: Mapping[str, Sheet]
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    differences: tuple[Difference, ...]
    gaps: tuple[Gap, ...]
    headline: Headline
    question: Question


def paper(
    folder: Path, tables: Sequence[Table], readings: Mapping[str, Pair] | None = None
) -> Paper:
    """The record of the paper whose folder that is."""
    path, name = folder / "paper.toml", folder.name
    about = read(path)
    parts = ("name", "chapter", "headline", "question")
    known(path, "the file", about, parts, parts)
    asked = about["question"]
    names = {f.name for f in fields(Question)} - {"paper"}
    known(path, "question", asked, names, ["changes", "claim", "made", "needs", "arm"])
    controls = tuple(asked.get("controls", ()))
    by_name = {t.name: t for t in tables}
    claims = _claims(folder / "claims.csv", name, by_name)
    return Paper(
        name,
        about["name"],
        about["chapter"],
        sheets(folder / "numbers.toml"),
        tuple(tables),
        claims,
        differences_of(folder / "differences.toml", name, readings or {}),
        gaps_of(folder / "gaps.toml", claims),
        _headline(path, name, about["headline"], by_name),
        Question(name, **asked | {"controls": controls}),
    )


def place(path: Path, tables: Mapping[str, Table], text: str) -> Cell:
    """The cell that is called "table row | column"."""
    name, _, rest = text.partition(" ")
    row, _, column = rest.partition(" | ")
    cell = tables[name].at(row, column) if name in tables else None
    if cell is None:
        raise InputError(f"{path.parent.name}/{path.name}: there is no cell {text!r}")
    return cell


def _claims(path: Path, paper: str, tables: Mapping[str, Table]) -> tuple[Claim, ...]:
    """A claim a line; empty are a sign of 1, a tolerance of 1, the role "study"."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file, delimiter=";")
    known(path, "the first line", head, _COLUMNS, _COLUMNS)
    made = []
    for line in lines:
        fits = len(line) == len(_COLUMNS)
        at = f"{paper}/{path.name}: {line[0]}"
        require(fits, f"{at}: {len(line)} fields for {len(_COLUMNS)} columns")
        row = dict(zip(head, line, strict=True))
        made.append(_claim(path, paper, tables, row))
    return tuple(made)


def _claim(
    path: Path, paper: str, tables: Mapping[str, Table], row: Mapping[str, str]
) -> Claim:
    cell, beside = (place(path, tables, row[k]) for k in ("cell", "beside"))
    given: dict[str, Any] = {k: row[k] for k in ("role", "setting") if row[k]}
    where = f"{paper}/{path.name}: {row['name']}"
    if row["without"]:
        given["without"] = place(path, tables, row["without"])
    for name, kind in (("sign", int), ("said", float), ("tolerance", float)):
        if row[name]:
            given[name] = _number(row[name], kind, f"{where}: {name}")
    return Claim(paper, row["name"], row["sentence"], cell, beside, **given)


def _number(text: str, kind: type, where: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is no number") from None


def _headline(
    path: Path, paper: str, about: Mapping[str, Any], tables: Mapping[str, Table]
) -> Headline:
    """The cells of each part column by column."""
    known(path, "headline", about, ("words", "curves", "cells"), ["words", "cells"])
    cells = []
    for part in about["cells"]:
        names = ("table", "rows", "columns")
        known(path, "headline.cells", part, names, names)
        pairs = ((r, c) for c in part["columns"] for r in part["rows"])
        cells += [place(path, tables, f"{part['table']} {r} | {c}") for r, c in pairs]
    return Headline(paper, about["words"], tuple(cells), about.get("curves", ""))

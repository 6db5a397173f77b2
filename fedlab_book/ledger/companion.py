"""A paper, figure by figure: what it says there, our picture, and what ours shows.

`figures.toml` in a paper's folder has an entry for every figure and table, in the
paper's order. `says` is the paper's point; `found` is our sentence, and is held to the
claims and cells that carry it: if one does not any more, the build stops and names the
sentence. A claim's name in braces stands for what its seeds do where they fall into two
groups. `panels` are drawn from stored lines; nothing is trained. What was not run
says what it would take.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from IPython.display import HTML

import fedlab_ledger.papers
from fedlab_book.bench import side
from fedlab_book.findings import Unsupported
from fedlab_book.html import macros
from fedlab_book.ledger.drawings import (
    Paper,
    Ran,
    compared,
    differences,
    panel_of,
    several,
    told,
)
from fedlab_book.ledger.markup import page, place
from fedlab_book.panels import Panel, drawn
from fedlab_core.errors import require
from fedlab_ledger.judge.show import COMPARABLE, NOT_RUN
from fedlab_ledger.model.cells import Setting, Table
from fedlab_ledger.model.describe import clients, data, network
from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.model.provenance import counted
from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
    NO_VERDICT,
    OPPOSITE,
    SAME,
    UNDECIDED,
)
from fedlab_ledger.papers.numbers import known, read
from fedlab_ledger.report.book import NAMES, Book

_html = macros("companion")
_FIELDS = ("of", "also", "title", "says", "found", "holds", "panels", "takes")
_SIDES = {">": 1, "<": -1, "~": 0}
_BRACES = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True)
class Entry:
    """Figures and tables of a paper that show one thing, and what came of it here.

    `also` names what shows it, too, and has no numbers in the ledger.
    """

    of: tuple[str, ...]
    title: str
    says: str
    found: str = ""
    holds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    panels: tuple[Mapping[str, Any], ...] = ()
    takes: str = ""
    also: str = ""


def entries(paper: str) -> list[Entry]:
    """A paper's entries, in its order."""
    folder = Path(fedlab_ledger.papers.__file__).parent / paper
    path, made = folder / "figures.toml", []
    for about in read(path)["entry"]:
        known(path, str(about.get("title")), about, _FIELDS, ["of", "title", "says"])
        given: dict[str, Any] = dict(about)
        given |= {k: tuple(given.get(k, ())) for k in ("of", "panels")}
        made.append(Entry(**given))
    return made


def opened_paper(book: Book, paper: str) -> Paper:
    """A paper's lines and claims by the names of its data files."""
    rows = [*book.claimed(paper), *book.claimed("gaps")]  # searches have other names
    return Paper(book, paper, {j.claim.name: j for j in rows})


def broken(entry: Entry, paper: Paper) -> list[str]:
    """The conditions of an entry's sentence that the stored lines do not meet."""
    require(not entry.found or any(entry.holds.values()), f"{entry.title}: holds what?")
    wrong = []
    for kind, names in entry.holds.items():
        require(kind in _HOLDS, f"holds: unknown {kind!r}")
        wrong += [name for name in names if not _HOLDS[kind](paper, name)]
    return wrong


def _stands(paper: Paper, text: str) -> bool:
    """Whether one cell is above another, below it, or neither, its interval clear."""
    _, sign = compared(paper, text)
    return side(differences(paper, text)) == _SIDES[sign]


def _fits(paper: Paper, text: str) -> bool:
    """Whether a number of ours at the paper's own scale matches the paper's."""
    cell = paper.cell(text)
    (mine,) = [
        s
        for s in paper.book.cells(paper.book.tables[f"{paper.name}/{cell.table}"])
        if s.cell is cell
    ]
    return mine.status == COMPARABLE and mine.word == MATCHES


def _nearer(paper: Paper, text: str) -> bool:
    """Whether ours at the paper's scale is nearer to its number than a claim's rival.

    By every seed of either; one that diverged is near to nothing.
    """
    name, claim = text.split(" < ")
    cell, there = paper.cell(name), paper.claim(claim).theirs
    mine = counted(cell, SCALE, paper.book.found)
    if cell.paper_value is None or not mine or not there:
        return False
    far = [
        [float("inf") if v is None else abs(v - cell.paper_value) for v in values]
        for values in ([x["value"] for x in lines.values()] for lines in (mine, there))
    ]
    return max(far[0]) < min(far[1])


def _missing(paper: Paper, text: str) -> bool:
    """Whether a cell was not run at the paper's scale."""
    return not counted(paper.cell(text), SCALE, paper.book.found)


def _groups(paper: Paper, name: str) -> str:
    """Seeds of a claim that are two groups: 3 seeds by +5.9 and 2 seeds by −39.6."""
    judged = paper.claim(name)
    unit = 100 if judged.claim.cell.unit == "share" else 1
    if not judged.groups:
        raise Unsupported(f"{paper.name}: the seeds of {name!r} are one group")
    upper, lower = ((len(x), unit * float(x.mean())) for x in judged.groups)
    parts = (f"{n} seeds by {x:+.1f}" for n, x in (upper, lower))
    return f"{' and '.join(parts)} points".replace("-", "−")


def _clear(paper: Paper, name: str) -> bool:
    """Whether a claim's gain over all rounds, not the last alone, is clear of zero."""
    judged = paper.claim(name)
    return side(list(judged.whole.values())) == judged.claim.sign


def _further(paper: Paper, text: str) -> bool:
    """Whether one claim's gain over all rounds is clearly above another's."""
    one, other = (paper.claim(name).whole for name in text.split(" > "))
    return side([one[k] - other[k] for k in sorted(one.keys() & other.keys())]) == 1


def _smaller(paper: Paper, name: str) -> bool:
    """Whether a claim has its sign at the paper's scale, and less than its size."""
    j = paper.claim(name)
    gain, mean = j.claim.gain, j.verdict.mean
    if j.verdict.word != SAME or j.stand_in or gain is None:
        return False
    return j.claim.sign * (gain - mean) > j.claim.tolerance


def _one_lost(paper: Paper, name: str) -> bool:
    """Whether exactly one seed has no number, since it diverged."""
    judged = paper.claim(name)
    return judged.diverged == judged.verdict.lost == 1


def _says(*words: str) -> Callable[[Paper, str], bool]:
    """Whether a claim has one of these verdicts."""
    return lambda paper, name: paper.claim(name).verdict.word in words


# What the names under each key of `holds` must be.
_HOLDS: dict[str, Callable[[Paper, str], bool]] = {
    "same": _says(SAME, MATCHES),
    "opposite": _says(OPPOSITE),
    "open": _says(UNDECIDED, DIFFERS, NO_VERDICT),
    "alike": _says(AS_GOOD),
    "matches": _says(MATCHES),
    "less": _smaller,
    "one lost": _one_lost,
    "rounds": _clear,
    "more over rounds": _further,
    "cells": _stands,
    "fits": _fits,
    "nearer": _nearer,
    "not run": _missing,
}


def companion(book: Book, paper: str) -> HTML:
    """The whole page, but for its title and how it is read."""
    mine, every = opened_paper(book, paper), entries(paper)
    drawings = {id(e): _drawings(e, mine) for e in every}
    ran = [r for _, about in drawings.values() for r in about]
    usual = Counter(r.whole for r in ran).most_common(1)[0][0] if ran else ""
    parts = [_section(e, mine, *drawings[id(e)], usual) for e in every]
    links = [(_anchor(e), _place(e, book, paper)) for e in every]
    tables = [book.tables[f"{paper}/{name}"] for e in every for name in e.of]
    return HTML(str(_html.page(_counted(book, tables), usual, links, parts)))


def _drawings(entry: Entry, paper: Paper) -> tuple[list[Panel], list[Ran]]:
    """An entry's panels, and on what they ran; those that differ in it are titled."""
    made = [panel_of(paper, asked) for asked in entry.panels]
    return [panel for panel, _ in made], [r for _, about in made for r in about]


def _section(
    entry: Entry,
    paper: Paper,
    panels: Sequence[Panel],
    about: Sequence[Ran],
    usual: str,
):
    wrong = broken(entry, paper)
    if wrong:
        said = f"the stored lines do not carry {entry.found!r}: {'; '.join(wrong)}"
        raise Unsupported(f"{paper.name}: {said}")
    found = _BRACES.sub(lambda name: _groups(paper, name[1]), entry.found)
    picture = ""
    if panels:
        ran = "; ".join(dict.fromkeys(r.short for r in about))
        caption = told(list(dict.fromkeys(about)), usual) or None
        picture = drawn(*panels, caption=caption, ran=ran, across=1, wide=480)
    book, tables = (
        paper.book,
        [paper.book.tables[f"{paper.name}/{n}"] for n in entry.of],
    )
    more = [*_many(book, tables)]
    anchors = [t.name for t in tables] or [_anchor(entry)]
    return _html.entry(
        anchors,
        _place(entry, book, paper.name),
        replace(entry, found=found),
        picture,
        "" if entry.found else _takes(entry, tables),
        more,
    )


def _anchor(entry: Entry) -> str:
    words = entry.also.lower().replace(" ", "-").replace(",", "")
    return entry.of[0] if entry.of else words


def _place(entry: Entry, book: Book, paper: str) -> str:
    """Its places in the paper: "Table 1, Table 9"."""
    names = [_where(book.tables[f"{paper}/{n}"]) for n in entry.of]
    return ", ".join(filter(None, dict.fromkeys([*names, entry.also])))


def _where(table: Table) -> str:
    """A table's name in the paper, without a part of it: "Figure 2"."""
    name = place(table).replace("Fig.", "Figure").replace("App.", "Appendix")
    return name.rstrip("abcd") if name.startswith("Figure") else name


def _many(book: Book, tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Links to the ledger's tables, of one name together: how many numbers were run."""
    for name in dict.fromkeys(map(_where, tables)):
        mine = [t for t in tables if _where(t) == name]
        done = sum(len(book.measured(t)) for t in mine)
        every = sum(len(t.cells) for t in mine)
        said = f"{name}: {done or 'none'} of {every} numbers run"
        yield f"{page(mine[0].paper)}#{mine[0].name}", said


def _takes(entry: Entry, tables: Sequence[Table]) -> str:
    """Cost of running it, in the entry's words or read off the settings."""
    if entry.takes:
        return entry.takes
    cells = [c for t in tables for c in t.cells if "paper" in c.settings]
    require(bool(cells), f"{entry.title}: say in `takes` what it would take")
    runs = [c.settings["paper"] for c in cells]
    many = len({s.key for s in runs})
    parts = [several(map(part, runs)) for part in (data, network, clients, _rounds)]
    return f"it would take {', '.join(parts)}: {many} run{'s' * (many > 1)} a seed."


def _rounds(s: Setting) -> str:
    return f"{s.rounds} rounds"


def _counted(book: Book, tables: Sequence[Table]) -> str:
    """How much of a paper was measured, and where, in a sentence."""
    own = [_where(t) for t in tables if _status(book, t, own=True)]
    some = sum(_status(book, t) for t in tables)
    said = (
        f"{NAMES[tables[0].paper]} has {len(tables)} tables and figures with numbers. "
        f"Numbers of {some} of them were run"
    )
    if not own:
        return f"{said}, all on stand-ins."
    *rest, last = own
    these = f"{', '.join(rest)} and {last}" if rest else last
    return f"{said}: some of {these} at the paper's own size, the others on stand-ins."


def _status(book: Book, table: Table, own: bool = False) -> bool:
    cells = book.measured(table)
    return any(s.status != NOT_RUN and (s.scale == "paper" or not own) for s in cells)


def named(paper: str) -> Iterator[str]:
    """The tables that a paper's entries name, each as often as they do."""
    return (name for entry in entries(paper) for name in entry.of)

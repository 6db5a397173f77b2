"""The ledger as the book's pages ask for it: tables in groups, counts, gaps.

book = opened()
book.of("feddisco")        # its tables, in order
book.cells(table)          # each with its verdict, at the largest scale there is
"""

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedlab_core.errors import require
from fedlab_ledger.judge.claims import Judged, judged
from fedlab_ledger.judge.show import COMPARABLE, NOT_RUN, Shown, Status, counts, shown
from fedlab_ledger.model.as_needed import as_needed
from fedlab_ledger.model.cells import SCALES, Table
from fedlab_ledger.model.claim import Claim
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.provenance import different, lines_of
from fedlab_ledger.model.store import Store
from fedlab_ledger.papers import CHAPTERS, CLAIMS, HEADLINES, TABLES
from fedlab_ledger.report.headline import Quoted, Tried, quoted, read_costs

RESULTS = Path("results") / "ledger"
AGREEMENT = "agreement.csv"
NAMES = {paper.id: paper.name for paper in CHAPTERS.values()}


@dataclass(frozen=True)
class Book:
    """Everything that is declared, and everything that was measured of it.

    `costs` is what runs were tried to take that are not there yet, `agreed` how closely
    methods follow the papers' published programs.
    """

    tables: Mapping[str, Table]
    found: Found
    claims: Mapping[str, Sequence[Claim]] = field(default_factory=dict)  # by paper
    headlines: Mapping[str, Headline] = field(default_factory=dict)  # by paper
    costs: Tried = field(default_factory=dict)
    agreed: Sequence[Mapping[str, str]] = ()
    _kept: dict[str, list[Shown]] = field(default_factory=dict, repr=False)

    @property
    def papers(self) -> list[str]:
        """Papers that have tables, in the order of the chapters."""
        there = {t.paper for t in self.tables.values()}
        return [p for p in NAMES if p in there]

    def of(self, paper: str) -> list[Table]:
        """A paper's tables."""
        known = ", ".join(self.papers)
        require(paper in self.papers, f"unknown paper {paper!r}: one of {known}")
        return [t for t in self.tables.values() if t.paper == paper]

    def cells(self, table: Table) -> list[Shown]:
        """A table's cells with their verdicts, at the largest scale measured."""
        if table.path not in self._kept:
            self._kept[table.path] = shown(table, self.found)
        return self._kept[table.path]

    def lines(self, s: Shown) -> list[Line]:
        """Lines that were measured of a cell at the scale that it is shown at."""
        return lines_of(s.cell, s.scale, self.found)

    def measured(self, table: Table) -> list[Shown]:
        """A table's cells that were run; smoke tests do not count."""
        return [s for s in self.cells(table) if s.status != NOT_RUN]

    def done(self, tables: Sequence[Table]) -> dict[str, tuple[int, int]]:
        """By scale, how many cells were measured and how many could be."""
        cells = [c for t in tables for c in t.cells]
        both = {}
        for scale in SCALES:
            can = [c for c in cells if scale in c.settings]
            there = sum(bool(self.found.of(c.key(scale))) for c in can)
            both[scale] = (there, len(can))
        return both

    def counts(self, tables: Sequence[Table]) -> dict[Status, int]:
        """How many cells were measured, beside what: together they are all."""
        return counts([s for t in tables for s in self.cells(t)])

    def verdicts(self, tables: Sequence[Table]) -> dict[str, int]:
        """How many of the comparable cells have each verdict."""
        cells = (s for t in tables for s in self.cells(t))
        return dict(Counter(s.word for s in cells if s.status == COMPARABLE))

    def claimed(self, paper: str, tables: Sequence[str] = ()) -> list[Judged]:
        """The verdicts on a paper's claims, or on those drawn from some tables."""
        claims = self.claims.get(paper, ())
        wanted = [c for c in claims if not tables or c.cell.table in tables]
        return judged(wanted, self.found)

    def headline(self, paper: str) -> list[Quoted]:
        """A paper's headline table, with what is there at the paper's scale."""
        known = ", ".join(self.headlines)
        require(paper in self.headlines, f"no headline of {paper!r}: one of {known}")
        return quoted(self.headlines[paper], self.found, self.costs)

    def headline_claims(self, paper: str) -> list[Judged]:
        """The claims that compare two cells of the headline, at the paper's scale."""
        mine = self.headlines[paper].claims(self.claims.get(paper, ()))
        return judged(mine, self.found, "paper")

    def seconds(self, tables: Sequence[Table]) -> float:
        """The time that the runs behind these tables took, at all scales."""
        lines = [
            line
            for t in tables
            for c in t.cells
            for scale in SCALES
            for line in lines_of(c, scale, self.found)
        ]
        return sum(line["seconds"] for line in different(lines))

    def gaps(self, paper: str, most: int = 3) -> list[Shown]:
        """The cells at the paper's scale that are furthest off, in tolerances."""
        off = [s for s in self.comparable(paper) if distance(s) > 1]
        return sorted(off, key=distance, reverse=True)[:most]

    def comparable(self, paper: str) -> list[Shown]:
        """The cells at the paper's scale; those of one and the same run once."""
        once: dict[tuple, Shown] = {}
        for s in (s for t in self.of(paper) for s in self.measured(t)):
            if s.status == COMPARABLE:
                run = [(v["seed"], v["value"], *v["curve"]) for v in self.lines(s)]
                once.setdefault((s.cell.paper_value, *run), s)
        return list(once.values())


def distance(s: Shown) -> float:
    """How far our mean is from the paper's number, in tolerances; 0 without either."""
    there, ours = s.cell.paper_value, s.verdict.mean
    if there is None or not math.isfinite(ours):
        return 0.0
    return abs(ours - there) / max(s.cell.tolerance, 1e-9)


def opened(folder: Path | str | None = None) -> Book:
    """The ledger of this project: of the folder, or of the nearest one above here."""
    at = Path(folder) if folder is not None else _nearest()
    known = folder is None or at.is_dir()
    require(known, f"there is no ledger {at}: `run` makes one")
    found = as_needed(Store(at), TABLES.values())
    return Book(TABLES, found, CLAIMS, HEADLINES, read_costs(at), _agreed(at))


def _agreed(ledger: Path) -> list[dict[str, str]]:
    """The lines of the file on agreement beside a ledger, if there is one."""
    path = ledger.parent / AGREEMENT
    if not path.is_file():
        return []
    return list(csv.DictReader(path.read_text().splitlines()))


def _nearest() -> Path:
    here = Path.cwd()
    found = (p / RESULTS for p in (here, *here.parents) if (p / "results").is_dir())
    return next(found, here / RESULTS)


def grouped(cells: Sequence[Shown]) -> dict[str, list[tuple[str, Shown]]]:
    """Cells that are to be compared, under a common name; each with its own.

    Those of one column, or, where there is only one, of rows that are named alike up to
    the last comma.
    """
    columns = list(dict.fromkeys(s.cell.column for s in cells))
    groups: dict[str, list[tuple[str, Shown]]] = {}
    if len(columns) > 1 or not all(", " in s.cell.row for s in cells):
        for s in cells:
            groups.setdefault(s.cell.column, []).append((s.cell.row, s))
        return groups
    for s in cells:
        head, _, tail = s.cell.row.rpartition(", ")
        groups.setdefault(head, []).append((tail, s))
    return groups


def reasons(cells: Sequence[Shown]) -> dict[str, int]:
    """Why cells were not run at their paper's scale, and how many of them."""
    why: dict[str, int] = {}
    for s in cells:
        if s.status != COMPARABLE:
            said = s.cell.lacks if "paper" not in s.cell.settings else s.verdict.why
            why[said] = why.get(said, 0) + 1
    return why

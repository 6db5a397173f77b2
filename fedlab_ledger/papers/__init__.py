"""Every table of the five papers, as cells: the paper's number, and how to come by it.

A folder a paper, which holds its numbers, claims, differences and gaps as data beside
the code that says what runs; and `field`, where all of them meet. A setting is given at
each scale: "tiny" is the built-in letters for a round or two, "small" letters or a part
of a real set in minutes on a CPU, "paper" what was published. A paper's numbers are
typed once, in its folder, and `printed` reads one of them.
"""

from fedlab_core.errors import InputError, require
from fedlab_ledger.model import Claim, Table
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.papers import fedcollab, feddisco, fedimpro, fedlaw, field, rfedavg
from fedlab_ledger.papers.differences import Difference
from fedlab_ledger.papers.gaps import Gap
from fedlab_ledger.papers.paper import Paper

# A paper is known to everything below, and to the pages, by its place in this list.
_FOLDERS = (feddisco, fedimpro, fedcollab, fedlaw, rfedavg)
PAPERS: dict[str, Paper] = {folder.PAPER.id: folder.PAPER for folder in _FOLDERS}
CHAPTERS: dict[str, Paper] = {  # in the order of the book
    paper.id: paper for paper in sorted(PAPERS.values(), key=lambda p: p.chapter)
}
GAPS: dict[str, tuple[Gap, ...]] = {p.id: p.gaps for p in CHAPTERS.values()}
DIFFERENCES: tuple[Difference, ...] = tuple(
    d for p in CHAPTERS.values() for d in p.differences
)
HEADLINES: dict[str, Headline] = {p.id: p.headline for p in CHAPTERS.values()}
_SEARCHES = [gap for gaps in GAPS.values() for gap in gaps]
TABLES: dict[str, Table] = {
    t.path: t
    for tables in (
        *(p.tables for p in PAPERS.values()),
        field.TABLES,
        [gap.table for gap in _SEARCHES],
    )
    for t in tables
}
# What each paper says beats what, judged by seeds that both were played with.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    **{p.id: p.claims for p in PAPERS.values()},
    "gaps": tuple(claim for gap in _SEARCHES for claim in gap.claims),
}


def printed(
    paper: str, table: str, row: str, column: str, *, spread: bool = False
) -> float:
    """The number that a paper prints in a place: ("feddisco", "table1", ...).

    With `spread` it is the one after ±.
    """
    require(paper in PAPERS, f"unknown paper {paper!r}: one of {', '.join(PAPERS)}")
    found = PAPERS[paper].numbers
    require(table in found, f"{paper} has no {table!r}: it has {', '.join(found)}")
    place = found[table].at(row, column)
    value = place.spread if spread else place.value
    if value is None:
        what = "no spread" if spread else "no number"
        raise InputError(f"{paper}/{table} prints {what} for {row} | {column}")
    return value

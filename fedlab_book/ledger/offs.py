"""Numbers of a headline that are off: the checks of each, and what remains."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_book.ledger.markup import number
from fedlab_ledger.papers import PAPERS
from fedlab_ledger.report.book import NAMES, Book
from fedlab_ledger.report.gap_checks import Checked, Other, checked_of
from fedlab_ledger.report.headline import Quoted

_SEARCHES = "what_did_not_come_out.html"
_DIFFER = "where_paper_and_code_differ.html"
_READ = "how-its-numbers-are-read"
_html = macros("offs")


def offs(book: Book, paper: str, quotes: Sequence[Quoted]) -> Markup | str:
    """A list of the cells that are off by more than allowed; nothing without any."""
    gaps = PAPERS[paper].gaps if paper in PAPERS else ()
    rows = checked_of(quotes, gaps, book.found)
    if not rows:
        return ""
    many = "1 number is" if len(rows) == 1 else f"{len(rows)} numbers are"
    known = PAPERS[paper].differences
    run = sum(not d.why for d in known) or "none"
    said = [[*_checks(row), *_rest(row)] for row in rows]
    same = [s for s in said[0] if len(said) > 1 and all(s in one for one in said)]
    items = [
        _item(row, [s for s in one if s not in same])
        for row, one in zip(rows, said, strict=True)
    ]
    agreed = _agreed(book, paper)
    return _html.list(many, agreed, len(known), run, _READ, _DIFFER, items, same)


def _agreed(book: Book, paper: str) -> str:
    """How far a paper's cells are from the authors' program, where that is known."""
    close = [row for row in book.agreed if row["with the code of"] == NAMES[paper]]
    parts = (f"{row['compared']}: {row['largest difference']}" for row in close)
    said = f"Largest difference from the authors' program: {'; '.join(parts)}. "
    return said * bool(close)


def _item(c: Checked, said: Sequence[str]) -> Markup:
    """How far a number is off, and what is said of it alone."""
    cell = c.quoted.cell
    far = f"{c.quoted.off or 0.0:+.3g}{_unit(cell.unit)}"
    return _html.item(cell, far, f"{cell.tolerance:g}", said)


def _unit(unit: str) -> str:
    return {"%": " points", "share": ""}.get(unit, f" {unit}")


def _checks(c: Checked) -> list[str]:
    """Sentences on the checks, one after another."""
    said = []
    if c.reported:
        said.append(f"Read off the same curves: {_listed(c.reported, c)}.")
    if c.changed:
        said.append(f"Run at this scale with one change: {_listed(c.changed, c)}.")
    return [*said, *_searched(c)]


def _listed(others: Sequence[Other], c: Checked) -> str:
    return "; ".join(_one(o, c.quoted.cell.unit) for o in others)


def _one(o: Other, unit: str) -> str:
    width = f" ± {number(o.half, unit, like=o.mean)}" if math.isfinite(o.half) else ""
    seeds = "1 seed" if len(o.values) == 1 else f"{len(o.values)} seeds"
    fits = ", within the tolerance" * o.fits
    return f"{o.words}, {number(o.mean, unit)}{width} ({seeds}{fits})"


def _searched(c: Checked) -> list[str]:
    """Searches for a claim on this cell, at another scale."""
    return [_html.searched(_SEARCHES, *search) for search in c.searches]


def _rest(c: Checked) -> list[str]:
    """Choices run in one way only, and what would explain the difference."""
    names = "; ".join(f"{name} ({how})" for name, how in c.choices)
    told = " and ".join(o.words for o in c.told)
    said = {f"Run in one way only: {names}.": names, f"It would fit {told}.": told}
    return [sentence for sentence, what in said.items() if what]

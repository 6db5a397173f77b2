"""Where a headline's numbers are off: what was checked for each, and what remains."""

import html
import math
from collections.abc import Sequence

from fedlab_book.ledger.markup import number
from fedlab_ledger.papers import PAPERS
from fedlab_ledger.report.book import NAMES, Book
from fedlab_ledger.report.gap_checks import Checked, Other, checked_of
from fedlab_ledger.report.headline import Quoted

_SEARCHES = "what_did_not_come_out.html"
_DIFFER = "where_paper_and_code_differ.html"
_READ = "how-its-numbers-are-read"
_esc = html.escape


def offs(book: Book, paper: str, quotes: Sequence[Quoted]) -> str:
    """A list of the cells that are off by more than allowed; nothing without any."""
    gaps = PAPERS[paper].gaps if paper in PAPERS else ()
    rows = checked_of(quotes, gaps, book.found)
    if not rows:
        return ""
    items = "".join(f"<li>{_item(row)}</li>" for row in rows)
    many = "1 number is" if len(rows) == 1 else f"{len(rows)} numbers are"
    return (
        f"<p><strong>Off by more than the tolerance.</strong> {many}: below, what was "
        f"checked for each, and what remains. {_for_all(book, paper)}</p>"
        f'<ul class="fl-offs">{items}</ul>'
    )


def _for_all(book: Book, paper: str) -> str:
    """What holds for every cell of a paper: the authors' program, and its reading."""
    close = [row for row in book.agreed if row["with the code of"] == NAMES[paper]]
    parts = (
        f"{_esc(row['compared'])}: {_esc(row['largest difference'])}" for row in close
    )
    said = f"Largest difference from the authors' program: {'; '.join(parts)}. " * bool(
        close
    )
    known = PAPERS[paper].differences
    run = sum(not d.why for d in known) or "none"
    return (
        f"{said}Paper and program are known to differ in {len(known)} things; what the "
        f'cells take is <a href="#{_READ}">said below</a>, and {run} of them were run '
        f'both ways, <a href="{_DIFFER}">on the built-in letters only</a>.'
    )


def _item(c: Checked) -> str:
    cell, off = c.quoted.cell, c.quoted.off or 0.0
    far = f"{off:+.3g}"
    head = (
        f'<strong class="fl-theirs">{_esc(cell.row)} | {_esc(cell.column)}</strong>: '
        f"{far}{_esc(_unit(cell.unit))}, where {cell.tolerance:g} is allowed."
    )
    found = _checks(c)
    return f"{head} <em>Checked:</em> {found} <em>Remains:</em> {_rest(c)}"


def _unit(unit: str) -> str:
    return {"%": " points", "share": ""}.get(unit, f" {unit}")


def _checks(c: Checked) -> str:
    """What was looked at, one after another."""
    said = [] if not c.nothing else ["Nothing was checked for this number."]
    if c.reported:
        said.append(f"Read off the same curves: {_listed(c.reported, c)}.")
    if c.changed:
        said.append(f"Run at this scale with one change: {_listed(c.changed, c)}.")
    elif not c.nothing:
        said.append("Nothing was run at this scale with one change.")
    return " ".join([*said, *_searched(c)])


def _listed(others: Sequence[Other], c: Checked) -> str:
    return "; ".join(_one(o, c.quoted.cell.unit) for o in others)


def _one(o: Other, unit: str) -> str:
    width = f" ± {number(o.half, unit, like=o.mean)}" if math.isfinite(o.half) else ""
    seeds = "1 seed" if len(o.values) == 1 else f"{len(o.values)} seeds"
    fits = ", within the tolerance" * o.fits
    return f"{_esc(o.words)}, {number(o.mean, unit)}{width} ({seeds}{fits})"


def _searched(c: Checked) -> list[str]:
    """Searches for a claim on this cell, at another scale."""
    return [
        f'A claim on it was <a href="{_SEARCHES}">looked for at the {scale} scale</a>: '
        f"on the paper’s side in {good} of {n} tries."
        for scale, good, n in c.searches
    ]


def _rest(c: Checked) -> str:
    """What nobody ran in another way, and whether anything tells the difference."""
    names = "; ".join(f"{name} ({how})" for name, how in c.choices)
    open_ = f"Run in one way only: {_esc(names)}." if names else ""
    told = " and ".join(o.words for o in c.told)
    why = "What makes the difference is not known."
    if told:
        why = (
            f"With one thing else it fits ({_esc(told)}); whether that is what made "
            "the paper’s number is not known."
        )
    return f"{open_} {why}"

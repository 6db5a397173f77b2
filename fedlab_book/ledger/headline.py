"""The headline table of a paper: what opens its page, and what its chapters quote.

headline(book, "feddisco")     # all of it: picture, table, what was checked, claims
quote("feddisco")              # the table alone, for a chapter
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_book.ledger.claimed import claims_at
from fedlab_book.ledger.dots import dots, seed
from fedlab_book.ledger.markup import (
    folded,
    head,
    judged,
    page,
    ran_cell,
    theirs,
    traced,
    verdict_cell,
)
from fedlab_book.ledger.offs import offs
from fedlab_ledger.judge.show import COMPARABLE
from fedlab_ledger.model.provenance import command, took
from fedlab_ledger.model.verdict import NO_VERDICT
from fedlab_ledger.report.book import NAMES, Book, opened
from fedlab_ledger.report.headline import Quoted, played

ANCHOR = "headline"
_SEEDS = 3  # that a verdict takes
_parts, _html = macros("table"), macros("headline")


def headline(book: Book, paper: str) -> HTML:
    """A paper's headline table at its own scale, and all that there is to say of it."""
    about, quotes = book.headlines[paper], book.headline(paper)
    claims = book.headline_claims(paper)
    shown_whole = _html.whole(
        _finding(book, paper, quotes),
        dots(quotes, about.name),
        _table(quotes, f"#{ANCHOR}", about.name),
        _made(book, quotes),
        _missing(quotes),
        offs(book, paper, quotes),
        judged(claims),
        claims_at(claims, paper, ANCHOR),
    )
    return HTML(str(shown_whole))


def quote(paper: str, book: Book | None = None) -> HTML:
    """A paper's headline table for a chapter; numbers lead to the ledger's page."""
    book = book or opened()
    quotes = book.headline(paper)
    table = _table(quotes, f"{page(paper)}#{ANCHOR}", book.headlines[paper].name)
    return HTML(str(_html.quote(_counted(book, paper, quotes), table, page(paper))))


def _finding(book: Book, paper: str, quotes: Sequence[Quoted]) -> Markup:
    """How many numbers are there, what they say; what there is instead, if none."""
    said = _counted(book, paper, quotes)
    return said if played(quotes) else said + " " + _instead(quotes)


def _counted(book: Book, paper: str, quotes: Sequence[Quoted]) -> Markup:
    about, done = book.headlines[paper], played(quotes)
    what = f"{NAMES[paper]}'s {about.name}, {about.words}"
    if not done:
        return _html.strong(f"Nothing of {what}, was run at the paper’s own scale.")
    words = Counter(q.shown.word for q in done if q.shown.status == COMPARABLE)
    verdicts = "; ".join(f"{n} {word}" for word, n in words.items())
    alone = sum(q.shown.status != COMPARABLE for q in done)
    more = f"; {alone} of which our copy of the paper has no number" * bool(alone)
    many = f"{what}: {len(done)} of {len(quotes)} numbers were run at the paper’s own "
    return _html.strong(f"{many}scale.", f" By the rule: {verdicts}{more}.")


def _instead(quotes: Sequence[Quoted]) -> str:
    """Cost of running it, and what there is in its place."""
    costs = dict.fromkeys(f"{q.cell.row} {q.cost}" for q in quotes if q.cost)
    said = f"It would cost: {'; '.join(costs)}." if costs else _UNTRIED
    return f"{said} What was measured of this paper, below, is on stand-ins."


_UNTRIED = "What a seed would cost has not been tried."


def _setting(q: Quoted):
    return q.cell.settings[q.shown.scale]


def _table(quotes: Sequence[Quoted], where: str, name: str) -> Markup:
    groups = []
    links = (f"{where}-{i}" for i in range(len(quotes)))
    for (column, unit), some in groupby(quotes, lambda q: (q.cell.column, q.cell.unit)):
        groups.append((column, unit, [_row(q, next(links)) for q in some]))
    caption = (
        f"{name}, beside ours at the paper's scale: mean of our seeds with its 95 % "
        "interval, and below it every seed."
    )
    return _html.table(head(q.cell for q in quotes), groups, caption)


def _row(q: Quoted, to: str) -> tuple[str, str, Markup]:
    if not q.lines:
        cost = q.cost or "what it takes was not tried"
        cells = _html.waiting(cost, len(head([q.cell])) - 2)
    else:
        v = q.shown.verdict
        word = verdict_cell(q.shown.word)
        if q.shown.status != COMPARABLE:
            word = _parts.plain(NO_VERDICT)
        seeds = ", ".join(seed(value, q.cell.unit) for value in q.seeds.values())
        ran = ran_cell(_setting(q), v.n, v.lost)
        cells = _html.there(to, q.shown.ours, seeds, ran, word)
    return q.cell.row, theirs(q.cell), cells


def _made(book: Book, quotes: Sequence[Quoted]) -> Markup | str:
    """How each number that is there was made."""
    items = [
        (f"{ANCHOR}-{i}", _html.made(q.cell, traced(q.shown, book)))
        for i, q in enumerate(quotes)
        if q.lines
    ]
    if not items:
        return ""
    many = f"each of these {len(items)} numbers" if len(items) > 1 else "this number"
    return folded(f"How {many} was made", _parts.trace_list(items))


def _missing(quotes: Iterable[Quoted]) -> Markup | str:
    """Numbers not run yet: what each takes, and the commands."""
    rest = [q for q in quotes if not q.lines]
    if not rest:
        return ""
    runs = {_setting(q).key: q.seconds for q in rest}  # two numbers may be of one
    hours = [seconds for seconds in runs.values() if seconds is not None]
    total = f", together {took(_SEEDS * sum(hours))} with {_SEEDS} seeds each"
    known = f"; {len(hours)} of {len(runs)} runs timed{total}" if hours else ""
    cells = [
        (q.cell, q.cost or "not tried", command(q.cell, q.shown.scale, []))
        for q in rest
    ]
    many = "1 number" if len(rest) == 1 else f"{len(rest)} numbers"
    said = f"{many} not run yet, and what it takes{known}"
    return folded(said, _html.missing(cells))

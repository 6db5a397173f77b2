"""The headline table of a paper: what opens its page, and what its chapters quote.

headline(book, "feddisco")     # all of it: picture, table, what was checked, claims
quote("feddisco")              # the table alone, for a chapter
"""

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from IPython.display import HTML

from fedlab_book.ledger.claimed import claims_at
from fedlab_book.ledger.dots import dots, seed
from fedlab_book.ledger.markup import (
    folded,
    grid,
    judged,
    page,
    ran_cell,
    theirs,
    traced,
    verdict_cell,
    wide,
)
from fedlab_book.ledger.offs import offs
from fedlab_ledger.judge.show import COMPARABLE, NOT_RUN, shown
from fedlab_ledger.model.cells import Scale, Table
from fedlab_ledger.model.describe import dataset, network, ran_on
from fedlab_ledger.model.provenance import command, lines_of, took
from fedlab_ledger.model.verdict import NO_VERDICT
from fedlab_ledger.report.book import NAMES, Book, opened
from fedlab_ledger.report.headline import Quoted, played

ANCHOR = "headline"
_SEEDS = 3  # that a verdict takes
_HEAD = ("", "paper", "ours", "ours ran on", "verdict")
_esc = html.escape


def headline(book: Book, paper: str) -> HTML:
    """A paper's headline table at its own scale, and all that there is to say of it."""
    about, quotes = book.headlines[paper], book.headline(paper)
    claims = book.headline_claims(paper)
    picture = str(dots(quotes, about.name).data)
    parts = [
        f"<p>{_finding(book, paper, quotes)}</p>",
        picture,
        _table(quotes, f"#{ANCHOR}", about.name),
        _made(book, quotes),
        _missing(quotes),
        offs(book, paper, quotes),
        f"<p><strong>What it is claimed to show</strong>, {judged(claims)}.</p>",
        claims_at(claims, paper, ANCHOR),
    ]
    return HTML(f'<div class="fl-ledger fl-headline">{"".join(parts)}</div>')


def quote(paper: str, book: Book | None = None) -> HTML:
    """A paper's headline table for a chapter; numbers lead to the ledger's page."""
    book = book or opened()
    quotes = book.headline(paper)
    where = f"{page(paper)}#{ANCHOR}"
    link = (
        f'<p><a href="{page(paper)}">In the ledger</a>: the seeds in a picture, '
        "what was checked where ours is off, and what it takes to run the rest.</p>"
    )
    table = _table(quotes, where, book.headlines[paper].name)
    said = f"<p>{_counted(book, paper, quotes)}</p>"
    return HTML(f'<div class="fl-ledger">{said}{table}{link}</div>')


def _finding(book: Book, paper: str, quotes: Sequence[Quoted]) -> str:
    """How many numbers are there, what they say; what there is instead, if none."""
    said = _counted(book, paper, quotes)
    return said if played(quotes) else f"{said} {_instead(book, paper, quotes)}"


def _counted(book: Book, paper: str, quotes: Sequence[Quoted]) -> str:
    about, done = book.headlines[paper], played(quotes)
    what = f"{NAMES[paper]}'s {about.name}, {about.words}"
    if not done:
        nothing = f"Nothing of {_esc(what)}, was run at the paper’s own scale."
        return f"<strong>{nothing}</strong>"
    words = Counter(q.shown.word for q in done if q.shown.status == COMPARABLE)
    verdicts = "; ".join(f"{n} {word}" for word, n in words.items())
    alone = sum(q.shown.status != COMPARABLE for q in done)
    more = f"; {alone} beside which the paper at hand prints none" * bool(alone)
    return (
        f"<strong>{_esc(what)}: {len(done)} of {len(quotes)} numbers were run at the "
        f"paper’s own scale.</strong> By the rule: {verdicts}{more}."
    )


def _instead(book: Book, paper: str, quotes: Sequence[Quoted]) -> str:
    """What it would cost, and the longest run with the paper's data and network."""
    costs = dict.fromkeys(f"{q.cell.row} {q.cost}" for q in quotes if q.cost)
    said = f"It would cost: {_esc('; '.join(costs))}." if costs else _UNTRIED
    longest = _longest(book, paper, quotes)
    if longest is None:
        return (
            f"{said} With its network nothing was run at any other length. What "
            "was measured of this paper, below, is on stand-ins."
        )
    scale, setting, seeds = longest
    came = _came_to(book, quotes, scale)
    return (
        f"{said} The longest run with its network is another scale, called "
        f"<em>{scale}</em>: {_esc(ran_on(setting, seeds))}.{_esc(came)}"
    )


def _came_to(book: Book, quotes: Sequence[Quoted], scale: str) -> str:
    """What the headline's cells came to at that scale, of those that have it."""
    cells = [q.cell for q in quotes if scale in q.cell.settings]
    short = Table("", "", "", tuple(cells))
    done = [
        s for s in shown(short, book.found, cast(Scale, scale)) if s.status != NOT_RUN
    ]
    each = ", ".join(f"{s.cell.row} came to {s.ours} {s.cell.unit}" for s in done)
    return f" There {each}: no number to hold against the paper's." if done else ""


_UNTRIED = "What a seed would cost has not been tried."


def _longest(book: Book, paper: str, quotes: Sequence[Quoted]):
    """The longest of the paper's runs on a headline's data with its network."""
    named = {(dataset(s), network(s)) for s in map(_setting, quotes)}
    found = []
    for table in book.of(paper):
        for cell in table.cells:
            for scale, s in cell.settings.items():
                lines = lines_of(cell, scale, book.found)
                if lines and (dataset(s), network(s)) in named:
                    found.append((s.rounds, len(lines), scale, s))
    rounds, seeds, scale, s = max(found, key=lambda f: f[:2], default=(0, 0, "", None))
    return (scale, s, seeds) if s is not None and rounds else None


def _setting(q: Quoted):
    return q.cell.settings[q.shown.scale]


def _table(quotes: Sequence[Quoted], where: str, name: str) -> str:
    rows, column = [], None
    for i, q in enumerate(quotes):
        if q.cell.column != column:
            column = q.cell.column
            said = (
                f'<span class="fl-theirs">{_esc(column)}</span> ({_esc(q.cell.unit)})'
            )
            rows.append(
                wide(f"The paper’s {said}", len(_HEAD)).replace("about", "group")
            )
        rows.append(_row(q, f"{where}-{i}"))
    caption = (
        f"{name}, beside ours at the paper's scale: mean of our seeds with its 95 % "
        "interval, and below it every seed."
    )
    return grid(_HEAD, rows, caption).replace('<th scope="col"></th>', "<td></td>", 1)


def _row(q: Quoted, link: str) -> str:
    head = (
        f'<tr><th scope="row" class="fl-theirs">{_esc(q.cell.row)}</th>'
        f'<td class="fl-paper">{theirs(q.cell)}</td>'
    )
    if not q.lines:
        cost = _esc(q.cost) or "what it takes was not tried"
        return (
            f'{head}<td colspan="{len(_HEAD) - 2}">not run yet'
            f"<br><small>{cost}</small></td></tr>"
        )
    v = q.shown.verdict
    ours = f'<a href="{link}">{_esc(q.shown.ours)}</a><br><small>{_seeds(q)}</small>'
    word = verdict_cell(q.shown.word)
    if q.shown.status != COMPARABLE:
        word = f"<td>{NO_VERDICT}</td>"
    return (
        f'{head}<td class="fl-ours">{ours}</td>'
        f"{ran_cell(_setting(q), v.n, v.lost)}{word}</tr>"
    )


def _seeds(q: Quoted) -> str:
    return _esc(", ".join(seed(v, q.cell.unit) for v in q.seeds.values()))


def _made(book: Book, quotes: Sequence[Quoted]) -> str:
    """How each number that is there was made."""
    done = [(i, q) for i, q in enumerate(quotes) if q.lines]
    if not done:
        return ""
    items = "".join(
        f'<li id="{ANCHOR}-{i}"><strong class="fl-theirs">{_place(q)}</strong>: '
        f"{traced(q.shown, book)}</li>"
        for i, q in done
    )
    many = f"each of these {len(done)} numbers" if len(done) > 1 else "this number"
    return folded(f"How {many} was made", f'<ul class="fl-trace">{items}</ul>')


def _missing(quotes: Iterable[Quoted]) -> str:
    """What is not there yet: what it takes, and the commands."""
    rest = [q for q in quotes if not q.lines]
    if not rest:
        return ""
    runs = {_setting(q).key: q.seconds for q in rest}  # two numbers may be of one
    hours = [seconds for seconds in runs.values() if seconds is not None]
    total = f", together {took(_SEEDS * sum(hours))} with {_SEEDS} seeds each"
    known = f"; {len(hours)} of {len(runs)} runs tried{total}" if hours else ""
    items = "".join(
        f'<li><strong class="fl-theirs">{_place(q)}</strong>: '
        f"{_esc(q.cost) or 'not tried'}<br>"
        f"<code>{_esc(command(q.cell, q.shown.scale, []))}</code></li>"
        for q in rest
    )
    many = "1 number" if len(rest) == 1 else f"{len(rest)} numbers"
    inside = f'<ul class="fl-trace">{items}</ul>'
    return folded(f"{many} not run yet, and what it takes{known}", inside)


def _place(q: Quoted) -> str:
    return f"{_esc(q.cell.row)} | {_esc(q.cell.column)}"

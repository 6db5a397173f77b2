"""The ledger's tables as the book's pages show them: one line a cell, each traceable.

A number of ours is a link to the line of a folded list that says which command made it.
Tables that nobody has measured are folded, with the paper's numbers inside.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_ledger.judge.claims import Judged, tally
from fedlab_ledger.judge.show import COMPARABLE, Shown, shown, summed
from fedlab_ledger.model.cells import SCALES, Cell, Setting, Table, digits
from fedlab_ledger.model.describe import data, in_words, network
from fedlab_ledger.model.provenance import (
    command,
    lines_of,
    provenance,
    table_command,
    took,
)
from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
    NO_VERDICT,
    NONE,
    OPPOSITE,
    SAME,
    UNDECIDED,
)
from fedlab_ledger.report.book import NAMES, Book, grouped, reasons

_METRICS = {
    "best": "best round",
    "last": "last round",
    "acc": "last round",
    "ipr": "share of clients that gain over training alone",
    "rsd": "deviation of what clients gain over training alone",
}
RULE = "ledger.html#the-rule"  # where every verdict leads to
EVERY = "../book/claims.html"  # the page with all claims, each at its slug
_ITEM = re.compile(r"\d+\. |- ")
_parts, _html = macros("table"), macros("ledger")


def page(paper: str) -> str:
    """The page of the ledger that shows a paper's tables, as a chapter links to it."""
    return f"ledger_{paper}.html"


def capital(sentence: str) -> str:
    """A sentence with a capital; a symbol, or a name such as rFedAvg, keeps its own."""
    first = sentence[0].upper() if sentence[0].isascii() else sentence[0]
    kept = sentence[1].isupper() or sentence[1:].startswith(" = ")
    return sentence if kept else first + sentence[1:]


def place_of(cell: Cell) -> str:
    """Place in the paper, in short: Table 1."""
    return cell.where.split(";")[0].split(",")[0]


def place(table: Table) -> str:
    """Place in the paper: Table 1."""
    return place_of(table.cells[0]) or table.name


def theirs(cell: Cell) -> str:
    """The paper's number with its own ±, accuracies with two digits, or a dash."""
    if cell.paper_value is None:
        return "–"
    digits = ".2f" if cell.unit == "%" else "g"
    own = "" if cell.paper_spread is None else f" ± {cell.paper_spread:g}"
    return f"{cell.paper_value:{digits}}{own}"


def whose(cells: Iterable[Cell]) -> str:
    """Head of the column of their numbers: the paper, or whose run they all are of."""
    named = {c.source for c in cells if c.paper_value is not None}
    return named.pop().removeprefix("the ") if len(named) == 1 else "paper"


def number(value: float, unit: str, sign: str = "", like: float | None = None) -> str:
    """A number of ours, with as many digits as `like` has, where that is given."""
    return f"{value:{sign}.{digits(unit, value if like is None else like)}f}"


def verdict_cell(
    word: str, stand_in: bool = False, rule: str = RULE, label: str = ""
) -> Markup:
    """A table's cell with a verdict, which leads to the rule.

    It is marked by more than its words.
    """
    return _parts.verdict(word, stand_in, rule, label)


def ran_cell(s: Setting, seeds: int, lost: int = 0, label: str = "") -> Markup:
    """A table's cell with data and network that ours were run on, and how often.

    `lost` more seeds gave no number.
    """
    return _parts.ran(f"{data(s)}, {network(s)}, {in_words(seeds, lost)}", label)


def ran(s: Shown) -> Markup:
    """The cell that says what ours ran on."""
    return ran_cell(s.cell.settings[s.scale], s.verdict.n, s.verdict.lost)


def judged(rows: Sequence[Judged]) -> str:
    """The verdicts of claims, counted: each experiment once."""
    said = ", ".join(f"{n} {word}" for word, n in tally(rows).words.items())
    return said or "none judged"


def grid(
    head: Sequence[str], rows: Iterable[Markup], caption: str, kind: str = "fl-cells"
) -> Markup:
    """A table of ready-made rows, which scrolls sideways if it must."""
    return _parts.rows(head, rows, caption, kind)


def folded(summary: str, inside: str | HTML, anchor: str = "") -> Markup:
    """Something that opens by a click."""
    return _parts.folded(summary, inside, anchor)


def wide(text: str, columns: int) -> Markup:
    """A row that says what the next one is about, over all columns."""
    return _parts.wide(text, columns)


Pair = tuple[str | int, str]  # what a cell says, and what it says below that


def contents(book: Book, paper: str) -> HTML:
    """A paper's tables, and what was measured of each."""
    lines = [
        (f"#{t.name}", place(t), _html.small(t.title, "fl-theirs"), _counts(book, [t]))
        for t in book.of(paper)
    ]
    caption = f"{NAMES[paper]}: its tables, and how many of their numbers were measured"
    return HTML(str(_html.counted(("table", *_COUNTED), lines, caption)))


_COUNTED = (
    "numbers",
    "measured, comparable",
    "measured on a stand-in",
    "measured, no number at hand",
    "not run",
)


_JUDGED = {MATCHES: "match", DIFFERS: "differ", UNDECIDED: "undecided"}


def _counts(book: Book, tables: Sequence[Table]) -> list[Pair]:
    """Cells of a row: how many numbers, and how many of each status."""
    counts = book.counts(tables)
    words = Counter(
        s.word for t in tables for s in book.cells(t) if s.status == COMPARABLE
    )
    said = ", ".join(f"{words[w]} {does}" for w, does in _JUDGED.items() if words[w])
    each = [(n or "–", said * (word == COMPARABLE)) for word, n in counts.items()]
    return [(sum(counts.values()) or "–", ""), *each]


def head(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Heads of a table's columns."""
    return ("", whose(cells), "ours", "ours ran on", "verdict")


def table_of(book: Book, table: Table) -> HTML:
    """A table beside the paper's, with its command, and how each number was made."""
    cells = book.measured(table)
    if not cells:
        return HTML(str(_unmeasured(book, table)))
    anchors = {id(s): f"{table.name}-{i}" for i, s in enumerate(cells)}
    groups = [
        (
            name,
            " or ".join(dict.fromkeys(s.cell.unit for _, s in members)),
            [_row(label, s, anchors[id(s)]) for label, s in members],
        )
        for name, members in grouped(cells).items()
    ]
    rest = [s for s in book.cells(table) if s not in cells]
    shown_table = _html.measured(
        table,
        place(table),
        summed(book.cells(table)),
        _made_by(book, table, cells),
        head(s.cell for s in cells),
        groups,
        _traces(book, table, cells, anchors),
        _rest(table, rest) if rest else "",
    )
    return HTML(str(shown_table))


def _row(label: str, s: Shown, anchor: str) -> tuple[str | bool | Markup, ...]:
    far = s.status != COMPARABLE
    word = _parts.plain(s.status) if far else verdict_cell(s.word)
    return (label, far, theirs(s.cell), anchor, s.ours, ran(s), word)


def _made_by(book: Book, table: Table, cells: Sequence[Shown]) -> list[tuple[str, str]]:
    """The commands that make the table, with the machines and the time."""
    by_scale = {
        scale: [line for s in cells if s.scale == scale for line in book.lines(s)]
        for scale in SCALES
    }
    return [
        (table_command(table, scale, mine), provenance(mine).text)
        for scale, mine in by_scale.items()
        if mine
    ]


def _traces(
    book: Book, table: Table, cells: Sequence[Shown], anchors: Mapping[int, str]
) -> list[tuple[str, Markup]]:
    at = {
        scale: {s.cell.name: s for s in shown(table, book.found, scale)}
        for scale in SCALES[1:]
    }
    items = []
    for s in cells:
        others = [
            (scale, traced(of[s.cell.name], book))
            for scale, of in at.items()
            if scale != s.scale and of[s.cell.name].verdict.n
        ]
        item = _html.item(s.cell, traced(s, book), others)
        items.append((anchors[id(s)], item))
    return items


def traced(s: Shown, book: Book) -> Markup:
    """A cell's seeds, its verdict, and the command and machine that made it."""
    lines = lines_of(s.cell, s.scale, book.found)
    values = ", ".join(
        f"{v['value']:g}" if v["value"] is not None else "none" for v in lines
    )
    seeds = ", ".join(str(v["seed"]) for v in lines)
    c = s.cell
    about = [
        f"{values} (seeds {seeds}; {s.ran_on})",
        _METRICS.get(c.metric, c.metric),
        f"tolerance {c.tolerance:g}",
        f"{s.word}: {s.verdict.why}",
        c.said(s.scale),
    ]
    said = ". ".join(filter(None, about))
    return _parts.traced(said, command(c, s.scale, lines), provenance(lines).text)


def _rest(table: Table, rest: Sequence[Shown]) -> Markup:
    """The cells of a measured table that were not."""
    columns = list(dict.fromkeys(s.cell.column for s in rest))
    names = f" of {', '.join(columns)}" if len(columns) <= 4 else ""
    return folded(f"{_many(rest)} not run{names}", _waiting(rest, table))


def _unmeasured(book: Book, table: Table) -> Markup:
    cells = book.cells(table)
    title = _html.titled(place(table), table.title, _many(cells))
    scales = [s for s in SCALES[1:] if any(s in c.settings for c in table.cells)]
    runs = [table_command(table, s, []) for s in scales]
    return folded(title, _waiting(cells, table, runs), table.name)


def _many(cells: Sequence[Shown]) -> str:
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"


def _waiting(cells: Sequence[Shown], table: Table, runs: Sequence[str] = ()) -> Markup:
    """Why cells were not run, the paper's numbers, and how to run them."""
    why = [f"{n} of {len(cells)}: {said}" for said, n in reasons(cells).items()]
    lines = []
    for row in table.rows:
        found = [table.at(row, column) for column in table.columns]
        lines.append((row, [theirs(c) if c else "" for c in found]))
    units = ", ".join(dict.fromkeys(c.unit for c in table.cells))
    named = whose(table.cells)
    head, caption = (named, *table.columns), f"The {named}: its numbers ({units})"
    return _html.waiting(why, head, lines, caption, runs)


def overview(book: Book) -> HTML:
    """One line a paper: its numbers, and what was measured of them."""
    lines = []
    for paper in book.papers:
        tables = book.of(paper)
        seconds = book.seconds(tables)
        time = _html.small(f"{took(seconds)} of computing") if seconds else ""
        lines.append((page(paper), NAMES[paper], time, _counts(book, tables)))
    caption = (
        "Cells of the ledger, and what was measured of them. No number at hand: the "
        "paper has none, or only draws it."
    )
    return HTML(str(_html.counted(("paper", *_COUNTED), lines, caption)))


def claimed(book: Book) -> HTML:
    """One line a paper: how many of its claims have each verdict."""
    lines = []
    for paper in book.papers:
        total = tally(book.claimed(paper))
        numbers = [_both(total.words, word) for word in _CLAIMED[:-1]]
        last = (total.words.get(NONE, 0) or "–", "")
        cells = [(total.runs, ""), *numbers, last]
        lines.append((page(paper), NAMES[paper], "", cells))
    caption = (
        "The papers’ claims by what was found. Two claims about one run count once. "
        "Measured on stand-ins, unless it says: at the paper’s scale."
    )
    return HTML(str(_html.counted(("paper", "judged", *_CLAIMED), lines, caption)))


_CLAIMED = (
    MATCHES, SAME, AS_GOOD, UNDECIDED, DIFFERS, OPPOSITE, NO_VERDICT, NONE
)  # fmt: skip


def _both(words: Mapping[str, int], word: str) -> Pair:
    """How many have a verdict, and how many of these at the paper's scale."""
    own, n = words.get(word, 0), words.get(f"{word} on a stand-in", 0)
    if own and not n:
        return own, "at the paper’s scale"
    return own + n or "–", f"{own} at the paper’s scale" if own else ""


def written(text: str) -> Markup:
    """The text of a docstring: paragraphs, lists with bullets or numbers."""
    return _html.written(
        _list(block) if _ITEM.match(block) else ("p", [" ".join(block.split())])
        for block in re.sub(r":\n(?=1\. |- )", ":\n\n", text).split("\n\n")
    )


def _list(block: str) -> tuple[str, list[str]]:
    items = re.split(r"\n(?=\d+\. |- )", block)
    words = [" ".join(_ITEM.sub("", item, count=1).split()) for item in items]
    return "ul" if block.startswith("-") else "ol", words


def gaps_of(book: Book) -> HTML:
    """The cells at the papers' scale that are furthest from the paper's number."""
    lines = []
    for paper in book.papers:
        for s in book.gaps(paper):
            off = f"{s.verdict.mean - (s.cell.paper_value or 0.0):+.3g}"
            to, word = f"{page(paper)}#{s.cell.table}", verdict_cell(s.verdict.word)
            lines.append((NAMES[paper], to, s, theirs(s.cell), ran(s), off, word))
    if not lines:
        return HTML("<p>No cell at a paper's scale is off by more than allowed.</p>")
    head = ("paper", "ours", "ours ran on", "off by", "verdict")
    caption = (
        "Cells that are off by more than their tolerance, at most three a paper, the "
        "furthest off first. Below how far they are off: the tolerance."
    )
    return HTML(str(_html.gaps(lines, head, caption)))

"""The ledger's tables as the book's pages show them: one line a cell, each traceable.

A number of ours is a link to the line of a folded list that says which command made it.
Tables that nobody has measured are folded, with the paper's numbers inside.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from IPython.display import HTML

from fedlab_ledger.judge.claims import Judged, tally
from fedlab_ledger.judge.show import COMPARABLE, Shown, shown, summed
from fedlab_ledger.model.cells import SCALES, Cell, Setting, Table
from fedlab_ledger.model.describe import data, in_words, network
from fedlab_ledger.model.provenance import command, lines_of, provenance, table_command
from fedlab_ledger.model.provenance import took as duration
from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
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
_esc = html.escape


def page(paper: str) -> str:
    """The page of the ledger that shows a paper's tables, as a chapter links to it."""
    return f"ledger_{paper}.html"


def place_of(cell: Cell) -> str:
    """Where the paper has it, in short: Table 1."""
    return cell.where.split(";")[0].split(",")[0]


def place(table: Table) -> str:
    """Where the paper has it: Table 1."""
    return place_of(table.cells[0]) or table.name


def theirs(cell: Cell) -> str:
    """The paper's number with its own ±, accuracies with two digits, or a dash."""
    if cell.paper_value is None:
        return "–"
    digits = ".2f" if cell.unit == "%" else "g"
    own = "" if cell.paper_spread is None else f" ± {cell.paper_spread:g}"
    return f"{cell.paper_value:{digits}}{own}"


def number(value: float, unit: str, sign: str = "", like: float | None = None) -> str:
    """A number of ours: percents with two digits, counts in thousands with none.

    With as many digits as `like` has, if there is such a number.
    """
    size = value if like is None else like
    digits = 2 if unit == "%" else 0 if unit == "bytes" or abs(size) >= 1000 else 3
    return f"{value:{sign}.{digits}f}"


def verdict_cell(word: str, stand_in: bool = False, rule: str = RULE) -> str:
    """A table's cell with a verdict, which leads to the rule.

    It is marked by more than its words.
    """
    kind, more = word.replace(" ", "-"), "<br><small>on a stand-in</small>" * stand_in
    said = f'<a href="{rule}">{_esc(word)}</a>{more}'
    return f'<td class="fl-verdict fl-is-{kind}">{said}</td>'


def ran_cell(s: Setting, seeds: int, lost: int = 0) -> str:
    """A table's cell with data and network that ours were run on, and how often.

    `lost` more seeds gave no number.
    """
    said = f"{data(s)}, {network(s)}, {in_words(seeds, lost)}"
    return f'<td class="fl-ran">{_esc(said)}</td>'


def judged(rows: Sequence[Judged]) -> str:
    """The verdicts of claims, counted: each experiment once."""
    said = ", ".join(f"{n} {word}" for word, n in tally(rows).words.items())
    return said or "none judged"


def grid(
    head: Sequence[str], rows: Iterable[str], caption: str, kind: str = "fl-cells"
) -> str:
    """A table of ready-made rows, which scrolls sideways if it must."""
    cells = "".join(f'<th scope="col">{_esc(name)}</th>' for name in head)
    return (
        f'<div class="fl-scroll"><table class="fl-table {kind}">'
        f"<caption>{_esc(caption)}</caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def folded(summary: str, inside: str, anchor: str = "") -> str:
    """Something that opens by a click."""
    named = f' id="{anchor}"' if anchor else ""
    return (
        f'<details class="fl-fold"{named}><summary>{summary}</summary>{inside}'
        "</details>"
    )


def contents(book: Book, paper: str) -> HTML:
    """A paper's tables, and what was measured of each."""
    rows = []
    for t in book.of(paper):
        link = f'<a href="#{t.name}">{_esc(place(t))}</a>'
        rows.append(
            f'<tr><th scope="row">{link}<br><small class="fl-theirs">{_esc(t.title)}'
            f"</small></th>{_counts(book, [t])}</tr>"
        )
    caption = (
        f"{NAMES.get(paper, paper)}: how many numbers each table has, and of these"
    )
    return HTML(grid(("table", *_COUNTED), rows, caption))


_COUNTED = (
    "numbers",
    "measured, comparable",
    "measured on a stand-in",
    "measured, the paper has no number",
    "not run",
)


_JUDGED = {MATCHES: "match", DIFFERS: "differ", UNDECIDED: "undecided"}


def _counts(book: Book, tables: Sequence[Table]) -> str:
    """Cells of a row: how many numbers, and how many of each status."""
    counts = book.counts(tables)
    cells = [f"{n or '–'}" for n in (sum(counts.values()), *counts.values())]
    words = Counter(
        s.word for t in tables for s in book.cells(t) if s.status == COMPARABLE
    )
    said = ", ".join(f"{words[w]} {does}" for w, does in _JUDGED.items() if words[w])
    cells[1 + list(counts).index(COMPARABLE)] += f"<br><small>{said}</small>" * bool(
        said
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


_HEAD = ("", "paper", "ours", "ours ran on", "verdict")


def table_of(book: Book, table: Table) -> HTML:
    """A table beside the paper's, with its command, and how each number was made."""
    cells = book.measured(table)
    if not cells:
        return HTML(_unmeasured(book, table))
    numbers = {id(s): f"{table.name}-{i}" for i, s in enumerate(cells)}
    rows = []
    for name, members in grouped(cells).items():
        unit = members[0][1].cell.unit
        head = f'The paper’s <span class="fl-theirs">{_esc(name)}</span> ({_esc(unit)})'
        rows.append(f'<tr class="fl-group"><th colspan="{len(_HEAD)}">{head}</th></tr>')
        rows += [_row(label, s, numbers[id(s)]) for label, s in members]
    caption = "Mean of our seeds with its 95 % interval; each number leads to its run."
    shown_table = grid(_HEAD, rows, caption)
    shown_table = shown_table.replace('<th scope="col"></th>', "<td></td>", 1)
    rest = [s for s in book.cells(table) if s not in cells]
    title = f'<span class="fl-theirs">{_esc(table.title)}</span>'
    parts = [
        f'<h3 id="{table.name}">{_esc(place(table))}. {title}</h3>',
        _made_by(book, table, cells),
        shown_table,
        _traces(book, table, cells, numbers),
        _rest(table, rest) if rest else "",
    ]
    return HTML(f'<div class="fl-ledger">{"".join(parts)}</div>')


def _row(label: str, s: Shown, anchor: str) -> str:
    far = "" if s.status == COMPARABLE else " fl-apart"
    word = verdict_cell(s.word) if s.status == COMPARABLE else f"<td>{s.status}</td>"
    ran = ran_cell(s.cell.settings[s.scale], s.verdict.n, s.verdict.lost)
    return (
        f'<tr><th scope="row" class="fl-theirs">{_esc(label)}</th>'
        f'<td class="fl-paper{far}">{theirs(s.cell)}</td>'
        f'<td class="fl-ours"><a href="#{anchor}">{_esc(s.ours)}</a></td>'
        f"{ran}{word}</tr>"
    )


def _made_by(book: Book, table: Table, cells: Sequence[Shown]) -> str:
    """The commands that make the table, with the machines and the time."""
    said = []
    for scale in SCALES:
        mine = [line for s in cells if s.scale == scale for line in book.lines(s)]
        if mine:
            code = f"<code>{_esc(table_command(table, scale, mine))}</code>"
            said.append(f"{code}<br><small>{_esc(provenance(mine).text)}</small>")
    words = summed(book.cells(table))
    return f'<p>{_esc(words)}. Made by</p><p class="fl-command">{"<br>".join(said)}</p>'


def _traces(
    book: Book, table: Table, cells: Sequence[Shown], numbers: Mapping[int, str]
) -> str:
    at = {
        scale: {s.cell.name: s for s in shown(table, book.found, scale)}
        for scale in SCALES[1:]
    }
    items = []
    for s in cells:
        text = traced(s, book)
        for scale, others in at.items():
            other = others[s.cell.name]
            if scale != s.scale and other.verdict.n:
                text += f"<br>Also at {scale} scale: {traced(other, book)}"
        where = f"{_esc(s.cell.row)} | {_esc(s.cell.column)}"
        where = f'<strong class="fl-theirs">{where}</strong>'
        items.append(f'<li id="{numbers[id(s)]}">{where}: {text}</li>')
    inside = f'<ul class="fl-trace">{"".join(items)}</ul>'
    return folded(f"How each of these {len(cells)} numbers was made", inside)


def traced(s: Shown, book: Book) -> str:
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
    said = ". ".join(_esc(part) for part in about if part)
    run = f"<code>{_esc(command(c, s.scale, lines))}</code>"
    return f"{said}.<br>{run}<br><small>{_esc(provenance(lines).text)}</small>"


def _rest(table: Table, rest: Sequence[Shown]) -> str:
    """The cells of a measured table that were not."""
    columns = list(dict.fromkeys(s.cell.column for s in rest))
    names = f" of {_esc(', '.join(columns))}" if len(columns) <= 4 else ""
    inside = _why(rest) + _papers(table)
    return folded(f"{_many(rest)} not run{names}", inside)


def _unmeasured(book: Book, table: Table) -> str:
    cells = book.cells(table)
    title = f"<strong>{_esc(place(table))}</strong> {_esc(table.title)}: "
    scales = [s for s in SCALES[1:] if any(s in c.settings for c in table.cells)]
    runs = "".join(
        f'<p class="fl-command"><code>{_esc(table_command(table, s, []))}</code></p>'
        for s in scales
    )
    inside = _why(cells) + _papers(table) + runs
    return folded(f"{title}{_many(cells)}", inside, table.name)


def _many(cells: Sequence[Shown]) -> str:
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"


def _why(cells: Sequence[Shown]) -> str:
    items = "".join(
        f"<li>{n} of {len(cells)}: {_esc(why)}</li>"
        for why, n in reasons(cells).items()
    )
    return f"<ul>{items}</ul>" if items else ""


def _papers(table: Table) -> str:
    """The paper's numbers in the paper's layout."""
    rows = []
    for row in table.rows:
        found = [table.at(row, column) for column in table.columns]
        values = "".join(f"<td>{theirs(c) if c else ''}</td>" for c in found)
        rows.append(f'<tr><th scope="row">{_esc(row)}</th>{values}</tr>')
    head = ("the paper's", *table.columns)
    units = ", ".join(dict.fromkeys(c.unit for c in table.cells))
    return grid(head, rows, f"The paper's numbers ({units})", "fl-papers")


def overview(book: Book) -> HTML:
    """One line a paper: its numbers, and what was measured of them."""
    rows = []
    for paper in book.papers:
        tables = book.of(paper)
        link = f'<a href="{page(paper)}">{_esc(NAMES.get(paper, paper))}</a>'
        rows.append(
            f'<tr><th scope="row">{link}{_time(book, tables)}</th>'
            f"{_counts(book, tables)}</tr>"
        )
    caption = "The papers’ numbers, and what was measured of them."
    return HTML(grid(("paper", *_COUNTED), rows, caption))


def claimed(book: Book) -> HTML:
    """One line a paper: how many of its claims have each verdict."""
    rows = []
    for paper in book.papers:
        total = tally(book.claimed(paper))
        link = f'<a href="{page(paper)}">{_esc(NAMES.get(paper, paper))}</a>'
        numbers = "".join(
            f"<td>{_both(total.words, word)}</td>" for word in _CLAIMED[:-1]
        )
        rows.append(
            f'<tr><th scope="row">{link}</th><td>{total.runs}</td>{numbers}'
            f"<td>{total.words.get(NONE, 0) or '–'}</td></tr>"
        )
    caption = (
        "The papers’ claims by what was found; claims of one and the same run count "
        "once. On stand-ins, but for those at the paper’s own scale."
    )
    return HTML(grid(("paper", "judged", *_CLAIMED), rows, caption))


_CLAIMED = (MATCHES, SAME, AS_GOOD, UNDECIDED, OPPOSITE, NONE)


def _both(words: Mapping[str, int], word: str) -> str:
    """How many have a verdict, and how many of these at the paper's scale."""
    own, n = words.get(word, 0), words.get(f"{word} on a stand-in", 0)
    more = f"<br><small>{own} at the paper’s scale</small>" * bool(own and n)
    alone = f"{own}<br><small>at the paper’s scale</small>" if own and not n else ""
    return alone or (f"{own + n}{more}" if n else "–")


def _time(book: Book, tables: Sequence[Table]) -> str:
    seconds = book.seconds(tables)
    return f"<br><small>{duration(seconds)}</small>" if seconds else ""


def written(text: str) -> str:
    """The text of a docstring: paragraphs, lists with bullets or numbers."""
    return "".join(
        _list(block)
        if _ITEM.match(block)
        else f"<p>{_esc(' '.join(block.split()))}</p>"
        for block in re.sub(r":\n(?=1\. |- )", ":\n\n", text).split("\n\n")
    )


def _list(block: str) -> str:
    items = re.split(r"\n(?=\d+\. |- )", block)
    words = [" ".join(_ITEM.sub("", item, count=1).split()) for item in items]
    kind = "ul" if block.startswith("-") else "ol"
    return f"<{kind}>{''.join(f'<li>{_esc(w)}</li>' for w in words)}</{kind}>"


def wide(text: str, columns: int) -> str:
    """A row that says what the next one is about, over all columns."""
    return f'<tr class="fl-about"><th colspan="{columns}">{text}</th></tr>'


def gaps_of(book: Book) -> HTML:
    """The cells at the papers' scale that are furthest from the paper's number."""
    rows = []
    for paper in book.papers:
        for s in book.gaps(paper):
            off = s.verdict.mean - (s.cell.paper_value or 0.0)
            link = f'<a href="{page(paper)}#{s.cell.table}">{_esc(s.cell.where)}</a>'
            where = f"{_esc(s.cell.row)} | {_esc(s.cell.column)}"
            whose = f"{_esc(NAMES.get(paper, paper))}, {link}"
            rows.append(wide(f'{whose}: <span class="fl-theirs">{where}</span>', 5))
            rows.append(
                f'<tr><td class="fl-paper">{theirs(s.cell)}</td>'
                f'<td class="fl-ours">{_esc(s.ours)}</td>'
                f"{ran_cell(s.cell.settings[s.scale], s.verdict.n, s.verdict.lost)}"
                f"<td>{off:+.3g}<br><small>of {s.cell.tolerance:g}</small></td>"
                f"{verdict_cell(s.verdict.word)}</tr>"
            )
    if not rows:
        return HTML("<p>No cell at a paper's scale is off by more than allowed.</p>")
    head = ("paper", "ours", "ours ran on", "off by", "verdict")
    caption = (
        "Cells that are off by more than their tolerance, at most three a paper, the "
        "furthest off first. Below how far they are off: the tolerance."
    )
    return HTML(grid(head, rows, caption))

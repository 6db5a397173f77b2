"""The papers' claims beside what was found, and the card at the end of a chapter."""

import html
import inspect
import math
from collections.abc import Sequence

from IPython.display import HTML

from fedlab_book.ledger.markup import (
    folded,
    grid,
    judged,
    number,
    page,
    place_of,
    theirs,
    verdict_cell,
    wide,
    written,
)
from fedlab_ledger import verdict as rule
from fedlab_ledger.book import NAMES, Book, opened
from fedlab_ledger.cells import Cell
from fedlab_ledger.claims import Judged, lines_by_seed
from fedlab_ledger.lines import Line
from fedlab_ledger.trace import command, trace

_HEAD = ("paper: gain", "our gain", "scale, seeds", "verdict")
AT_A_GLANCE = 20  # a card with more claims folds them, table by table
_esc = html.escape


def claims_of(
    book: Book, paper: str, tables: Sequence[str] = (), most: float = math.inf
) -> HTML:
    """A paper's claims, or those drawn from some of its tables, each with its runs.

    With more than `most` verdicts, each of the paper's tables and figures is folded
    behind a line that counts them.
    """
    rows = book.claimed(paper, tables)
    if not rows:
        return HTML("<p>No claim of this paper is declared yet.</p>")
    done = [j for j in rows if j.verdict.word != rule.NONE]
    waiting = [j for j in rows if j.verdict.word == rule.NONE]
    parts = [_judged(done, book, paper, len(done) > most)] if done else []
    if waiting:
        table = grid(_HEAD, [_row(j, book, "") for j in waiting], "No verdict yet.")
        parts.append(folded(f"{_many(waiting)} without a verdict yet", table))
    return HTML(f'<div class="fl-ledger">{"".join(parts)}</div>')


def _judged(rows: Sequence[Judged], book: Book, paper: str, apart: bool) -> str:
    """Claims with a verdict, and a folded list of how each was made."""
    named = "-".join(dict.fromkeys([paper, *(j.claim.cell.table for j in rows)]))
    anchors = [f"{named}-claim-{i}" for i in range(len(rows))]
    body = [_row(j, book, at) for j, at in zip(rows, anchors, strict=True)]
    whose = f"{NAMES[paper]}'s claims" if paper in NAMES else "Claims"
    caption = (
        f"{whose} as differences between two cells. Ours: "
        "mean over seeds, paired, with its 95 % interval. Below it: from, to."
    )
    items = "".join(
        f'<li id="{at}">{_made(j, book)}</li>'
        for j, at in zip(rows, anchors, strict=True)
    )
    many = f"each of these {len(rows)} gains" if len(rows) > 1 else "this gain"
    said = f"How {many} was made"
    traces = folded(said, f'<ul class="fl-trace">{items}</ul>')
    if apart:
        folds = _by_place(rows, body, caption)
        return (
            f"<p><strong>{whose}</strong>, {_tally(rows)}. By place:</p>{folds}{traces}"
        )
    return grid(_HEAD, body, caption, "fl-cells fl-claims") + traces


def _by_place(rows: Sequence[Judged], body: Sequence[str], caption: str) -> str:
    """The claims of each of the paper's tables and figures, folded."""
    places: dict[str, list[int]] = {}
    for i, j in enumerate(rows):
        places.setdefault(place_of(j.claim.cell), []).append(i)
    return "".join(
        folded(
            f"<strong>{_esc(name)}</strong>, {_tally([rows[i] for i in at])}",
            grid(_HEAD, [body[i] for i in at], caption, "fl-cells fl-claims"),
        )
        for name, at in places.items()
    )


def _tally(rows: Sequence[Judged]) -> str:
    """How many claims, and their verdicts: 3 claims: 2 trend only, 1 reproduced."""
    return f"{_many(rows)}: {judged(rows)}"


def _many(rows: Sequence[Judged]) -> str:
    return "1 claim" if len(rows) == 1 else f"{len(rows)} claims"


def claims_folded(book: Book, paper: str) -> HTML:
    """A paper's claims behind a line that counts their verdicts."""
    name = _esc(NAMES.get(paper, paper))
    said = f"<strong>{name}</strong>, {_tally(book.claimed(paper))}"
    return HTML(folded(said, str(claims_of(book, paper).data)))


def card(paper: str, *tables: str, book: Book | None = None) -> HTML:
    """The reproducibility card: claims beside findings, machine, time, rule, command.

    With names of tables, only the claims that are drawn from these. Many are folded by
    the place that the paper has them in.
    """
    book = book or opened()
    rows = book.claimed(paper, tables)
    done = [line for j in rows for line in _lines(j, book)]
    made = "Nothing of this has been measured yet."
    if done:
        t = trace(done)
        made = f"Measured on {_esc(t.text)} of computing for both sides of each claim."
    link = f'<a href="{page(paper)}">every table of the paper, with its curves</a>'
    again = f"python -m fedlab_core claims {paper}"
    text = (
        f"<p>{_stand_ins(rows)}</p><p>{made} In the ledger: {link}. The same in a "
        f"terminal: <code>{again}</code></p>"
    )
    inside = claims_of(book, paper, tables, AT_A_GLANCE).data
    rules = folded("The rule of the verdicts, fixed before any run", ruled())
    return HTML(f'<div class="fl-card-of">{inside}{text}{rules}</div>')


def _stand_ins(rows: Sequence[Judged]) -> str:
    """The data of claims that were looked at on the small scale."""
    seen: dict[str, int] = {}
    for j in rows:
        if j.scale == "small":
            s = j.claim.cell.settings[j.scale]
            part = "" if s.sample is None else f"{s.sample:,} samples of "
            name = "the built-in letters" if s.dataset == "letters" else s.dataset
            seen[part + name] = seen.get(part + name, 0) + 1
    if not seen:
        return ""
    most = sorted(seen.items(), key=lambda found: -found[1])
    data = ", ".join(f"{name} ({n})" for name, n in most)
    return (
        "At the small scale, whatever data a claim is named after, it was looked for "
        f"on {_esc(data)}. <em>Not reproduced</em> says that it was not found there."
    )


def ruled() -> str:
    """The rule of the verdicts, as the module that applies it says it."""
    return written(inspect.getdoc(rule) or "")


def _row(j: Judged, book: Book, anchor: str) -> str:
    c, v = j.claim, j.verdict
    about = [c.cell.where.split(";")[0]]
    if c.cell.unit != "%":
        about.append(f"unit: {c.cell.unit}")
    if c.gain is not None or c.sign == 0:  # else only the sign is claimed
        about.append(f"tolerance {c.tolerance:g}")
    where = f"<small>({_esc('; '.join(about))})</small>"
    mine = "–"
    if v.n:
        ends = " ".join(_mean(cell, j, book) for cell in reversed(c.sides))
        low, high = ends.split(" ")
        gain = number(v.mean, c.cell.unit, "+")
        width = number(v.half, c.cell.unit, like=v.mean)
        half = f" ± {width}" if math.isfinite(v.half) else ""
        mine = f"{gain}{half}"
        if anchor:
            mine = f'<a href="#{anchor}">{mine}</a>'
        mine += f"<br><small>{low}, {high}</small>"
    scale = f"{j.scale}, {v.n}" if v.n else "–"
    return wide(f"{_esc(c.sentence)} {where}", len(_HEAD)) + (
        f'<tr><td>{_theirs(j)}</td><td class="fl-ours">{mine}</td>'
        f"<td>{scale}</td>{verdict_cell(v.word)}</tr>"
    )


def _theirs(j: Judged) -> str:
    """The paper's gain, and the two numbers that it is between."""
    c = j.claim
    if c.gain is None:
        return {1: "above", -1: "below", 0: "as high"}[c.sign]
    said = number(c.gain, c.cell.unit, "+")
    if c.beside.paper_value is None or c.cell.paper_value is None:
        return said
    return f"{said}<br><small>{theirs(c.beside)}, {theirs(c.cell)}</small>"


def _mean(cell: Cell, j: Judged, book: Book) -> str:
    """The mean over the seeds that both sides were played with."""
    both = [set(_values(side, j, book)) for side in j.claim.sides]
    mine = _values(cell, j, book)
    values = [mine[k] for k in both[0] & both[1]]
    return number(sum(values) / len(values), cell.unit) if values else "–"


def _values(cell: Cell, j: Judged, book: Book) -> dict[int, float]:
    lines = lines_by_seed(j.claim, cell, book.found, j.scale)
    return {k: v["value"] for k, v in lines.items() if v["value"] is not None}


def _lines(j: Judged, book: Book) -> list[Line]:
    found = [lines_by_seed(j.claim, s, book.found, j.scale) for s in j.claim.sides]
    return [line for lines in found for line in lines.values()]


def _made(j: Judged, book: Book) -> str:
    """Both sides' numbers and commands."""
    parts = [f"<strong>{_esc(j.claim.sentence)}</strong> {_esc(j.verdict.why)}."]
    for cell in j.claim.sides:
        lines = list(lines_by_seed(j.claim, cell, book.found, j.scale).values())
        values = ", ".join(f"{v['value']}" for v in lines)
        run = f"<code>{_esc(command(cell, j.scale, lines))}</code>"
        about = f"<small>{_esc(trace(lines).text)}</small>"
        seeds = ", ".join(str(v["seed"]) for v in lines)
        place = f"{_esc(cell.row)} | {_esc(cell.column)}"
        parts.append(f"{place}: {values} (seeds {seeds})<br>{run}<br>{about}")
    return "<br>".join(parts)

"""The papers' claims beside what was found, and the card at the end of a chapter."""

import html
import inspect
import math
from collections.abc import Sequence

from IPython.display import HTML

from fedlab_book.ledger.markup import (
    EVERY,
    RULE,
    folded,
    grid,
    judged,
    number,
    page,
    place_of,
    ran_cell,
    theirs,
    verdict_cell,
    wide,
    written,
)
from fedlab_ledger.judge.claims import Judged, tally
from fedlab_ledger.model import verdict as rule
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.provenance import command, provenance
from fedlab_ledger.report.book import NAMES, Book, opened

_HEAD = ("paper: gain", "our gain", "ours ran on", "verdict")
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
    return HTML(f'<div class="fl-ledger">{claims_at(rows, paper, most=most)}</div>')


def claims_at(
    rows: Sequence[Judged], paper: str, anchor: str = "claim", most: float = math.inf
) -> str:
    """Judged claims as they are shown; `anchor` begins the names of their places.

    Those that were not run are counted, and named in a folded list.
    """
    done = [j for j in rows if j.verdict.word != rule.NONE]
    waiting = [j for j in rows if j.verdict.word == rule.NONE]
    parts = [_judged(done, paper, anchor, len(done) > most)] if done else []
    if waiting:
        table = grid(_HEAD, [_row(j, "") for j in waiting], "Not run yet.")
        parts.append(folded(f"{_many(waiting)} not run yet", table))
    return "".join(parts)


def _judged(rows: Sequence[Judged], paper: str, anchor: str, apart: bool) -> str:
    """Claims with a verdict, and a folded list of how each was made."""
    anchors = [f"{anchor}-{j.claim.slug}" for j in rows]
    body = [_row(j, at) for j, at in zip(rows, anchors, strict=True)]
    whose = f"{NAMES[paper]}'s claims" if paper in NAMES else "Claims"
    caption = (
        f"{whose} as differences between two cells. Ours: "
        "mean over seeds, paired, with its 95 % interval. Below it, what A and B reach."
    )
    items = "".join(
        f'<li id="{at}">{_made(j)}</li>' for j, at in zip(rows, anchors, strict=True)
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
    """How many claims, and their verdicts: 3 claims: 2 undecided, 1 opposite."""
    return f"{tally(rows).many}: {judged(rows)}"


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
    done = [line for j in rows for line in _lines(j)]
    made = "Nothing of this has been measured yet."
    if done:
        t = provenance(done)
        made = f"Measured on {_esc(t.text)} of computing for both sides of each claim."
    link = f'<a href="{page(paper)}">every table of the paper, with its curves</a>'
    again = f"python -m fedlab_core claims {paper}"
    text = (
        f"<p>{_by_chance(rows)}</p><p>{made} In the ledger: {link}. The same in a "
        f"terminal: <code>{again}</code></p>"
    )
    inside = claims_of(book, paper, tables, AT_A_GLANCE).data
    rules = f'<p><a href="{RULE}">The rule of the verdicts</a>, one for all claims.</p>'
    return HTML(f'<div class="fl-card-of">{inside}{text}{rules}</div>')


def _by_chance(rows: Sequence[Judged]) -> str:
    """How many verdicts no difference at all would give."""
    total = tally(rows)
    if not total.by_chance:
        return ""
    return (
        f"If no method made any difference, {total.by_chance:.1f} of these "
        f"{total.runs} would still come out as <em>{rule.SAME}</em>, and as many as "
        f"<em>{rule.OPPOSITE}</em>."
    )


def ruled() -> str:
    """The rule of the verdicts, as the module that applies it says it."""
    return written(inspect.getdoc(rule) or "")


def _row(j: Judged, anchor: str) -> str:
    c, v = j.claim, j.verdict
    about = [c.cell.where.split(";")[0]]
    if c.cell.unit != "%":
        about.append(f"unit: {c.cell.unit}")
    if c.gain is not None or c.sign == 0:  # else only the sign is claimed
        about.append(f"tolerance {c.tolerance:g}")
    where = f"<small>({_esc('; '.join(about))})</small>"
    mine = "–"
    if v.n:
        a, b = (_mean(lines, j) for lines in (j.mine, j.theirs))
        mine = our_gain(j)
        if anchor:
            mine = f'<a href="#{anchor}">{mine}</a>'
        mine += f"<br><small>A&nbsp;{a}, B&nbsp;{b}</small>"
    ran, word = "<td>–</td>", f"<td>{v.word}</td>"
    if v.word != rule.NONE:
        ran = ran_cell(c.cell.settings[j.scale], v.n, v.lost)
        word = verdict_cell(v.word, j.stand_in)
    far = " fl-apart" * j.stand_in
    said = f'<span class="fl-theirs">{_esc(c.sentence)}</span> {where}'
    return wide(said, len(_HEAD)) + (
        f'<tr><td class="fl-paper{far}">{paper_gain(j)}</td>'
        f'<td class="fl-ours">{mine}</td>{ran}{word}</tr>'
    )


def our_gain(j: Judged) -> str:
    """The mean over seeds with its interval: +1.69 ± 1.14; a dash without a number."""
    v, unit = j.verdict, j.claim.cell.unit
    if not v.n:
        return "–"
    width = f" ± {number(v.half, unit, like=v.mean)}" if math.isfinite(v.half) else ""
    return f"{number(v.mean, unit, '+')}{width}"


def paper_gain(j: Judged) -> str:
    """The paper's gain, and the two numbers that it is between."""
    c = j.claim
    if c.gain is None:
        return {1: "above", -1: "below", 0: "as high"}[c.sign]
    said = number(c.gain, c.cell.unit, "+")
    if c.beside.paper_value is None or c.cell.paper_value is None:
        return said
    return (
        f"{said}<br><small>A&nbsp;{theirs(c.cell)}, B&nbsp;{theirs(c.beside)}</small>"
    )


def _mean(lines: dict[int, Line], j: Judged) -> str:
    """A side's mean over the seeds in which both have a number."""
    both = [k for k in j.mine if k in j.theirs]
    pairs = [(k, {j.mine[k]["value"], j.theirs[k]["value"]}) for k in both]
    values = [lines[k]["value"] for k, pair in pairs if None not in pair]
    return number(sum(values) / len(values), j.claim.cell.unit) if values else "–"


def _lines(j: Judged) -> list[Line]:
    return [*j.mine.values(), *j.theirs.values(), *j.without.values()]


def _made(j: Judged) -> str:
    """Both sides' numbers and commands."""
    why = f"{j.verdict.why}{f' ({j.lost})' * bool(j.lost)}. Ours ran on {j.ran_on}."
    claimed = f'<strong class="fl-theirs">{_esc(j.claim.sentence)}.</strong>'
    seeds = f'<a href="{EVERY}#{j.claim.slug}">Seed by seed</a>'
    parts = [f"{claimed} {_esc(why)} {seeds}."]
    for cell, found in zip(j.claim.cells, (j.mine, j.theirs, j.without), strict=False):
        if not found:  # the training without the method may not be there yet
            continue
        lines = list(found.values())
        values = ", ".join(f"{v['value']}" for v in lines)
        run = f"<code>{_esc(command(cell, j.scale, lines))}</code>"
        about = f"<small>{_esc(provenance(lines).text)}</small>"
        seeds = ", ".join(str(v["seed"]) for v in lines)
        place = f"{_esc(cell.row)} | {_esc(cell.column)}"
        place = f'<span class="fl-theirs">{place}</span>'
        parts.append(f"{place}: {values} (seeds {seeds})<br>{run}<br>{about}")
    return "<br>".join(parts)

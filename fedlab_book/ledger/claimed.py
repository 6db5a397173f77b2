"""The papers' claims beside what was found, and the card at the end of a chapter."""

import inspect
import math
from collections.abc import Sequence

from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.html import macros
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
    written,
)
from fedlab_ledger.judge.claims import Judged, tally
from fedlab_ledger.model import verdict as rule
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.provenance import command, provenance
from fedlab_ledger.report.book import NAMES, Book, opened

_HEAD = ("paper: gain", "our gain", "ours ran on", "verdict")
AT_A_GLANCE = 20  # a card with more claims folds them, table by table
_parts, _html = macros("table"), macros("claims")


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
    return HTML(str(_html.ledger(claims_at(rows, paper, most=most))))


def claims_at(
    rows: Sequence[Judged], paper: str, anchor: str = "claim", most: float = math.inf
) -> Markup:
    """Judged claims as they are shown; `anchor` begins the names of their places.

    Those that were not run are counted, and named in a folded list.
    """
    done = [j for j in rows if j.verdict.word != rule.NONE]
    waiting = [j for j in rows if j.verdict.word == rule.NONE]
    parts = [_judged(done, paper, anchor, len(done) > most)] if done else []
    if waiting:
        table = grid(_HEAD, [_row(j, "") for j in waiting], "Not run yet.")
        parts.append(folded(f"{_many(waiting)} not run yet", table))
    return Markup().join(parts)


def _judged(rows: Sequence[Judged], paper: str, anchor: str, apart: bool) -> Markup:
    """Claims with a verdict, and a folded list of how each was made."""
    anchors = [f"{anchor}-{j.claim.slug}" for j in rows]
    body = [_row(j, at) for j, at in zip(rows, anchors, strict=True)]
    whose = f"{NAMES[paper]}'s claims" if paper in NAMES else "Claims"
    caption = (
        f"{whose} as differences between two cells. Ours: "
        "mean over seeds, paired, with its 95 % interval. Below it, what A and B reach."
    )
    many = f"each of these {len(rows)} gains" if len(rows) > 1 else "this gain"
    items = zip(anchors, map(_made, rows), strict=True)
    traces = folded(f"How {many} was made", _parts.trace_list(items))
    if not apart:
        return grid(_HEAD, body, caption, "fl-cells fl-claims") + traces
    folds = _by_place(rows, body, caption)
    return _html.by_place(_html.tallied(whose, _tally(rows)), folds, traces)


def _by_place(
    rows: Sequence[Judged], body: Sequence[Markup], caption: str
) -> list[Markup]:
    """The claims of each of the paper's tables and figures, folded."""
    places: dict[str, list[int]] = {}
    for i, j in enumerate(rows):
        places.setdefault(place_of(j.claim.cell), []).append(i)
    return [
        folded(
            _html.tallied(name, _tally([rows[i] for i in at])),
            grid(_HEAD, [body[i] for i in at], caption, "fl-cells fl-claims"),
        )
        for name, at in places.items()
    ]


def _tally(rows: Sequence[Judged]) -> str:
    """How many claims, and their verdicts: 3 claims: 2 undecided, 1 opposite."""
    return f"{tally(rows).many}: {judged(rows)}"


def _many(rows: Sequence[Judged]) -> str:
    return "1 claim" if len(rows) == 1 else f"{len(rows)} claims"


def claims_folded(book: Book, paper: str) -> HTML:
    """A paper's claims behind a line that counts their verdicts."""
    said = _html.tallied(NAMES[paper], _tally(book.claimed(paper)))
    return HTML(str(folded(said, claims_of(book, paper))))


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
        made = (
            f"Measured on {provenance(done).text} of computing for both sides of each "
        )
        made += "claim."
    inside = claims_of(book, paper, tables, AT_A_GLANCE)
    total, words = tally(rows), (rule.SAME, rule.OPPOSITE)
    chance = f"{total.by_chance:.1f} of these {total.runs}" if total.by_chance else ""
    again = f"python -m fedlab_core claims {paper}"
    return HTML(str(_html.card(inside, chance, words, made, page(paper), again, RULE)))


def ruled() -> Markup:
    """The rule of the verdicts, as the module that applies it says it."""
    return written(inspect.getdoc(rule) or "")


def _row(j: Judged, anchor: str) -> Markup:
    c, v = j.claim, j.verdict
    about = [c.cell.where.split(";")[0]]
    if c.cell.unit != "%":
        about.append(f"unit: {c.cell.unit}")
    if c.gain is not None or c.sign == 0:  # else only the sign is claimed
        about.append(f"tolerance {c.tolerance:g}")
    if c.gain is not None and c.source != "the paper":
        about.append(f"the gain is of {c.source}")
    if j.lost:
        about.append(f"of {v.n + v.lost} seeds {j.lost}")
    mine = our_gain(j)
    if v.n:
        sides = _html.sides(*(_mean(lines, j) for lines in (j.mine, j.theirs)))
        mine = _parts.below(_parts.link(f"#{anchor}", mine) if anchor else mine, sides)
    ran, word = _parts.plain("–"), _parts.plain(v.word)
    if v.word != rule.NONE:
        ran = ran_cell(c.cell.settings[j.scale], v.n, v.lost)
        word = verdict_cell(v.word, j.stand_in)
    said, paper = "; ".join(about), paper_gain(j)
    return _html.row(c.sentence, said, j.stand_in, paper, mine, ran, word)


def our_gain(j: Judged) -> str:
    """The mean over seeds with its interval: +1.69 ± 1.14; a dash without a number.

    Where seeds fall into two groups far apart, the mean of each is said, too.
    """
    v, unit = j.verdict, j.claim.cell.unit
    if not v.n:
        return "–"
    width = f" ± {number(v.half, unit, like=v.mean)}" if math.isfinite(v.half) else ""
    each = [f"{len(x)} seeds {number(float(x.mean()), unit, '+')}" for x in j.groups]
    return "; ".join([f"{number(v.mean, unit, '+')}{width}", *each])


def paper_gain(j: Judged) -> Markup:
    """The paper's gain, and the two numbers that it is between."""
    c = j.claim
    if c.gain is None:
        return _parts.below({1: "above", -1: "below", 0: "as high"}[c.sign], "")
    sides = ""
    if c.beside.paper_value is not None and c.cell.paper_value is not None:
        sides = _html.sides(theirs(c.cell), theirs(c.beside))
    return _parts.below(number(c.gain, c.cell.unit, "+"), sides)


def _mean(lines: dict[int, Line], j: Judged) -> str:
    """A side's mean over the seeds in which both have a number."""
    both = [k for k in j.mine if k in j.theirs]
    pairs = [(k, {j.mine[k]["value"], j.theirs[k]["value"]}) for k in both]
    values = [lines[k]["value"] for k, pair in pairs if None not in pair]
    return number(sum(values) / len(values), j.claim.cell.unit) if values else "–"


def _lines(j: Judged) -> list[Line]:
    return [*j.mine.values(), *j.theirs.values(), *j.without.values()]


def _made(j: Judged) -> Markup:
    """Both sides' numbers and commands."""
    why = f"{j.verdict.why}{f' ({j.lost})' * bool(j.lost)}. Ours ran on {j.ran_on}."
    sides = []
    for cell, found in zip(j.claim.cells, (j.mine, j.theirs, j.without), strict=False):
        if not found:  # the training without the method may not be there yet
            continue
        lines = list(found.values())
        values = ", ".join(f"{v['value']}" for v in lines)
        seeds = ", ".join(str(v["seed"]) for v in lines)
        run = command(cell, j.scale, lines)
        sides.append((cell, values, seeds, run, provenance(lines).text))
    return _html.made(j, why, EVERY, sides)

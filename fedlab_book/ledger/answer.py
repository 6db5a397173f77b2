"""The page with the answer: a paper a row, its effect drawn on one axis for all."""

import math

from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_book.ledger.markup import grid, page, place_of
from fedlab_ledger.model.describe import data, ran_on
from fedlab_ledger.model.verdict import MATCHES, OPPOSITE, SAME, UNDECIDED, WORDS
from fedlab_ledger.report.answers import Answer, Effect, answers
from fedlab_ledger.report.book import NAMES, Book
from fedlab_ledger.report.earlier import crossed

EDGE = 8.0  # points: what lies beyond is drawn at the edge, with its number
_WIDTH, _HEIGHT = 240, 74
_MIDDLE, _LOWER, _UPPER = 26, 50, 8  # heights of the marks: headline, others, paper
_html = macros("answer")


def answered(book: Book) -> HTML:
    """A row a paper: claim, finding, what it needs, when it lost; and its effect."""
    head = ("claim and finding", "gain in points, and on what it ran")
    rows = [_row(a) for a in answers(book)]
    kinds = (MATCHES, SAME, UNDECIDED, OPPOSITE)
    caption = (
        "Means over seeds. Large mark: the headline comparison with its 95 % interval; "
        "small marks: all others with the same training without the method. Filled: at "
        "the paper's own scale, where a triangle is the paper's gain; hollow: on a "
        "stand-in. Arrowheads lie beyond the axis."
    )
    table = grid(head, rows, caption, "fl-cells fl-answers")
    return HTML(str(_html.key(kinds) + table))


def _row(a: Answer) -> Markup:
    paper = a.question.paper
    where = (_most_ahead(a), _lost(a), a.beside_others, a.again)
    return _html.row(a, page(paper), NAMES[paper], where, strip(a), _ran(a))


def _ran(a: Answer) -> str:
    """On what the headline ran, and the others."""
    if a.headline is None:
        return ""
    j = a.headline.judged
    cell = j.claim.cell
    said = f"Large mark: {ran_on(cell.settings[j.scale], j.verdict.n)}."
    if cell.notes.get(j.scale) and not j.stand_in:
        said += f" {cell.row}: {cell.notes[j.scale]}."
    rounds: dict[str, set[int]] = {}
    for e in a.effects:
        if e is not a.headline:
            s = e.judged.claim.cell.settings[e.judged.scale]
            rounds.setdefault(data(s), set()).add(s.rounds)
    if rounds:
        others = (f"{name} ({_span(n)} rounds)" for name, n in rounds.items())
        said += f" Small marks: {', '.join(others)}."
    return said


def _span(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _most_ahead(a: Answer) -> Markup:
    where = "no setting was found yet" if a.best is None else _place(a.best)
    return _html.told("Most ahead:", where)


def _lost(a: Answer) -> Markup | str:
    if a.worst is not None:
        return _html.told("Furthest behind:", _place(a.worst))
    return _html.told("Behind", f"in none of {len(a.effects)}") if a.effects else ""


def _place(e: Effect) -> Markup:
    """The paper's table, row and setting; the gain, and on what it was run."""
    cell = e.judged.claim.cell
    place = f"{place_of(cell)}, {cell.row}, {e.judged.claim.where}"
    ran = f"ours on {ran_on(cell.settings[e.judged.scale], e.judged.verdict.n)}"
    return _html.place(place, e.text, ran)


def strip(a: Answer) -> Markup | str:
    """A paper's effects on the axis that all rows share, as inline SVG."""
    if a.headline is None:
        return ""
    marks = [_axis()]
    rest = [e for e in a.effects if e is not a.headline]
    marks += [_mark(e, _LOWER, 3) for e in rest]
    for side in (-1, 1):
        beyond = [e for e in rest if side * e.mean > EDGE]
        if beyond:
            far = max(abs(e.mean) for e in beyond)
            marks.append(_told(side * far, _LOWER, "to " * (len(beyond) > 1)))
    marks.append(_mark(a.headline, _MIDDLE, 5.5, interval=True))
    if abs(a.headline.mean) > EDGE:
        marks.append(_told(a.headline.mean, _MIDDLE - 13))
    if a.headline.paper is not None and not a.headline.judged.stand_in:
        x = _x(a.headline.paper)
        points = f"{x - 5},{_UPPER - 5} {x + 5},{_UPPER - 5} {x},{_UPPER + 3}"
        marks.append(f'<polygon class="fl-claimed" points="{points}"/>')
        if abs(a.headline.paper) > EDGE:
            marks.append(_told(a.headline.paper, _UPPER))
    return _html.strip(_WIDTH, _HEIGHT, alt(a), Markup("".join(marks)))


def alt(a: Answer) -> str:
    """The strip in words."""
    if a.headline is None:
        return ""
    whose = NAMES[a.question.paper]
    theirs = None if a.headline.judged.stand_in else a.headline.paper
    paper = "" if theirs is None else f"; the paper has {theirs:+.1f}"
    others = [e.mean for e in a.effects if e is not a.headline]
    said = f"{whose}: the headline comparison gains {a.headline.text}{paper}."
    if others:
        low, high = min(others), max(others)
        said += f" {len(others)} others lie between {low:+.1f} and {high:+.1f}."
    return said


def _x(points: float) -> float:
    inside = max(-EDGE, min(EDGE, points))
    return round(_WIDTH / 2 + inside / EDGE * (_WIDTH / 2 - 14), 1)


def _axis() -> str:
    """The lines that marks are read by, with their numbers below."""
    base, parts = _LOWER + 9, []
    for points, name in ((-5, "−5"), (0, "0"), (5, "+5")):
        x, kind = _x(points), "fl-tick" if points else "fl-zero"
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{_UPPER}" y2="{base}" class="{kind}"/>'
            f'<text x="{x}" y="{_HEIGHT - 3}" text-anchor="middle">{name}</text>'
        )
    return "".join(parts)


def _mark(e: Effect, y: float, radius: float, interval: bool = False) -> str:
    """A mean, with its interval if asked for; beyond the edge an arrowhead."""
    kind = e.judged.verdict.word.replace(" ", "-")
    hollow = " fl-hollow" * e.judged.stand_in
    x, parts = _x(e.mean), []
    if interval and math.isfinite(e.half):
        low, high = _x(e.mean - e.half), _x(e.mean + e.half)
        parts.append(f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>')
    if abs(e.mean) > EDGE:
        r = (1 if e.mean > 0 else -1) * (radius + 1.5)
        points = f"{x + r},{y} {x - r / 2},{y - abs(r)} {x - r / 2},{y + abs(r)}"
        parts.append(f'<polygon class="fl-mark" points="{points}"/>')
    else:
        parts.append(f'<circle cx="{x}" cy="{y}" r="{radius}"/>')
    return f'<g class="fl-is-{kind}{hollow}">{"".join(parts)}</g>'


def _told(points: float, y: float, before: str = "") -> str:
    """A number beside marks at the edge."""
    side = 1 if points > 0 else -1
    anchor = "end" if side > 0 else "start"
    said = f"{before}{points:+.0f}".replace("-", "−")
    at = _x(points) - side * 11
    return f'<text x="{at}" y="{y + 4}" text-anchor="{anchor}">{said}</text>'


def changed(book: Book) -> HTML:
    """How many claims were read how before the rule of today, and are read now."""
    every = [j for paper in book.papers for j in book.claimed(paper)]
    counts = crossed(every)
    words = [w for w in WORDS if any(c[w] for c in counts.values())]
    rows = [
        _html.counts(reading, [*(found[w] or "–" for w in words), sum(found.values())])
        for reading, found in counts.items()
    ]
    sums = [sum(c[w] for c in counts.values()) for w in words]
    rows.append(_html.counts("together", [*sums, sum(sums)]))
    caption = "Claims that were run: a row a reading of before, a column a word of now."
    return HTML(str(grid(("before", *words, "together"), rows, caption)))

"""The page with the answer: a paper a row, its effects drawn on an axis that fits."""

import math

from IPython.display import HTML
from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_book.ledger.markup import grid, page
from fedlab_ledger.report.answers import Answer, Gain, answers
from fedlab_ledger.report.book import NAMES, Book

_WIDTH, _HEIGHT, _EDGE = 250, 62, 12
_UPPER, _MIDDLE, _LOWER = 6, 20, 38  # heights of the marks: paper, headline, settings
_STEPS = (0.5, 1, 2, 5, 10, 20, 50)
_html = macros("answer")


def answered(book: Book) -> HTML:
    """A row a paper: what it changes and claims, its effects, and what we found."""
    head = ("paper and claim", "gain in points", "what we found")
    caption = (
        "Large mark: the comparison at the largest scale, with its 95 % interval over "
        "seeds; triangle: the paper's, or its authors' stored run's. Small marks: each "
        "setting of its paper that was tried, without the common fields; hollow: "
        "smaller than the paper's. Grey: not told from zero."
    )
    rows = [_row(a) for a in answers(book)]
    return HTML(str(grid(head, rows, caption, "fl-cells fl-answers")))


def findings(book: Book) -> HTML:
    """A line a paper, for the first page: what it changes, and what we found."""
    lines = [_html.line(a, page(a.question.paper), _name(a)) for a in answers(book)]
    return HTML(str(_html.list(lines)))


def _name(a: Answer) -> str:
    return NAMES[a.question.paper]


def _row(a: Answer) -> Markup:
    sides = zip(("Most ahead", "Furthest behind"), a.furthest, strict=True)
    where = [_html.told(head, t.name, t.gain.text, t.ran) for head, t in sides if t]
    return _html.row(a, page(a.question.paper), _name(a), strip(a), where)


def strip(a: Answer) -> Markup | str:
    """A paper's effects, as inline SVG."""
    e = a.headline
    if e is None:
        return ""
    theirs = None if e.judged.stand_in else e.paper
    low, high = _span(a, theirs)

    def x(points: float) -> float:
        inside = (points - low) / (high - low)
        return round(_EDGE + inside * (_WIDTH - 2 * _EDGE), 1)

    marks = [_axis(low, high, x)]
    for t in a.tried:
        shape = f'<circle cx="{x(t.gain.mean)}" cy="{_LOWER}" r="3"/>'
        marks.append(_group(t.gain, not t.own_scale, shape))
    ends = (x(e.gain.mean - e.gain.half), x(e.gain.mean + e.gain.half))
    line = f'<line x1="{ends[0]}" x2="{ends[1]}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
    dot = f'<circle cx="{x(e.gain.mean)}" cy="{_MIDDLE}" r="5.5"/>'
    marks.append(_group(e.gain, e.judged.stand_in, line + dot))
    if theirs is not None:
        at = x(theirs)
        points = f"{at - 5},{_UPPER - 5} {at + 5},{_UPPER - 5} {at},{_UPPER + 3}"
        marks.append(f'<polygon class="fl-claimed" points="{points}"/>')
    return _html.strip(_WIDTH, _HEIGHT, alt(a), Markup("".join(marks)))


def alt(a: Answer) -> str:
    """The strip in words."""
    if a.headline is None:
        return ""
    means = [t.gain.mean for t in a.tried]
    return (
        f"{_name(a)}, {a.beside_paper} Settings that were tried lie between "
        f"{min(means):+.1f} and {max(means):+.1f}. {a.standing.text}"
    )


def _span(a: Answer, theirs: float | None) -> tuple[float, float]:
    """The axis: all marks, zero among them, and a little room."""
    e = a.headline
    assert e is not None
    ends = [0.0, e.gain.mean - e.gain.half, e.gain.mean + e.gain.half]
    ends += [t.gain.mean for t in a.tried]
    ends += [] if theirs is None else [theirs]
    finite = [end for end in ends if math.isfinite(end)]
    room = 0.04 * (max(finite) - min(finite)) or 1.0
    return min(finite) - room, max(finite) + room


def _axis(low: float, high: float, x) -> str:
    """The lines that marks are read by, with their numbers below."""
    step = next(s for s in (*_STEPS, math.inf) if (high - low) / s <= 5)
    first, last = math.ceil(low / step), math.floor(high / step)
    parts, base = [], _LOWER + 7
    for points in (step * i for i in range(first, last + 1)):
        kind = "fl-tick" if points else "fl-zero"
        name = f"{points:+g}".replace("-", "−") if points else "0"
        at = x(points)
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{_UPPER}" y2="{base}" class="{kind}"/>'
            f'<text x="{at}" y="{_HEIGHT - 4}" text-anchor="middle">{name}</text>'
        )
    return "".join(parts)


def _group(gain: Gain, hollow: bool, shapes: str) -> str:
    kind = ("fl-open", "fl-ahead", "fl-behind")[gain.side]
    return f'<g class="{kind}{" fl-hollow" * hollow}">{shapes}</g>'

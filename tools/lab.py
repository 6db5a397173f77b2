"""Lab sheets: one printed page for an hour at a chapter, made from its notebook.

The first minutes are for the page's first piece, the last for what is handed in, and an
exercise has the minutes that it says; what is left is for predictions.
"""

import base64
import io
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from markupsafe import Markup
from matplotlib import mathtext
from matplotlib.font_manager import FontProperties

from fedlab_book.html import macros
from tools.lesson import Lesson, LessonError, lesson

HOUR, FIRST, LAST, A_QUESTION = 60, 5, 5, 4  # minutes
_ROLE = re.compile(r"\{(doc|eq|cite)\}`([^`]*)`")
_MATH = re.compile(r"(?<!\\)\$([^$]+)\$")
_markdown = MarkdownIt("commonmark", {"html": False})


def sheet(about: Lesson) -> str:
    """The sheet of a chapter, as a page that needs nothing beside it."""
    left = HOUR - FIRST - LAST - about.working
    if left < A_QUESTION:
        raise LessonError(
            f"notebooks/{about.name}.ipynb: exercises of {about.working} minutes leave "
            f"{left} of {HOUR} for predictions; a question takes {A_QUESTION}"
        )
    asked = about.questions[: left // A_QUESTION]
    starts, now = dict[str, int](), FIRST + left
    for exercise in about.exercises:
        starts[exercise.name] = now
        now += exercise.minutes

    def said(text: str) -> Markup:
        return html(text, about)

    return str(
        macros("lab", "tools").sheet(
            about, said, asked, starts, (FIRST, FIRST + left, now, HOUR)
        )
    )


def html(text: str, about: Lesson) -> Markup:
    """A sentence of a notebook as HTML: formulas as pictures, links as their words."""

    def named(role: re.Match[str]) -> str:
        kind, to = role.groups()
        if kind == "eq":
            if to not in about.equations:
                raise LessonError(f"{about.name}: no equation {to}")
            return f"({about.equations[to]})"
        if kind == "cite":
            return ""
        words = re.match(r"(.*?)\s*<.*>$", to)
        if words:
            return words[1]
        numbered = re.search(r"(?:^|/)0(\d)_\w+$", to)
        return f"chapter {numbered[1]}" if numbered else f"“{_words(to)}”"

    pictures = list[str]()

    def drawn(formula: re.Match[str]) -> str:
        pictures.append(_formula(formula[1]))
        return f"MATH{len(pictures) - 1}MATH"

    text = re.sub(r"<[^>]*>", "", _ROLE.sub(named, text))
    made = _markdown.renderInline(_MATH.sub(drawn, text))
    made = re.sub(r"MATH(\d+)MATH", lambda m: pictures[int(m[1])], made)
    return Markup(made)


def _words(page: str) -> str:
    return page.rsplit("/", 1)[-1].replace("_", " ").capitalize()


@cache
def _formula(tex: str) -> str:
    """A formula as a picture that stands in a line of text."""
    plain = re.sub(r"\\mathcal (\w)", r"\\mathcal{\1}", tex)
    plain = re.sub(r"(?<!\d)\.(?=\d)", "{.}", plain)  # a point, and no full stop
    buffer = io.BytesIO()
    size = FontProperties(size=10, math_fontfamily="cm")
    depth = mathtext.math_to_image(f"${plain}$", buffer, size, dpi=72, format="svg")
    wide = ElementTree.fromstring(buffer.getvalue()).attrib
    data = base64.b64encode(buffer.getvalue()).decode()
    return str(
        macros("lab", "tools").formula(tex, data, wide["width"], wide["height"], depth)
    )


def write(path: Path, to: Path) -> str:
    """Write the lab sheet of a chapter's notebook; a line about it."""
    about = lesson(path)
    to.mkdir(parents=True, exist_ok=True)
    (to / f"{path.stem}.html").write_text(sheet(about))
    return f"  {path.stem:<42} lab sheet, {HOUR} minutes"

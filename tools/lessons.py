"""The page of all lessons: what each takes, its slides, and a quiz of the questions.

Made of the chapters' notebooks: a question stands there once, with a line for each of
its answers, and is asked on the chapter's page and here.
"""

from collections.abc import Iterable
from pathlib import Path
from string import ascii_lowercase

from tools.lesson import Lesson, Question, lesson
from tools.paths import SLIDES

_PAGE = """\
# Lesson by lesson: times, slides, a quiz

For those who teach with this book; how a course can go is in {{doc}}`instructors`.

```{{list-table}} Minutes for one student; an exercise has as many points as minutes
:header-rows: 1

* - Chapter
  - to read
  - exercises
  - slides
{rows}
```

Slides are six a chapter: the question, a piece to turn, a prediction, the method
whole, the finding that decides, and how far it carries. Arrow keys turn them, Escape
leads back to all six, and raised hands are counted beside the answers.

## A quiz

All questions that the chapters ask before they show what came out. Ask one at the start
of a lesson, let everybody choose, and let two of them argue. The answers are those of
the book's own runs; the reasons are the lines that a reader is told.
{quiz}
"""
_ROW = """\
* - {{doc}}`../notebooks/{name}`
  - {reading}
  - {working}
  - <a href="../{folder}/{name}.html">six</a>\
"""


def page(chapters: Iterable[Path]) -> str:
    """The page for these notebooks, as Markdown."""
    every = [lesson(path) for path in chapters]
    return _PAGE.format(
        rows="\n".join(_row(one) for one in every),
        quiz="\n".join(_asked(one) for one in every),
    )


def _row(about: Lesson) -> str:
    return _ROW.format(
        name=about.name, reading=about.reading, working=about.working, folder=SLIDES
    )


def _asked(about: Lesson) -> str:
    parts = [f"\n### {about.number}. {about.title}"]
    for i, question in enumerate(about.questions, 1):
        parts.append(_question(f"{about.number}-{i}", question))
    return "\n\n".join(parts)


def _question(number: str, asked: Question) -> str:
    letters = dict(zip(asked.answers, ascii_lowercase, strict=False))
    answers = "\n".join(f"- ({letters[a]}) {a}" for a in asked.answers)
    told = "\n".join(
        f"- ({letters[a]}) **{'Yes.' if a == asked.right else 'No.'}** {line}"
        for a, line in asked.answers.items()
    )
    folded = f":::{{admonition}} Answer: {number}\n:class: dropdown\n{told}\n:::"
    return f"**{number}.** {asked.text}\n\n{answers}\n\n{folded}"

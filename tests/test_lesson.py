"""A course's questions and times, read from a chapter's notebook; its lab sheet."""

import re
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.thin_cases import THIN
from tools import lab, paths
from tools.lesson import Lesson, LessonError, lesson, read

OPENING = "# Who?\n\nTen clinics *train*.\n\nPress Play, with $\\alpha = .1$."
GLANCE = "**Time.** 45 minutes, exercises 30.\n\n```{math}\n:label: pull\nx\n```"
ASKED = """\
from math import inf
predict("What?", {"a": "Since.", f"{inf}": "No."}, right=runs(), written=f"{inf}")
"""
LIVE = 'live("", goal=Goal("Exercise 9.1: reach it", above=1))'
EXERCISES = """\
## Exercises

**Exercise 9.1** (turn, 10 minutes). Turn `it`.

:::{admonition} Answer
:class: dropdown
Hidden.
:::

**Exercise 9.2** (pencil, 20 minutes). Why {eq}`pull`? See {doc}`02_is_size`,
{doc}`this <who_holds_what>`, {doc}`who_holds_what`.

**A task without minutes.** Play on.

## Summary

- No exercise."""


def chapter(*prose: str, code: tuple[str, ...] = (ASKED, LIVE)) -> NotebookNode:
    cells = [new_markdown_cell(text) for text in prose or (OPENING, GLANCE, EXERCISES)]
    return new_notebook(cells=[*cells, *(new_code_cell(c) for c in code)])


def one() -> Lesson:
    return read(chapter(), "09_who")


def test_a_lesson_has_what_its_notebook_says():
    found = one()
    assert (found.title, found.case) == ("Who?", ["Ten clinics *train*."])
    assert found.play.startswith("Press Play")
    assert (found.number, found.reading, found.working) == (9, 45, 30)
    (asked,) = found.questions
    assert (asked.text, asked.right) == ("What?", "inf")
    assert asked.answers == {"a": "Since.", "inf": "No."}
    turned, thought = found.exercises
    assert (turned.turns, turned.written, turned.minutes) == (True, False, 10)
    assert (turned.text, turned.goal) == (". Turn `it`.", "Reach it")
    assert (thought.turns, thought.written, thought.goal) == (False, True, "")
    assert "Hidden" not in str(found) and "Play on" not in str(found)
    assert "No exercise" not in str(found)


@pytest.mark.parametrize(
    ("prose", "code", "lacks"),
    [
        (("# Who?", GLANCE, EXERCISES), (ASKED, LIVE), "its first text is not a title"),
        ((OPENING, EXERCISES), (ASKED, LIVE), "no line “**Time.**"),
        ((OPENING, GLANCE), (ASKED, LIVE), "no section “Exercises”"),
        (
            (OPENING, GLANCE.replace("30", "40"), EXERCISES),
            (ASKED, LIVE),
            "take 30 minutes: “**Time.** 45 minutes, exercises 40.”",
        ),
        ((OPENING, GLANCE, EXERCISES), (ASKED,), "no exercise in a live piece"),
        ((OPENING, GLANCE, EXERCISES), (LIVE,), "no question that waits"),
        (
            (OPENING, GLANCE, EXERCISES),
            ('predict("What?", runs, right="a")', LIVE),
            "'What?': its answers wait for a run (name 'runs'",
        ),
    ],
)
def test_what_a_chapter_lacks_is_named(prose, code, lacks):
    with pytest.raises(LessonError, match=re.escape(lacks)):
        read(chapter(*prose, code=code), "09_who")


def test_a_sheet_has_the_hour_and_the_words_of_its_chapter():
    page = BeautifulSoup(lab.sheet(one()), "html.parser")
    when = [tag.get_text() for tag in page.select(".when")]
    assert when == ["0–5", "5–25", "25–35", "35–55", "55–60"]
    assert len(page.select(".box")) == 2  # of the one question there is
    said = " ".join(page.get_text().split())
    assert "Exercise 9.1 (turn). Turn it. Reach it: the page says" in said
    assert "Why (1)? See chapter 2, this, “Who holds what”." in said
    assert "Hidden" not in said and "{" not in said
    assert [img["alt"] for img in page.select("img")] == [r"\alpha = .1"]


def test_exercises_that_leave_no_time_are_named():
    found = one()
    long = replace(found, exercises=[replace(found.exercises[0], minutes=50)])
    with pytest.raises(LessonError, match="09_who.ipynb: exercises of 50 minutes"):
        lab.sheet(long)


def test_an_equation_that_is_nowhere_is_named():
    with pytest.raises(LessonError, match="09_who: no equation push"):
        lab.html("{eq}`push`", one())


@pytest.mark.slow
@pytest.mark.parametrize("name", THIN)
def test_a_chapter_is_a_lesson(name):
    found = lesson(paths.ROOT / "notebooks" / f"{name}.ipynb")
    assert len(found.exercises) == 3 and len(found.questions) >= 2
    assert all(asked.right in asked.answers for asked in found.questions)
    assert sum(e.turns for e in found.exercises) == 1
    assert sum(e.written for e in found.exercises) == 1
    said = BeautifulSoup(lab.sheet(found), "html.parser").get_text()
    assert not re.search(r"[$`{}]|MATH", said)

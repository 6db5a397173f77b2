"""Copies of the chapters for a course: students', a key, and a lab sheet to print.

    python -m tools.course            # or: make course

They lie in `_build/course` as nbgrader wants them: `source/` is the key, `release/` is
what students get, `nbgrader_config.py` says how a blank looks. Both are made from the
book's notebooks, and an exercise's points are the minutes that it takes. Code is tested
by the book's own check, and behind it by a hidden one, which a blank does not pass; for
the page and for the pencil there is a cell to write in, graded by hand. `lab/` has a
printed page for an hour at each chapter (`tools/lab.py`).
"""

import argparse
import re
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools import lab, paths
from tools.exercises import BEGIN, END, ExerciseError, blank, pairs
from tools.lesson import EXERCISE, LessonError

_CHECKED = re.compile(r'^check\("(\d\.\d)", (\w+)\)$', re.MULTILINE)
_FOLDED = re.compile(
    r"^:::\{admonition\} [^\n]*\n:class: [^\n]*\bdropdown\b[^\n]*\n(.*?)^:::[ ]*$\n?",
    re.MULTILINE | re.DOTALL,
)
_WRITE = "*Your answer: double-click here, and write.*"
_FIRST = """\
**A student's copy** of a chapter of “Who Counts?”. It runs where the package is
installed: `pip install '.[book]'` in the book's repository, or the wheel that you were
given. Work through it from the top; what is to be handed in has points, {points} in
all. Where a line says ✓, your code is right.
"""
_CONFIG = f"""\
c = get_config()  # noqa: F821 (nbgrader gives it)
c.CourseDirectory.course_id = "who-counts"
c.ClearSolutions.code_stub = {{"python": "{BEGIN}\\n...\\n{END}"}}
c.ClearSolutions.text_stub = "{_WRITE}"
"""


@dataclass
class Exercise:
    """An exercise: what it is worth, and its answer if that is in words."""

    name: str
    minutes: int
    coded: bool
    model: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"exercise-{self.name.replace('.', '-')}"


def chapters(root: Path) -> list[Path]:
    """The numbered chapters' notebooks, in the book's order, without side pages."""
    named = paths.chapters(root).items()
    return [path for path, name in named if "," not in name]


def copies(notebook: NotebookNode) -> tuple[NotebookNode, NotebookNode]:
    """The student's copy of a chapter, and its key, by which nbgrader grades."""
    student, key = list[NotebookNode](), list[NotebookNode]()
    solutions = {name: solved for name, _, solved in pairs(notebook)}
    waiting: Exercise | None = None
    every = list[Exercise]()
    for part in _parts(notebook, solutions.keys()):
        if isinstance(part, Exercise):
            every.append(part)
            if waiting:
                student.append(_written(waiting, ""))
                key.append(_written(waiting, "\n\n".join(waiting.model)))
            waiting = None if part.coded else part
        elif (name := part.metadata.get("exercise")) is None:
            student.append(part)
            key.append(part)
        elif "exercise" in part.metadata.get("tags", []):
            about = next(e for e in every if e.name == name)
            source = solutions[name].source
            student += _coded(about, blank(source), "")
            key += _coded(about, _marked(source), name)
    points = sum(e.minutes for e in every)
    first = new_markdown_cell(_FIRST.format(points=points), id="copy")
    made = []
    for cells in (student, key):
        copy = nbformat.from_dict({**notebook, "cells": [first, *cells]})
        made.append(_cleaned(copy))
    return made[0], made[1]


def _parts(
    notebook: NotebookNode, coded: Container[str]
) -> Iterator[NotebookNode | Exercise]:
    """The cells, each exercise before its text; solutions in words are its model."""
    now: Exercise | None = None
    for cell in notebook.cells:
        if cell.cell_type != "markdown" or not (now or EXERCISE.search(cell.source)):
            yield cell
            continue
        text, at = cell.source, 0
        ends = [m.start() for m in EXERCISE.finditer(text)] + [len(text)]
        if "## Summary" in text:
            ends = sorted({*ends, text.index("## Summary")})
        for end in ends:
            piece, at = text[at:end], end
            if found := EXERCISE.match(piece):
                name, minutes = found["name"], int(found["minutes"])
                now = Exercise(name, minutes, name in coded)
                yield now
            elif piece.startswith("## Summary"):
                now = None
                yield Exercise("", 0, True)  # behind the last one
            if now:
                now.model += [m[1].strip() for m in _FOLDED.finditer(piece)]
                piece = _FOLDED.sub("", piece)
            if piece.strip():
                name = f"{cell.id}-{end}" if len(ends) > 1 else cell.id
                yield new_markdown_cell(piece.strip(), id=name[:64])


def _graded(**how: Any) -> dict[str, Any]:
    usual = {"grade": False, "locked": False, "solution": False, "task": False}
    made = {**usual, "schema_version": 3, **how}
    return {"nbgrader": made, "deletable": False}


def _written(about: Exercise, model: str) -> NotebookNode:
    """A cell to write in, graded by hand."""
    how = {"grade": True, "solution": True, "points": about.minutes}
    metadata = _graded(grade_id=about.id, cell_type="markdown", **how)
    text = model or _WRITE
    return new_markdown_cell(text, id=about.id, metadata=metadata)


def _coded(about: Exercise, source: str, hidden: str) -> list[NotebookNode]:
    """An answer's cell and its test's; a key's test has a hidden part."""
    checked = _CHECKED.search(source)
    if not checked:
        raise ExerciseError(f"exercise {about.name}: its last line is no check(...)")
    answer = _CHECKED.sub("", source).rstrip()
    test = checked[0]
    if hidden:
        again = (
            f'from fedlab_book.checks import graded\n\ngraded("{hidden}", {checked[2]})'
        )
        test += f"\n### BEGIN HIDDEN TESTS\n{again}\n### END HIDDEN TESTS"
    write = _graded(grade_id=about.id, cell_type="code", solution=True)
    tests = f"{about.id}-test"
    given = {"grade": True, "locked": True, "points": about.minutes}
    run = _graded(grade_id=tests, cell_type="code", **given)
    return [
        new_code_cell(answer, id=about.id, metadata=write),
        new_code_cell(test, id=tests, metadata=run),
    ]


def _marked(source: str) -> str:
    """A solution with nbgrader's marks for ours."""
    text = source.replace(BEGIN, "### BEGIN SOLUTION")
    return text.replace(END, "### END SOLUTION")


def _cleaned(notebook: NotebookNode) -> NotebookNode:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.validate(notebook)
    return notebook


def write(root: Path, to: Path) -> list[str]:
    """Write both copies of every chapter, and its lab sheet; a line about each."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "nbgrader_config.py").write_text(_CONFIG)
    said = []
    for path in chapters(root):
        notebook = nbformat.read(path, as_version=4)
        try:
            made = dict(zip(("release", "source"), copies(notebook), strict=True))
        except ExerciseError as error:
            raise ExerciseError(f"{path.name}: {error}") from error
        for kind, copy in made.items():
            place = to / kind / path.stem / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(copy, place)
        graded = [
            c.metadata.nbgrader
            for c in made["source"].cells
            if "nbgrader" in c.metadata
        ]
        points = [about["points"] for about in graded if about["grade"]]
        said.append(f"  {path.stem:<42} {len(points)} exercises, {sum(points)} points")
    return said + [lab.write(path, to / "lab") for path in chapters(root)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.course", description=__doc__)
    parser.add_argument("--to", type=Path, default=paths.ROOT / "_build" / "course")
    to = parser.parse_args(arguments).to
    try:
        print("\n".join(write(paths.ROOT, to)))
    except (ExerciseError, LessonError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kinds = "students' copies in release, keys in source, lab sheets in lab"
    print(f"In {to}: {kinds}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

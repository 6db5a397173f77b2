"""A lesson from a chapter's notebook: its case, its questions, its exercises.

The lab sheets, the quiz and the plan of the course are made of these, so that a
sentence stands in one place. What a notebook computes is not needed: the answers of a
question are a module's or written out, and right is that for which lines are written.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

EXERCISE = re.compile(
    r"^\*\*Exercise (?P<name>\d\.\d)\*\* \((?:(?P<kind>[^)]*), )?"
    r"(?P<minutes>\d+) minutes?\)",
    re.MULTILINE,
)
_FOLDED = re.compile(r"^:{3,}\{admonition\}.*?^:{3,}[ ]*$\n?", re.MULTILINE | re.DOTALL)
_TIME = re.compile(
    r"\*\*Time\.\*\* (?P<reading>\d+) minutes, exercises (?P<exercises>\d+)\."
)
_KNOB = ("turn", "in the page")


class LessonError(ValueError):
    """A chapter lacks what a lesson is made of; the message says what, and where."""


@dataclass(frozen=True)
class Question:
    """A question of a chapter, a line for each answer, and which answer is right."""

    text: str
    answers: Mapping[str, str]
    right: str


@dataclass(frozen=True)
class Exercise:
    """An exercise: `kind` is what is done, as “pencil”; `goal` what a piece asks for.

    Its text is what follows its minutes: “. Make ...”, or “ is on this page ...”.
    """

    name: str
    kind: str
    minutes: int
    text: str
    goal: str = ""

    @property
    def turns(self) -> bool:
        """Whether it is done in a live piece of the page."""
        return self.kind.startswith(_KNOB)

    @property
    def written(self) -> bool:
        return self.kind.startswith("pencil")


@dataclass(frozen=True)
class Lesson:
    """All that a course needs of a chapter."""

    name: str  # of its notebook
    title: str
    case: list[str]  # the opening's paragraphs before the last
    play: str  # its last one: what to do with the first piece
    reading: int  # minutes
    questions: list[Question]
    exercises: list[Exercise]
    equations: Mapping[str, int] = field(default_factory=dict)  # their numbers

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def working(self) -> int:
        """Minutes that all exercises take."""
        return sum(exercise.minutes for exercise in self.exercises)


@cache
def lesson(path: Path) -> Lesson:
    """The lesson of a chapter's notebook."""
    notebook = nbformat.read(path, as_version=4)
    try:
        return read(notebook, path.stem)
    except LessonError as error:
        raise LessonError(f"notebooks/{path.name}: {error}") from error


def read(notebook: NotebookNode, name: str) -> Lesson:
    prose = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    opening = [p.replace("\n", " ").strip() for p in re.split(r"\n\s*\n", prose[0])]
    title, *case = [p for p in opening if p]
    if not title.startswith("# ") or not case or case[-1].startswith(":::"):
        raise LessonError("its first text is not a title, a case, and what to play")
    whole = "\n\n".join(prose)
    time = _TIME.search(whole)
    if not time:
        raise LessonError("no line “**Time.** 45 minutes, exercises 40.”")
    goals = list(_goals(notebook))
    exercises = [*_exercises(prose, goals)]
    if not any(e.turns and e.goal for e in exercises):
        raise LessonError("no exercise in a live piece, which has a goal")
    minutes = sum(e.minutes for e in exercises)
    if minutes != int(time["exercises"]):
        raise LessonError(f"its exercises take {minutes} minutes: “{time[0]}”")
    asked = list(questions(notebook))
    if not asked:
        raise LessonError("no question that waits for an answer (`predict(...)`)")
    labels = re.findall(r"^:label: (\S+)", whole, re.MULTILINE)
    return Lesson(
        name,
        title.removeprefix("# "),
        case[:-1],
        case[-1],
        int(time["reading"]),
        asked,
        exercises,
        {label: i for i, label in enumerate(labels, 1)},
    )


def _exercises(prose: list[str], goals: list[str]) -> Iterator[Exercise]:
    text = "\n\n".join(prose)
    start = re.search(r"^## Exercises$", text, re.MULTILINE)
    if not start:
        raise LessonError("no section “Exercises”")
    text = _FOLDED.sub("", text[start.end() :])
    text = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    found = list(EXERCISE.finditer(text))
    ends = [m.start() for m in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=True):
        kind, said = match["kind"] or "", text[match.end() : end]
        goal = goals[0] if goals and kind.startswith(_KNOB) else ""
        goal = re.sub(r"^Exercise \d\.\d: (\w)", lambda m: m[1].upper(), goal)
        minutes = int(match["minutes"])
        said = " ".join(said.split("\n\n")[0].split())  # not what stands below it
        yield Exercise(match["name"], kind, minutes, said, goal)


def _calls(notebook: NotebookNode, name: str) -> Iterator[ast.Call]:
    for cell in notebook.cells:
        if cell.cell_type == "code" and f"{name}(" in cell.source:
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    if node.func.id == name:
                        yield node


def _goals(notebook: NotebookNode) -> Iterator[str]:
    for call in _calls(notebook, "Goal"):
        yield str(ast.literal_eval(call.args[0]))


def questions(notebook: NotebookNode) -> Iterator[Question]:
    """Every `predict(...)` of a notebook, in the order of the page."""
    known = dict[str, Any]()
    for call in _calls(notebook, "predict"):
        if not known:
            _imported(notebook, known)
        text = str(ast.literal_eval(call.args[0]))
        given = {k.arg: k.value for k in call.keywords}
        right = given.get("written", given.get("right"))
        try:
            answers = dict(_value(call.args[1], known))
            yield Question(text, answers, str(_value(right, known)))
        except NameError as error:
            raise LessonError(
                f"{text!r}: its answers wait for a run ({error})"
            ) from error


def _imported(notebook: NotebookNode, known: dict[str, Any]) -> None:
    """Add what the notebook imports: questions may have their answers from there."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "install" not in cell.metadata.get("tags", []):
            for line in ast.parse(cell.source).body:
                if isinstance(line, ast.Import | ast.ImportFrom):
                    exec(ast.unparse(line), known)


def _value(expression: ast.expr | None, known: dict[str, Any]) -> Any:
    return eval(ast.unparse(expression), known) if expression else None

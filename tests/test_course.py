"""Copies for a course: nothing given away; the key passes what a blank does not."""

import symtable
from collections.abc import Iterable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.thin_cases import THIN
from tools import course, paths
from tools.exercises import ExerciseError

CHAPTERS = course.chapters(paths.ROOT)
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)


def both(path: Path) -> tuple[NotebookNode, NotebookNode]:
    return course.copies(nbformat.read(path, as_version=4))


def graded(copy: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in copy.cells if "nbgrader" in cell.metadata]


def between(text: str, begin: str, end: str) -> list[str]:
    """The lines between two marks."""
    inside, found = False, []
    for line in text.splitlines():
        inside = (inside or line.strip() == begin) and line.strip() != end
        found += [line.strip()] * (inside and line.strip() != begin)
    return found


def test_the_chapters_are_those_of_the_contents():
    assert [path.stem[:2] for path in CHAPTERS] == [f"0{n}" for n in range(1, 9)]


@every_chapter
def test_a_students_copy_gives_nothing_away(path):
    student, key = both(path)
    text = "\n".join(cell.source for cell in student.cells)
    assert (
        "HIDDEN" not in text
        and "SOLUTION" not in text
        and ":class: dropdown"
        not in (text[text.index("**Exercise") : text.index("## Summary")])
    )
    hidden = 0
    for cell in graded(key):
        marks = "### BEGIN SOLUTION", "### END SOLUTION"
        lines = [x for x in between(cell.source, *marks) if len(x) > 20]
        assert not [line for line in lines if line in text]
        hidden += len(lines)
    assert hidden


@every_chapter
def test_both_copies_have_the_same_cells_and_points(path):
    student, key = both(path)
    ours, theirs = (
        [dict(c.metadata.nbgrader) for c in graded(n)] for n in (student, key)
    )
    assert ours == theirs
    names = [about["grade_id"] for about in ours]
    assert len(set(names)) == len(names)
    minutes = sum(about["points"] for about in ours if about["grade"])
    assert f"has points, {minutes} in all" in student.cells[0].source.replace("\n", " ")
    assert [c.id for c in student.cells] == [c.id for c in key.cells]


def needed(cells: Iterable[NotebookNode], asked: NotebookNode) -> list[NotebookNode]:
    """The code cells that a cell needs, by the names that it and they use."""
    (own, names), found = names_of(asked.source), list[NotebookNode]()
    names -= own
    before = [c for c in cells if c.cell_type == "code" and c.id != "install"]
    for cell in reversed(before[: before.index(asked)]):
        made, used = names_of(cell.source)
        if made & names:
            names = (names - made) | used
            found.insert(0, cell)
    return found


def names_of(source: str) -> tuple[set[str], set[str]]:
    """Names that a cell makes at its top level, and those that it takes from there."""
    top = symtable.symtable(source, "cell", "exec")
    tables = [top]
    for table in tables:
        tables += table.get_children()
    made = {
        s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()
    }
    used = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    used |= {s.get_name() for t in tables[1:] for s in t.get_symbols() if s.is_global()}
    return made, used


@every_chapter
@pytest.mark.slow
def test_hidden_tests_pass_with_the_key_and_not_without(path):
    student, key = both(path)
    tests = [c for c in graded(key) if c.metadata.nbgrader.locked]
    assert tests
    names = dict[str, object]()
    for test in tests:
        asked = test.id.removesuffix("-test")
        for cell in needed(key.cells, test):
            if cell.id != asked and "nbgrader" not in cell.metadata:
                run(cell, names)
        run(next(c for c in student.cells if c.id == asked), names)
        with pytest.raises(AssertionError, match="not tried yet"):
            run(test, names)
        run(next(c for c in key.cells if c.id == asked), names)
        run(test, names)


def run(cell: NotebookNode, names: dict[str, object]) -> None:
    """A cell's code with these names; a second time, nothing."""
    if f"ran {cell.id}" not in names or "nbgrader" in cell.metadata:
        names[f"ran {cell.id}"] = True
        exec(compile(cell.source, cell.id, "exec"), names)


def chapter(*sources: str) -> NotebookNode:
    solved = "def f(x):\n    # your code\n    return 2 * x\n    # end\n\n\n"
    cells = [new_markdown_cell(source) for source in sources]
    for tag in ("exercise", "solution"):
        about = {"tags": [tag], "exercise": "9.2"}
        source = solved + 'check("9.2", f)'
        cells.append(new_code_cell(source, metadata=about))
    return new_notebook(cells=[*cells, new_markdown_cell("## Summary")])


TWO = (
    "## Exercises\n\n**Exercise 9.1** (pencil, 5 minutes). Why?\n\n"
    ":::{admonition} Answer\n:class: dropdown\nBecause.\n:::\n\n"
    "**Exercise 9.2** (build, 1 minute). Double it."
)


def test_an_answer_in_words_is_the_keys():
    student, key = course.copies(chapter("# Title", TWO))
    theirs, ours = (graded(copy)[0] for copy in (student, key))
    assert ours.source == "Because." and theirs.source.startswith("*Your answer")
    assert ours.metadata.nbgrader.points == 5 and "Because" not in str(student)


def test_an_exercise_that_nothing_checks_is_named():
    bad = chapter("# Title", TWO)
    bad.cells[3].source = bad.cells[3].source.replace("check(", "print(")
    with pytest.raises(
        ExerciseError, match=r"exercise 9\.2: its last line is no check"
    ):
        course.copies(bad)


@pytest.mark.slow
def test_the_command_writes_what_nbgrader_reads_and_what_is_printed(
    tmp_path, capsys, monkeypatch
):
    ready = [path for path in CHAPTERS if path.stem in THIN]
    monkeypatch.setattr(course, "chapters", lambda root: ready)
    assert course.main(["--to", str(tmp_path)]) == 0
    assert "keys in" in capsys.readouterr().out
    for place in ("source/*/*.ipynb", "release/*/*.ipynb", "lab/*.html"):
        written = sorted(tmp_path.glob(place))
        assert [path.stem for path in written] == [path.stem for path in ready]
    assert "course_id" in (tmp_path / "nbgrader_config.py").read_text()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert course.main(["--to", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("error: ")

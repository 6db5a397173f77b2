"""Make the exercises from their solutions, so that the two cannot drift apart.

A solution is a code cell tagged `solution`, an exercise one tagged `exercise`; both
carry the metadata `{"exercise": "2.1"}`. Between the lines `# your code` and `# end`
the solution is blanked:

    def weights(sizes):          def weights(sizes):
        # your code                  # your code
        return sizes / sum(sizes)    ...
        # end                        # end

A block that ends in an assignment keeps its left-hand side (`answer = ...`), so that
the cell which checks `answer` finds the name.
"""

import argparse
import ast
import sys
import textwrap
from pathlib import Path

import nbformat

BEGIN, END = "# your code", "# end"


class ExerciseError(ValueError):
    """A solution or an exercise is not as it must be; the message says where."""


def blank(source: str) -> str:
    """The exercise that belongs to a solution: its marked blocks, replaced by `...`."""
    lines: list[str] = []
    block: list[str] | None = None
    for line in source.splitlines():
        mark = line.strip()
        if mark == BEGIN:
            if block is not None:
                raise ExerciseError(f"`{BEGIN}` twice without `{END}`")
            block = []
            lines.append(line)
        elif mark == END:
            if not block:
                raise ExerciseError(f"`{END}` without a block to blank before it")
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + _placeholder(block), line]
            block = None
        elif block is not None:
            block.append(line)
        else:
            lines.append(line)
    if block is not None:
        raise ExerciseError(f"`{BEGIN}` without `{END}`")
    if lines == source.splitlines():
        raise ExerciseError(f"nothing to blank: no `{BEGIN}` in the solution")
    return "\n".join(lines)


def _placeholder(block: list[str]) -> str:
    text = textwrap.dedent("\n".join(block))
    try:
        statements = ast.parse(text).body
    except SyntaxError:  # a part of an expression, or a `return` on its own
        return "..."
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Assign):
        return "..."
    names = [ast.get_source_segment(text, target) for target in last.targets]
    return " = ".join([*map(str, names), "..."])


def pairs(
    notebook: nbformat.NotebookNode,
) -> list[tuple[str, nbformat.NotebookNode, nbformat.NotebookNode]]:
    """(id, exercise cell, solution cell) of a notebook; each must have its other."""
    found: dict[str, dict[str, nbformat.NotebookNode]] = {
        "exercise": {},
        "solution": {},
    }
    for cell in notebook.cells:
        for kind in {"exercise", "solution"} & set(cell.metadata.get("tags", [])):
            name = cell.metadata.get("exercise")
            if not name or name in found[kind]:
                raise ExerciseError(
                    f"a cell tagged {kind} has no id of its own: {name}"
                )
            found[kind][name] = cell
    exercises, solutions = found["exercise"], found["solution"]
    if alone := sorted(exercises.keys() ^ solutions.keys()):
        raise ExerciseError(f"exercise or solution missing: {', '.join(alone)}")
    return [(name, exercises[name], solutions[name]) for name in solutions]


def regenerate(path: Path) -> bool:
    """Rewrite a notebook's exercises from its solutions; whether that changed it."""
    notebook = nbformat.read(path, as_version=4)
    changed = False
    for name, exercise, solution in pairs(notebook):
        try:
            source = blank(solution.source)
        except ExerciseError as error:
            raise ExerciseError(f"exercise {name}: {error}") from error
        changed |= exercise.source != source
        exercise.source = source
    if changed:
        nbformat.write(notebook, path)
    return changed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.exercises")
    parser.add_argument("notebooks", nargs="+", type=Path)
    for path in parser.parse_args(arguments).notebooks:
        try:
            changed = regenerate(path)
        except (ExerciseError, OSError) as error:
            print(f"error: {path.name}: {error}", file=sys.stderr)
            return 2
        print(f"  {path.name}: {'rewritten' if changed else 'as its solutions'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A thin chapter: what a reader sees is short, and whole without what is hidden."""

import ast
import builtins
import re
from pathlib import Path

import nbformat
import pytest

from tests.thin_cases import MOST, RECIPE, THIN
from tools import paths
from tools.execute import copy_of

HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
MAX_ALGORITHM = 20

thin = pytest.mark.parametrize("name", THIN)


@pytest.fixture
def executed(name: str) -> Path:
    """The copy with outputs, which `make test` makes before it comes here."""
    copy = copy_of(paths.ROOT / "notebooks" / f"{name}.ipynb", paths.ROOT)
    if not copy.is_file():
        pytest.skip(f"{name} has not been executed; run `make book`")
    return copy


def code(name: str) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(paths.ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: nbformat.NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def lines(cell: nbformat.NotebookNode) -> int:
    return len(cell.source.splitlines())


def sources(name: str) -> str:
    return "\n".join(cell.source for cell in code(name))


def on_view(name: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in code(name) if not tags(cell) & HIDDEN]


def test_the_recipe_promises_what_is_counted() -> None:
    """Its table is what these tests and those of the built page hold a chapter to."""
    assert MOST == {
        "words on view": 2500,
        "findings": 3,
        "figures": 8,
        "lines of a visible cell": 15,
        "hidden lines of code": 150,
        "folded cells in JupyterLab": 10,
        "seconds by papermill": 60,
    }
    assert f"in at most {MAX_ALGORITHM} plain public lines" in RECIPE


@thin
def test_code_on_view_is_short(name: str) -> None:
    seen = [c for c in on_view(name) if "algorithm" not in tags(c)]
    long = {c.source.splitlines()[0]: lines(c) for c in seen}
    assert {k: v for k, v in long.items() if v > MOST["lines of a visible cell"]} == {}


@thin
def test_little_code_is_hidden(name: str) -> None:
    """Solutions, which a reader opens, the first cell and the parameters apart."""
    apart = {"solution", "install", "parameters"}
    hidden = [c for c in code(name) if tags(c) & HIDDEN and not tags(c) & apart]
    assert sum(map(lines, hidden)) <= MOST["hidden lines of code"]


@thin
def test_few_cells_are_folded_in_jupyterlab(name: str) -> None:
    folded = [
        c for c in code(name) if c.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert len(folded) <= MOST["folded cells in JupyterLab"]


@thin
def test_the_algorithm_is_whole_and_short(name: str) -> None:
    whole = [c for c in on_view(name) if "algorithm" in tags(c)]
    assert whole
    long = sum(bool(x.strip()) for c in whole for x in c.source.splitlines())
    assert long <= MAX_ALGORITHM


WIDGET = "application/vnd.jupyter.widget-view+json"  # as `frames` has it


def markup(data: dict[str, str]) -> str:
    """An output as HTML; of a widget the page makes a control."""
    return data.get("text/html", "") + "<input type=range>" * (WIDGET in data)


def shown(executed: Path) -> list[tuple[str, str]]:
    """Every cell's text and what it shows, as HTML, in the order of the page."""
    cells = nbformat.read(executed, as_version=4).cells
    outputs = [[o.get("data", {}) for o in c.get("outputs", [])] for c in cells]
    html = ["".join(map(markup, each)) for each in outputs]
    return [(c.source, said) for c, said in zip(cells, html, strict=True)]


@thin
def test_findings_are_few(name: str, executed: Path) -> None:
    tables = sum(html.count('class="fl-finding"') for _, html in shown(executed))
    assert 0 < tables <= MOST["findings"]


@thin
def test_there_is_something_to_turn_on_the_first_screen(
    name: str, executed: Path
) -> None:
    """A piece that trains, or a control, before the first section begins."""
    cells = shown(executed)
    first = next(
        i for i, (text, _) in enumerate(cells) if re.search(r"^## ", text, re.M)
    )
    turns = ("data-playground", "<input type=range>")
    assert any(t in html for t in turns for _, html in cells[: first + 1])


@thin
def test_three_exercises_are_a_knob_a_pencil_and_a_piece_to_build(
    name: str, executed: Path
) -> None:
    """The knob's piece says when it is done; what is built is checked."""
    cells = shown(executed)
    text = "\n".join(text for text, _ in cells)
    asked = re.findall(r"\*\*Exercise \d\.(\d)\*\* \(([^)]*)\)", text)
    assert [number for number, _ in asked] == ["1", "2", "3"]
    assert sum("pencil" in kind for _, kind in asked) == 1
    assert any("&#34;goal&#34;" in html for _, html in cells)
    assert any("exercise" in tags(c) for c in code(name))


def private(text: str) -> list[str]:
    return re.findall(r"(?<![\w`])_[a-zA-Z]\w*", text)


@thin
def test_nothing_private_is_on_view(name: str, executed: Path) -> None:
    """In cells, and in the sources that the executed copy shows."""
    assert [n for c in on_view(name) for n in private(c.source)] == []
    cells = nbformat.read(executed, as_version=4).cells
    said = (o.get("data", {}) for c in cells for o in c.get("outputs", []))
    shown = [d["text/markdown"] for d in said if "text/markdown" in d]
    listed = re.findall(r"```python\n(.*?)```", "\n".join(shown), re.DOTALL)
    assert [n for text in listed for n in private(text)] == []


def defined(tree: ast.AST) -> set[str]:
    """Names that a cell gives to the cells after it, imports among them."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def used(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def imported(tree: ast.Module) -> set[str]:
    kinds = ast.Import | ast.ImportFrom
    return {
        n for node in ast.walk(tree) if isinstance(node, kinds) for n in defined(node)
    }


def missing(cells: list[tuple[str, bool]]) -> set[str]:
    """Names that visible cells use of hidden ones, given code and whether hidden."""
    known, lacking = set(dir(builtins)), set[str]()
    for source, hidden in cells:
        tree = ast.parse(source)
        known |= imported(tree) if hidden else defined(tree)
        lacking |= set() if hidden else used(tree) - known
    return lacking


@thin
def test_code_on_view_needs_nothing_hidden_but_imports(name: str) -> None:
    cells = [
        (c.source, bool(tags(c) & HIDDEN) and "parameters" not in tags(c))
        for c in code(name)
        if "install" not in tags(c)
    ]
    assert missing(cells) == set()


def test_what_is_taken_from_a_hidden_cell_is_found() -> None:
    hidden = ("import numpy as np\nsecret = 1", True)
    assert missing([hidden, ("x = np.sqrt(secret)", False)]) == {"secret"}
    assert missing([hidden, ("def f(a):\n    return np.sqrt(a)", False)]) == set()
    assert private("x = _hidden(1) + __name__ + a_b + _") == ["_hidden"]


@thin
def test_captions_are_plain_and_no_zero_is_negative(name: str, executed: Path) -> None:
    text = executed.read_text()
    captions = re.findall(r"<(?:fig)?caption>(.*?)</(?:fig)?caption>", text)
    captions += re.findall(r'fl-caption\\?\\?\\?">(.*?)</p>', text)
    assert captions
    assert [c for c in captions if re.search(r"\*\w|`|\$|\\\\\w|__", c)] == []
    assert re.findall(r"(?<![\d.])[-−]0\.0+(?![\d])", text) == []

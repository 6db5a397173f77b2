"""Rules for every chapter, before and after it is executed."""

import ast
import builtins
import re
from pathlib import Path

import nbformat
import pytest

from fedlab_book.figures import MIN_ALT
from tools import paths
from tools.execute import copy_of, sources
from tools.exercises import blank, pairs

NOTEBOOKS = sources(paths.ROOT)
PAGES = sorted((paths.ROOT / "book").glob("*.md"))
KERNEL_ONLY = re.compile(r"\binteract(?:ive|_manual)?\(|\.observe\(")
RESULT_WORDS = r"accura|better|worse|gain|improv|reach|drop|lower|higher|beat|lose|loss"
AMOUNT = r"\d+(?:\.\d+)?\s*(?:%|per\s?cent|(?:percentage )?points?\b)"
TYPED_RESULT = re.compile(
    rf"accurac\w*\W+(?:\w+\W+){{0,2}}\d|(?:{RESULT_WORDS})[^.!?]*?{AMOUNT}"
    rf"|{AMOUNT}[^.!?]*?(?:{RESULT_WORDS})",
    re.IGNORECASE,
)

REFERENCE = "nbval-check-output"  # the tag of a cell whose output nbval compares

chapters = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path: Path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def prose(text: str) -> str:
    """Markdown without what is computed, quoted or mathematics."""
    for literal in (r"```.*?```", r"\$\$.*?\$\$", r"`[^`\n]*`", r"\$[^$\n]*\$"):
        text = re.sub(literal, " ", text, flags=re.DOTALL)
    return text


@pytest.fixture
def copy(path: Path) -> Path:
    copy = copy_of(path, paths.ROOT)
    if not copy.is_file():
        pytest.skip(f"{path.name} has not been executed; run `make book`")
    return copy


@chapters
def test_is_a_notebook_papermill_can_run(path: Path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    first = next(cell for cell in code_cells(path) if "install" not in tags(cell))
    assert "parameters" in tags(first)


@chapters
def test_keeps_outputs_only_as_references(path: Path):
    """A cell has a stored output exactly if nbval holds the cell against it."""
    for cell in code_cells(path):
        assert bool(cell.outputs) == (REFERENCE in tags(cell)), cell.source
    assert "widgets" not in nbformat.read(path, as_version=4).metadata


def test_nbval_plays_what_takes_seconds():
    """It executes a notebook once more: these few, whose printed values are exact."""
    found = {path.stem for path in NOTEBOOKS if REFERENCE in path.read_text()}
    assert found == {"your_own_data", "your_own_method", "your_own_model"}


@chapters
def test_has_no_control_that_is_dead_without_a_kernel(path: Path):
    dead = [
        cell.source
        for cell in code_cells(path)
        if KERNEL_ONLY.search(cell.source) and "jslink(" not in cell.source
        if "remove-cell" not in tags(cell)  # the page leaves it out
    ]
    assert dead == []


SHOWS = {"say", "show", "table", "card", "frames", "swept", "source"}


def swallowed(code: str) -> list[str]:
    """The calls whose result nobody sees: a cell shows its last expression only."""
    return [
        node.value.func.id
        for node in ast.parse(code).body[:-1]
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in SHOWS
    ]


@chapters
def test_what_a_cell_says_is_seen(path: Path):
    assert [call for cell in code_cells(path) for call in swallowed(cell.source)] == []
    assert swallowed("say('first')\nsay('second')") == ["say"]


COPIED = (
    *("your_own_data", "your_own_model", "your_own_method", "your_own_cluster"),
    *(
        "your_own_training",
        "keep_and_continue",
        "beyond_one_machine",
        "a_real_federation",
    ),
)  # pages whose visible code a reader copies into a file
HIDDEN = {"hide-input", "remove-cell", "hide-cell", "remove-input"}


def unknown(code: str) -> set[str]:
    """Names that code uses and nothing in it makes."""
    made, used = set(dir(builtins)), set[str]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {(one.asname or one.name).split(".")[0] for one in node.names}
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    return used - made


@pytest.mark.parametrize("name", COPIED)
def test_visible_code_runs_when_it_is_copied_as_seen(name):
    cells = code_cells(paths.ROOT / "notebooks" / f"{name}.ipynb")
    seen = "\n".join(c.source for c in cells if not HIDDEN & set(tags(c)))
    assert unknown(seen) == set()
    assert "fedlab_book" not in seen


def test_a_name_that_nothing_makes_is_found():
    assert unknown("import a.b\nx = a + y\ndef f(z): return z + len(x)") == {"y"}


@chapters
def test_exercises_are_their_blanked_solutions(path: Path):
    for name, exercise, solution in pairs(nbformat.read(path, as_version=4)):
        assert exercise.source == blank(solution.source), (
            f"exercise {name}: run `python -m tools.exercises notebooks/{path.name}`"
        )
        assert {"hide-input", "hide-cell"} & set(tags(solution))


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES], ids=lambda path: path.stem)
def test_no_result_is_typed_by_hand(path: Path):
    if path.suffix == ".md":
        texts = [path.read_text()]
    else:
        cells = nbformat.read(path, as_version=4).cells
        texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    typed = [m[0] for text in texts for m in TYPED_RESULT.finditer(prose(text))]
    assert typed == []


@pytest.mark.parametrize(
    "text, found",
    [
        ("It reaches an accuracy of 62.", True),
        ("This is better by 3.1 points.", True),
        ("FedDisco gains 2 % here.", True),
        ("With 62 % it beats the mean.", True),
        ("Ten clients, 50 % of them in each round. The accuracy rises.", False),
        ("We average over 5 seeds.", False),
        ("The accuracy is {glue:text}`best` here, and $p = 0.5$.", False),
    ],
)
def test_typed_results_are_recognised(text: str, found: bool):
    assert bool(TYPED_RESULT.search(prose(text))) == found


@chapters
def test_pictures_have_a_text_alternative(path: Path, copy: Path):
    text = copy.read_text().replace('\\"', '"')
    pictures = re.findall(r"<svg[^>]*>|<img[^>]*>", text)
    texts = [re.search(r'(?:aria-label|alt)="([^"]*)"', tag) for tag in pictures]
    assert [tag for tag, alt in zip(pictures, texts, strict=True) if not alt] == []
    assert [alt[1] for alt in texts if alt and len(alt[1]) < MIN_ALT] == []


@chapters
def test_every_picture_follows_the_page(path: Path, copy: Path):
    fixed = [
        cell.source
        for cell in code_cells(copy)
        for output in cell.outputs
        if {"image/png", "image/svg+xml"} & set(output.get("data", {}))
    ]
    assert fixed == [], "show figures with fedlab_book.figures.show"


@chapters
def test_nothing_went_to_stderr(path: Path, copy: Path):
    said = [
        output.text
        for cell in code_cells(copy)
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]
    assert said == []

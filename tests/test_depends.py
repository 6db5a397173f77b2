"""Files that a notebook depends on here: its imports, and what they import."""

import json
from pathlib import Path

import pytest

from tools import depends, paths

ROOT = Path(__file__).parents[1]


def code(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text())["cells"]
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]


@pytest.fixture(scope="module")
def of_notebooks() -> dict[str, set[Path]]:
    """Files that each notebook imports; every notebook can be followed."""
    every = (ROOT / "notebooks").glob("*.ipynb")
    found = {path.name: depends.imported(code(path), ROOT) for path in every}
    sure = {name: files for name, files in found.items() if files is not None}
    assert sure.keys() == found.keys() and len(found) > 20
    return sure


@pytest.mark.parametrize("path", sorted((ROOT / "fedlab_book/chapters").rglob("*.py")))
def test_a_chapters_module_is_of_two_chapters_at_most(path, of_notebooks):
    """Pages below a chapter are of it; other pages stand for themselves."""
    if path.parent.name != "chapters" or path.name != "__init__.py":
        pages = [name for name, found in of_notebooks.items() if path in found]
        named = paths.chapters(ROOT)
        chapters = {
            str(named.get(ROOT / "notebooks" / n, n)).split(",")[0] for n in pages
        }
        assert 1 <= len(chapters) <= 2


def test_a_training_loop_is_of_every_notebook_that_trains(of_notebooks):
    simulation = ROOT / "fedlab_core" / "rounds" / "simulation.py"
    assert simulation in of_notebooks["01_averaging.ipynb"]
    figures = ROOT / "fedlab_book" / "figures.py"
    assert figures not in of_notebooks["your_own_data.ipynb"]


def test_a_cell_that_cannot_be_read_may_import_anything():
    assert depends.imported(["x = ("], ROOT) is None
    found = depends.imported(["%matplotlib inline\n!ls\nimport fedlab_core.tree"], ROOT)
    assert found is not None and ROOT / "fedlab_core" / "tree.py" in found


def test_opened_names_sources_and_nothing_that_is_made():
    noted = [
        "fedlab_core/__pycache__/tree.cpython-312.pyc.1234",
        "fedlab_core/__pycache__/tree.cpython-312.pyc",
        "results/ledger/a-table1.jsonl",
        "_build/stage/notebooks/x.ipynb",
        "fedlab_core.egg-info/entry_points.txt",
    ]
    assert depends.opened(noted) == [
        "fedlab_core/tree.py",
        "results/ledger/a-table1.jsonl",
    ]

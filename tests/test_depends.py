"""Files that a notebook depends on here: its imports, and what they import."""

import json
from pathlib import Path

import pytest

from tools import depends

ROOT = Path(__file__).parents[1]


def code(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text())["cells"]
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]


DEPENDS = {
    path.name: depends.imported(code(path), ROOT)
    for path in (ROOT / "notebooks").glob("*.ipynb")
}


def test_every_notebook_can_be_followed():
    assert len(DEPENDS) > 20
    assert [name for name, found in DEPENDS.items() if found is None] == []


@pytest.mark.parametrize("path", sorted((ROOT / "fedlab_book/chapters").rglob("*.py")))
def test_a_chapters_module_is_of_two_notebooks_at_most(path):
    if path.parent.name != "chapters" or path.name != "__init__.py":
        assert 1 <= sum(path in (found or ()) for found in DEPENDS.values()) <= 2


def test_a_training_loop_is_of_every_notebook_that_trains():
    simulation = ROOT / "fedlab_core" / "rounds" / "simulation.py"
    assert simulation in (DEPENDS["01_averaging.ipynb"] or ())
    figures = ROOT / "fedlab_book" / "figures.py"
    assert figures not in (DEPENDS["your_own_data.ipynb"] or ())


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

"""The papers' numbers in chapters: each is read from the ledger, none typed again."""

import ast
import json
import re
from pathlib import Path

import pytest

from fedlab_book.quoted import fedcollab, rfedavg
from fedlab_core.errors import InputError
from fedlab_ledger.papers import PAPERS, printed
from tools import paths

FRAMES = {
    "rfedavg": rfedavg.chapter,
    "tweets": rfedavg.tweets,
    "fedcollab": fedcollab.chapter,
}
SIZES = {"rfedavg": 8, "tweets": 4, "fedcollab": 108}
NOTEBOOKS = sorted((paths.ROOT / "notebooks").glob("*.ipynb"))


def sources() -> list[Path]:
    return sorted((paths.ROOT / "fedlab_book" / "quoted").glob("*.py"))


def test_no_number_stands_beside_the_notebooks():
    assert not list((paths.ROOT / "notebooks").glob("*.csv"))
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        assert "read_csv" not in code, path.name


def test_the_frames_modules_hold_no_number_of_a_paper():
    """Names of places have digits; a number with a point, or above 500, is a value."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
                small = type(node.value) in (int, bool) and abs(node.value) <= 500
                assert small, f"{path.name}:{node.lineno}: {node.value}"


@pytest.mark.parametrize("name", FRAMES)
def test_every_number_of_a_frame_is_printed_in_the_paper(name: str):
    of: dict[str, str] = {"tweets": "rfedavg"}
    frame, paper = FRAMES[name](), of.get(name, name)
    places = [p for sheet in PAPERS[paper].numbers.values() for p in sheet.cells]
    known = {v for p in places for v in (p.value, p.spread) if v is not None}
    values = [v for v in frame.select_dtypes("number").to_numpy().ravel() if v == v]
    assert len(frame) == SIZES[name] and len(values) >= len(frame) - 3
    assert {float(v) for v in values} <= known


def test_a_number_is_read_by_its_place():
    column = "CIFAR-10 NIID-2"
    assert printed("feddisco", "table1", "FedAvg", column) == 65.60
    assert printed("feddisco", "table1", "FedAvg", column, spread=True) == 0.16
    assert printed("fedcollab", "types", "label shift, Local", "A") == 0.9354


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (("feddisk", "table1", "FedAvg", "x"), "unknown paper 'feddisk': one of fedd"),
        (("feddisco", "table0", "FedAvg", "x"), "feddisco has no 'table0': it has tab"),
        (("feddisco", "table7", "KLL", "x"), "table7 has no 'KLL': it has L1, L2"),
        (("feddisco", "table7", "KL", "x"), "table7 has no 'x': it has CIFAR-10 NIID"),
        (("feddisco", "figure5", "FedDyn", "K=10"), "figure5 has no FedDyn | K=10"),
        (("feddisco", "figure5", "FedDyn", "ρ=1"), "feddisco/figure5 prints no number"),
    ],
)
def test_an_unknown_place_is_named_with_those_that_there_are(place, says):
    with pytest.raises(InputError, match=re.escape(says)):
        printed(*place)


def test_a_missing_spread_is_no_number():
    with pytest.raises(InputError, match="table7 prints no spread for KL"):
        printed("feddisco", "table7", "KL", "CIFAR-10 NIID-1", spread=True)

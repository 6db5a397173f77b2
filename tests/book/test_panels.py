"""Panels drawn from the ledger's lines."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.display import HTML

from fedlab_book.ledger.panels import sweep, swept
from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Setting, Store, Table
from fedlab_ledger.model.lines import SCHEMA, Line
from fedlab_ledger.report.book import Book

AT = {"few": "a few", "many": "many"}
ROWS = ("Plain", "Ours", "Later")


def cell(row: str, column: str) -> Cell:
    of = ROWS.index(row) + [*AT].index(column) / 2
    made = {
        scale: Setting("letters", "fedavg", n, data={"noise": of})
        for scale, n in {"tiny": 1, "small": 3, "paper": 6}.items()
    }
    more: dict[str, Any] = {} if row == "Plain" else {"over": ("figure1", "Plain")}
    return Cell("feddisco", "figure1", row, column, made, None, where="Fig. 1", **more)


CELLS = {(r, c): cell(r, c) for r in ROWS for c in AT}
TABLE = Table("feddisco", "figure1", "A figure", tuple(CELLS.values()))


def line(row: str, column: str, seed: int, value: float | None, scale="small") -> Line:
    seen = {"model.norm": [1.0 + seed, None, 3.0 + seed]}
    return {
        "schema": SCHEMA, "key": CELLS[row, column].key(scale), "paper": "feddisco",
        "table": "figure1", "row": row, "column": column, "scale": scale, "seed": seed,
        "value": value, "metrics": {}, "curve": [0.5], "clients": None, "steps": 1,
        "bytes": 1, "seconds": 1.0, "together": [seed], "device": "cpu", "torch": "2",
        "threads": 1, "commit": "abc", "diverged": None if value else 1, "seen": seen,
        "date": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip


def book(tmp_path: Path, *more: Line) -> Book:
    """Two rows, ours 1 and 3 above plain; the third row in one column only."""
    store = Store(tmp_path)
    for seed in (0, 1):
        levels = {("Plain", "few"): 50.0, ("Plain", "many"): 60.0}
        levels |= {("Ours", "few"): 51.0, ("Ours", "many"): 63.0, ("Later", "few"): 1.0}
        store.append([line(*at, seed, v + seed) for at, v in levels.items()])
    store.append([line("Later", "many", 0, 99.0, "paper"), *more])
    return Book({TABLE.path: TABLE}, store.read())


def markup(shown: HTML) -> str:
    assert isinstance(shown.data, str)
    return shown.data


def test_a_sweep_has_what_is_there_in_every_column(tmp_path: Path):
    found = sweep(book(tmp_path), "feddisco/figure1", AT)
    assert list(found) == ["Plain", "Ours"], (
        "the third row lacks a column at this scale"
    )
    assert found["Ours"].tolist() == [[51, 63], [52, 64]]


def test_gains_are_paired_by_seed(tmp_path: Path):
    extra = line("Ours", "few", 7, 5.0), line("Ours", "many", 7, 5.0)
    found = sweep(book(tmp_path, *extra), "feddisco/figure1", AT, gains=True)
    assert list(found) == ["Ours"], "plain is compared with nothing"
    assert found["Ours"].tolist() == [[1, 3], [1, 3]], "seed 7 has no partner"


def test_a_run_that_diverged_is_not_left_out(tmp_path: Path):
    gone = line("Plain", "few", 2, None), line("Plain", "many", 2, 61.0)
    found = sweep(book(tmp_path, *gone), "feddisco/figure1", AT)["Plain"]
    assert np.isnan(found[2, 0]) and found[2, 1] == 61


@pytest.mark.slow
def test_the_picture_says_its_numbers(tmp_path: Path):
    made = book(tmp_path)
    found = sweep(made, "feddisco/figure1", AT)
    text = markup(
        swept(found, AT, ("x", "y"), "Two rows against what is many.", "See.")
    )
    assert "Ours: 51.5" in text and "at a few" in text


def test_what_the_paper_prints_stands_beside(tmp_path: Path):
    found = sweep(book(tmp_path), "feddisco/figure1", AT)
    labels, alt = ("x", "y"), "Two rows against what is many."
    drawn = swept(found, AT, labels, alt, "See.", None, {"Ours": {"many": 70.25}})
    text = markup(drawn)
    assert "63.5 ± 6.4 at many (the paper: 70.25 at many)" in text
    assert "63.5 ± 6.4 at many (the paper: 70.25 at many)" in text
    assert text.count("the paper:") == 1
    for strange in ({"Other": {"many": 1.0}}, {"Ours": {"none": 1.0}}):
        with pytest.raises(InputError, match="nothing beside the paper's"):
            swept(found, AT, labels, alt, "See.", None, strange)


def test_what_is_not_there_is_named(tmp_path: Path):
    made = book(tmp_path)
    with pytest.raises(InputError, match="unknown table 'feddisco/figure9'"):
        sweep(made, "feddisco/figure9", AT)
    none = sweep(made, "feddisco/figure1", AT, scale="paper")
    with pytest.raises(InputError, match="no row was measured"):
        swept(none, AT, ("x", "y"), "Nothing at all, for a test of it.", "See.")

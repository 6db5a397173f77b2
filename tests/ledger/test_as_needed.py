"""A ledger read as needed: the same lines, and no file that nobody asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedlab_ledger import Cell, Store, Table
from fedlab_ledger.model import store as stores
from fedlab_ledger.model.as_needed import as_needed
from fedlab_ledger.papers import TABLES
from tests.ledger_cases import cell

LINE = {
    "schema": 1, "scale": "tiny", "seed": 0, "metrics": {}, "curve": [], "steps": 1,
    "clients": None, "bytes": 2, "seconds": 0.1, "together": [0], "device": "cpu",
    "torch": "2", "commit": "c", "date": "2026-01-01", "diverged": None,
}  # fmt: skip
LEDGER = Store(Path(__file__).parents[2] / "results" / "ledger")


def line_of(c: Cell, value: float) -> dict:
    about = {"paper": c.paper, "table": c.table, "row": c.row, "column": c.column}
    return LINE | about | {"key": c.key("tiny"), "value": value}


@pytest.mark.slow
def test_the_projects_ledger_is_the_same_read_at_once_or_as_needed():
    whole, needed = LEDGER.read(), as_needed(LEDGER, TABLES.values())
    assert len(whole.lines) > 400 and not whole.notes  # no line twice, none unknown
    assert {key: needed.of(key) for key in whole.lines} == {
        key: whole.of(key) for key in whole.lines
    }
    assert set(needed.lines) == set(whole.lines)
    assert len(needed.lines) == len(whole.lines)


def test_only_the_files_of_what_is_asked_for_are_read(tmp_path, monkeypatch):
    one = cell("A")
    same = replace(one, table="table2")  # the same number, shown again
    other = replace(cell("B", rounds=3), table="table3")
    tables = [Table("made", c.table, "", (c,)) for c in (one, same, other)]
    store = Store(tmp_path)
    first, again = line_of(one, value=1.0), line_of(same, value=2.0)
    store.append([again])
    store.append([first])
    store.append([line_of(other, value=3.0)])
    read = []
    plain = stores.read_lines
    monkeypatch.setattr(
        stores, "read_lines", lambda path: read.append(path.name) or plain(path)
    )
    found = as_needed(store, tables)
    assert read == [] and found.of("nobody's") == {}
    assert found.of(one.key("tiny")) == {0: first} == store.read().of(one.key("tiny"))
    read.clear()
    assert found.of(same.key("tiny")) == {0: first} and read == []
    assert found.of(other.key("tiny"))[0]["value"] == 3.0
    assert read == ["made-table3.jsonl"]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    one = cell("A")
    found = as_needed(Store(tmp_path / "none"), [Table("made", "table1", "", (one,))])
    assert found.of(one.key("tiny")) == {}

"""Cases for tests of the ledger: small settings, cells and tables."""

from dataclasses import replace
from typing import Any

from fedlab_ledger import Cell, Setting, Table, papers

BASE = Setting(
    "letters",
    "fedavg",
    2,
    "iid",
    {"clients": 3},
    data={"n_train": 90, "n_test": 60},
    network={"hidden": [4]},
    local={"lr": 0.1},
)

LETTERS = {"n_train": 200, "n_test": 100, "noise": 0.2}
TINY = Setting(
    "letters",
    "fedavg",
    2,
    "dirichlet",
    {"clients": 4, "alpha": 1.0},
    data=LETTERS,
    network={"hidden": [8]},
    local={"lr": 0.1, "batch_size": 32},
)


def cell(row: str, column: str = "one", **changes) -> Cell:
    """A cell of its own setting."""
    made = {"tiny": replace(BASE, **changes)}
    return Cell("made", "table1", row, column, made, 40.0, lacks="too large")


def declare(monkeypatch, *cells: Cell) -> Table:
    """Declare the table of these cells, and no other."""
    table = Table("made", "table1", "A table for tests", cells)
    monkeypatch.setattr(papers, "TABLES", {table.path: table})
    monkeypatch.setattr(papers, "CLAIMS", {})
    return table


def comparable(line: dict) -> dict:
    """A line without what may differ between two machines."""
    return {k: v for k, v in line.items() if k not in ("seconds", "date", "device")}


def lettered(
    setting: Setting = TINY, row="FedAvg", column="letters", **more: Any
) -> Cell:
    """A cell on a few letters."""
    about: dict[str, Any] = {"lacks": "no more is needed here"} | more
    return Cell("paper", "table1", row, column, {"tiny": setting}, 50.0, **about)

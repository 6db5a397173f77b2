"""What the tests of the ledger's cluster and exports share: a small table."""

from dataclasses import replace

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


def cell(row: str, column: str = "one", **changes) -> Cell:
    """A cell of its own setting."""
    made = {"tiny": replace(BASE, **changes)}
    return Cell("made", "table1", row, column, made, 40.0, lacks="too large")


def declare(monkeypatch, *cells: Cell) -> Table:
    """Let these cells' table be the only one that is declared."""
    table = Table("made", "table1", "A table for tests", cells)
    monkeypatch.setattr(papers, "TABLES", {table.path: table})
    monkeypatch.setattr(papers, "CLAIMS", {})
    return table


def comparable(line: dict) -> dict:
    """A line without what may differ between two machines."""
    return {k: v for k, v in line.items() if k not in ("seconds", "date", "device")}

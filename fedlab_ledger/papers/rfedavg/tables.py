"""rFedAvg: Tables I, II and III, with the papers' numbers."""

from fedlab_ledger import Cell, Table
from fedlab_ledger.papers.common import table as typed
from fedlab_ledger.papers.rfedavg.worlds import Place, cell, table

_SIMS = (0, 10, 100)
COLUMNS = (
    *(f"MNIST {s} %" for s in _SIMS),
    *(f"CIFAR-10 {s} %" for s in _SIMS),
    "Sent140 non-IID",
    "Sent140 IID",
)
TABLE_I = {
    "FedAvg": "97.07 98.85 99.28 45.22 60.44 67.39 72.60 75.75",
    "FedProx": "85.74 96.06 98.13 21.35 49.22 63.31 50.55 61.41",
    "Scaffold": "97.35 98.86 99.28 44.56 60.38 67.80 72.89 75.90",
    "q-FedAvg": "97.28 98.79 99.25 32.24 58.69 68.69 50.67 60.07",
    "rFedAvg": "97.88 98.97 99.30 46.12 60.22 67.91 73.26 74.61",
    "rFedAvg+": "98.02 99.15 99.31 47.41 60.36 68.01 72.85 75.69",
}
TABLE_II = {
    "FedAvg": "94.38 97.37 98.42 42.31 54.78 58.36 72.88 77.22",
    "FedProx": "69.36 91.46 96.35 24.85 43.25 49.73 70.93 72.74",
    "Scaffold": "94.37 97.38 98.42 42.33 54.83 58.36 67.63 69.16",
    "q-FedAvg": "74.42 97.27 98.40 32.09 49.29 50.37 69.89 67.81",
    "rFedAvg": "94.66 97.45 98.43 43.09 55.08 58.50 75.69 76.73",
    "rFedAvg+": "94.72 97.73 98.44 44.14 54.90 58.48 76.38 77.74",
}
# bytes of the mean features that a client is sent
COLUMNS_III = (
    "CNN, cross-silo",
    "RNN, cross-silo",
    "CNN, cross-device",
    "RNN, cross-device",
)
TABLE_III = {"rFedAvg": "56160 35680 280800 178400", "rFedAvg+": "2808 1784 2808 1784"}
_ENVELOPE = 760.0  # bytes that the authors' format adds to every vector


def place_of(column: str, device: bool) -> Place:
    """What a column of Tables I and II names."""
    dataset, how = column.removesuffix(" %").split()
    share = {"non-IID": 0.0, "IID": 1.0}.get(how)
    return Place(dataset, float(how) / 100 if share is None else share, device)


def _accuracies(name: str, rows: dict[str, str], device: bool, title: str) -> Table:
    where = "Table II" if device else "Table I"
    return table(
        name,
        title,
        (
            cell(
                name,
                row,
                column,
                place_of(column, device),
                value,
                where=where,
                over=None if row == "FedAvg" else (name, "FedAvg"),
            )
            for (row, column), value in typed(rows, COLUMNS).items()
        ),
    )


def _bytes(row: str, column: str, value: float | None) -> Cell:
    network, how = column.split(", ")
    dataset, device = "Sent140" if network == "RNN" else "MNIST", "device" in how
    plus = row == "rFedAvg+"
    vectors = 1 if plus else 100 if device else 20
    return cell(
        "table3",
        row,
        column,
        Place(dataset, device=device),
        value,
        where="Table III",
        unit="bytes",
        metric=f"last:deltas.{'one' if plus else 'all'}",
        reading="numbers of 4 bytes only; the paper's format adds 760 to each vector",
        tolerance=_ENVELOPE * vectors,
        better="low",
        over=("table3", "rFedAvg") if plus else None,
    )


def _table_3() -> Table:
    rows = typed(TABLE_III, COLUMNS_III).items()
    cells = (_bytes(row, column, value) for (row, column), value in rows)
    return table("table3", "Mean features that a client is sent in a round", cells)


TABLES = (
    _accuracies("table1", TABLE_I, False, "Cross-silo: 20 clients, by similarity"),
    _accuracies("table2", TABLE_II, True, "Cross-device: 100 of 500 clients a round"),
    _table_3(),
)

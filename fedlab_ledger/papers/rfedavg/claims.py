"""What rFedAvg claims, as pairs of cells."""

from fedlab_ledger.model import Cell, Claim
from fedlab_ledger.papers.rfedavg import figures, tables

_TABLES = {t.name: t for t in (*tables.TABLES, *figures.TABLES)}


def _at(name: str, row: str, column: str) -> Cell:
    found = _TABLES[name].at(row, column)
    assert found is not None, (name, row, column)
    return found


def _claim(
    name: str, sentence: str, table: str, column: str, rows: tuple[str, str], **more
) -> Claim:
    one, other = (_at(table, row, column) for row in rows)
    return Claim("rfedavg", name, sentence, one, other, **more)


def _beats(row: str, column: str, table: str = "table1") -> Claim:
    how = "across silos" if table == "table1" else "across devices"
    return _claim(
        f"{row}, {column}, {how}",
        f"{row} ends higher than FedAvg: {column}, {how}",
        table,
        column,
        (row, "FedAvg"),
        tolerance=0.5,
    )


def _study(name: str, sentence: str, columns: tuple[str, str], **more) -> Claim:
    table, row = more.pop("table", "figure9"), "rFedAvg+"
    one, other = (_at(table, row, column) for column in columns)
    return Claim("rfedavg", name, sentence, one, other, **more)


_PLUS = ("rFedAvg+", "FedAvg")
CLAIMS = (
    *(
        _beats(row, column)
        for column in ("MNIST 0 %", "MNIST 10 %", "CIFAR-10 0 %")
        for row in ("rFedAvg", "rFedAvg+")
    ),
    _beats("rFedAvg+", "MNIST 0 %", "table2"),
    _beats("rFedAvg+", "CIFAR-10 0 %", "table2"),
    _claim(
        "nothing to gain",
        "with clients alike, rFedAvg+ ends where FedAvg does",
        "table1",
        "MNIST 100 %",
        _PLUS,
        sign=0,
        tolerance=0.3,
    ),
    _claim(
        "cost",
        "rFedAvg+ sends a client fewer mean features than rFedAvg",
        "table3",
        "CNN, cross-silo",
        ("rFedAvg+", "rFedAvg"),
        sign=-1,
        tolerance=15_200.0,
    ),
    _claim(
        "faster",
        "rFedAvg+ learns faster than FedAvg",
        "figure2",
        "cross-device 0 %",
        _PLUS,
    ),
    _claim(
        "fairer",
        "the worst client is served better by rFedAvg+ than by FedAvg",
        "figure11",
        "MNIST, worst client",
        _PLUS,
    ),
    _study(
        "too large a λ",
        "with a hundred times the weight the penalty hurts",
        ("λ × 100", "λ × 1"),
        sign=-1,
    ),
    _study(
        "noise",
        "noise of σ₂ = 5 changes nothing",
        ("MNIST, σ₂ = 5", "MNIST, σ₂ = 0"),
        table="figure12",
        sign=0,
        tolerance=0.5,
        without=_at("table1", "FedAvg", "MNIST 0 %"),
    ),
)

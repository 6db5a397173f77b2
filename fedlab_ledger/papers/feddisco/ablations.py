"""FedDisco's Tables 4, 5, 9 and 11: text, long tails and CIFAR-100."""

from fedlab_ledger.model import Table
from fedlab_ledger.papers.common import Plain, joined, numbers, table
from fedlab_ledger.papers.feddisco.worlds import (
    ARMS,
    DISCO,
    N2,
    PARTIAL,
    Place,
    cell,
    disco,
    pairs,
)

TABLE_4 = {
    "FedAvg": "82.03 50.88",
    "FedProx": "79.89 58.22",
    "FedAvg + Disco": "84.09 57.71",
    "FedProx + Disco": "80.81 62.86",
}
# the methods in the order of `METHODS`, and FedDisco
TABLE_5 = {
    "ρ=10": "69.78 69.25 69.27 71.48 69.29 68.44 68.29 70.00 71.77",
    "ρ=50": "74.03 73.77 74.13 74.03 74.78 74.53 74.03 74.53 76.06",
}
TABLE_9 = {
    "": "57.86 57.53 57.78 63.78 63.24 59.64 57.74 61.74",
    " + Disco": "60.45 60.05 60.33 65.13 64.33 60.77 59.46 63.13",
}
TABLE_11 = {
    "": "57.28 56.27 58.99 61.39 62.29 57.59 58.01 62.20",
    " + Disco": "58.28 56.73 59.29 61.90 62.83 58.02 58.16 62.61",
}
_NO_NEWS = "no text that is drawn here: look at CIFAR-10 with 10 of 60 clients"
_CLASSES = 10


def _table_4() -> Table:
    places = {"full": Place("AG News", N2), "partial": Place("AG News", PARTIAL)}
    methods, cells = dict(pairs(["FedAvg", "FedProx"])), []
    says = "trained as on images; partial: 10 of 50 clients a round"
    for (row, name), value in table(TABLE_4, tuple(places)).items():
        over = ("table4", row.removesuffix(" + Disco")) if "Disco" in row else None
        more: Plain = {"where": "Table 4", "over": over, "says": says}
        more |= {"lacks": _NO_NEWS}
        at = (row, name, value, places[name], methods[row])
        cells.append(cell("table4", *at, **more))
    title = "AG News: 5 clients, or 10 of 50, of which four in five hold two classes"
    return Table("feddisco", "table4", title, tuple(cells))


def target(rho: float) -> list[float]:
    """The share of every class where the first is rho times as frequent as the last."""
    held = [rho ** (-c / (_CLASSES - 1)) for c in range(_CLASSES)]
    return [round(v / sum(held), 6) for v in held]


def _table_5() -> Table:
    cells = []
    for name, text in TABLE_5.items():
        rho = float(name[2:])
        place = Place("CIFAR-10", tail=(rho, rho))
        rows = {row: how for row, how in ARMS.items()}
        aim = disco(target=target(rho))
        rows["FedDisco"] = joined(ARMS["FedDyn"], aim)
        for (row, how), value in zip(rows.items(), numbers(text), strict=True):
            says = "FedDyn + Disco, as in Table 1" if row == "FedDisco" else ""
            over = ("table5", "FedAvg") if row != "FedAvg" else None
            more: Plain = {"where": "Table 5", "over": over, "says": says}
            cells.append(cell("table5", row, name, value, place, how, **more))
    cells.sort(key=lambda c: [*ARMS, "FedDisco"].index(c.row))
    title = "Long-tailed classes in training and test, the target of the weights too"
    return Table("feddisco", "table5", title, tuple(cells))


def _eight(name: str, texts: dict[str, str], title: str, at: str, place: Place):
    """A table of the eight methods without and with Disco, in one place."""
    cells = []
    for suffix, text in texts.items():
        for base, value in zip(ARMS, numbers(text), strict=True):
            parts = (ARMS[base], DISCO) if suffix else (ARMS[base],)
            over = (name, base) if suffix else None
            more: Plain = {"where": f"Table {name[5:]}", "over": over}
            row = f"{base}{suffix}"
            cells.append(cell(name, row, at, value, place, *parts, **more))
    return Table("feddisco", name, title, tuple(cells))


LONG_TAIL = Place("CIFAR-10", tail=(10.0, 1.0))
TABLES = (
    _table_4(),
    _table_5(),
    _eight(
        "table9",
        TABLE_9,
        "Long-tailed classes in training only, the most frequent 10 times the rarest",
        "ρ=10",
        LONG_TAIL,
    ),
    _eight(
        "table11",
        TABLE_11,
        "CIFAR-100 under NIID-1",
        "CIFAR-100 NIID-1",
        Place("CIFAR-100", alpha=5.0),
    ),
)

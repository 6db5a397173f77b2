"""FedDisco's Tables 1, 2, 3, 7, 10 and 13: the methods against one another."""

from collections.abc import Mapping

from fedlab_ledger.model import Table
from fedlab_ledger.papers.common import Plain, numbers, table
from fedlab_ledger.papers.feddisco.worlds import (
    ARMS,
    COLUMNS,
    DISCO,
    FEDAVG,
    PARTIAL,
    Place,
    cell,
    column,
    disco,
    pairs,
)

TABLE_1 = {
    "FedAvg": "42.54 68.47 65.60 54.24 50.35 89.26 86.46",
    "FedAvgM": "42.54 68.59 66.01 54.00 50.23 89.31 87.06",
    "FedProx": "44.76 69.33 65.61 56.38 50.30 89.28 87.24",
    "SCAFFOLD": "55.08 71.09 66.93 57.47 53.50 89.65 86.87",
    "FedDyn": "54.44 70.14 68.49 56.41 52.69 89.12 86.38",
    "FedNova": "44.92 68.57 65.61 54.27 50.37 89.05 86.47",
    "MOON": "45.87 67.42 66.25 52.08 50.42 89.29 86.44",
    "FedDC": "54.48 70.93 67.89 57.26 52.43 89.19 86.57",
    "FedDisco": "59.05 72.05 69.85 58.07 53.84 89.74 87.85",
}
# deviations over five trials
SPREAD_1 = {
    "FedAvg": "0.59 0.20 0.16 0.18 0.43 0.09 0.03",
    "FedAvgM": "0.45 0.32 0.25 0.44 0.64 0.08 0.11",
    "FedProx": "1.35 0.49 0.31 0.35 0.44 0.12 0.21",
    "SCAFFOLD": "0.23 0.24 0.17 0.35 0.43 0.07 0.24",
    "FedDyn": "0.98 0.31 0.62 0.41 0.52 0.13 0.43",
    "FedNova": "0.59 0.19 0.39 0.20 0.73 0.08 0.20",
    "MOON": "0.90 0.14 0.35 0.20 0.56 0.04 0.04",
    "FedDC": "0.77 0.15 0.44 0.26 0.60 0.02 0.06",
    "FedDisco": "0.67 0.24 0.18 0.15 0.08 0.07 0.20",
}
TABLE_2 = {
    "FedAvg": "50.95 70.05 68.30 54.81 52.46 89.56 87.56",
    "FedAvgM": "50.00 70.07 67.73 54.69 51.91 89.36 87.46",
    "FedProx": "50.48 70.68 68.33 56.93 52.62 89.58 87.72",
    "SCAFFOLD": "57.62 71.70 69.10 58.05 53.82 89.74 87.85",
    "FedDyn": "59.05 72.05 69.85 58.07 53.84 89.31 87.18",
    "FedNova": "51.43 70.04 67.83 55.04 52.23 89.28 87.52",
    "MOON": "52.86 68.79 68.35 53.26 51.97 89.50 87.59",
    "FedDC": "58.25 71.96 68.94 57.70 53.25 89.51 87.11",
}
# accuracy without and with Disco, then rounds to 55 %
TABLE_3 = {
    "FedAvg": "54.27 61.59 58 20",
    "FedAvgM": "57.75 60.65 36 20",
    "FedProx": "55.50 60.19 44 20",
    "SCAFFOLD": "60.43 64.10 34 20",
    "FedDyn": "59.44 62.53 33 27",
    "FedNova": "54.11 58.13 61 24",
    "MOON": "54.30 58.79 56 24",
    "FedDC": "61.18 62.90 27 20",
}
# Table 3 again, without its last row, and the deviation of the last ten rounds
TABLE_10 = {
    "FedAvg": "3.44 1.84",
    "FedAvgM": "1.92 1.32",
    "FedProx": "3.02 2.47",
    "SCAFFOLD": "1.96 0.76",
    "FedDyn": "2.59 2.34",
    "FedNova": "3.83 2.72",
    "MOON": "3.97 3.07",
}
TABLE_7 = {"L1": "69.43", "L2": "69.99", "cosine": "69.90", "KL": "70.05"}
TABLE_13 = {
    "FedAvg (1/K)": "44.76 68.11 65.60 54.27 50.35 89.35 86.46",
    "FedAvg + Disco": "50.95 70.05 68.30 54.81 52.46 89.56 87.56",
}


def _best(name: str) -> str:
    """Which method the paper's FedDisco is, in a column."""
    return "SCAFFOLD" if name.startswith("FMNIST") else "FedDyn"


def _table_1() -> Table:
    cells, spreads = [], table(SPREAD_1, COLUMNS)
    for (row, name), value in table(TABLE_1, COLUMNS).items():
        parts, says = (ARMS.get(row, {}),), ""
        if row == "FedDisco":
            base = _best(name)
            parts, says = (ARMS[base], DISCO), f"the paper's best: {base} + Disco"
        over = ("table1", "FedAvg") if row != "FedAvg" else None
        more: Plain = {"where": "Table 1", "says": says, "over": over}
        more |= {"paper_spread": spreads[row, name]}
        cells.append(cell("table1", row, name, value, column(name), *parts, **more))
    title = "Best test accuracy under NIID-1 and NIID-2"
    return Table("feddisco", "table1", title, tuple(cells))


def _table_2() -> Table:
    cells = []
    for (row, name), value in table(TABLE_2, COLUMNS).items():
        parts = (ARMS[row], DISCO)
        more: Plain = {"where": "Table 2", "over": ("table1", row)}
        at = (f"{row} + Disco", name, value, column(name))
        cells.append(cell("table2", *at, *parts, **more))
    title = "Eight methods with Disco's weights (without: Table 1)"
    return Table("feddisco", "table2", title, tuple(cells))


_WAYS: dict[str, Plain] = {
    "accuracy": {"metric": "mean-10"},
    "deviation": {"metric": "std-10", "better": "low"},
    "to 55 %": {
        "metric": "to-55",
        "unit": "rounds",
        "tolerance": 10.0,
        "better": "low",
    },
}
_SAYS = "50 + 10 clients as in the main text (the appendix: 40 + 10)"


def _partial(
    name: str,
    title: str,
    values: dict[tuple[str, str], float | None],
    spreads: Mapping[tuple[str, str], float | None] | None = None,
) -> Table:
    cells, after = [], spreads or {}
    methods = dict(pairs(list(ARMS)))
    for (row, way), value in values.items():
        over = (name, row.removesuffix(" + Disco")) if "Disco" in row else None
        more: Plain = {"where": f"Table {name[5:]}", "says": _SAYS, "over": over}
        if (row, way) in after:
            more["says"] = f"{_SAYS}; ± over the last 10 rounds, as in the next column"
            more["paper_spread"] = after[row, way]
        place = Place("CIFAR-10", PARTIAL)
        at = (row, way, value, place, methods[row])
        cells.append(cell(name, *at, **more, **_WAYS[way]))
    return Table("feddisco", name, title, tuple(cells))


def _table_3() -> Table:
    values = {}
    for base, text in TABLE_3.items():
        found = iter(numbers(text))
        for way in ("accuracy", "to 55 %"):
            for row in (base, f"{base} + Disco"):
                values[row, way] = next(found)
    title = "10 of 60 clients a round: mean of the last 10 rounds, and rounds to 55 %"
    return _partial("table3", title, values)


def _table_10() -> Table:
    values = {}
    for base, text in TABLE_10.items():
        a, b, *rounds = numbers(TABLE_3[base])
        of = {"accuracy": (a, b), "deviation": numbers(text), "to 55 %": rounds}
        for way, (without, with_disco) in of.items():
            values |= {(base, way): without, (f"{base} + Disco", way): with_disco}
    title = "10 of 60 clients a round: Table 3 with the deviation of the last 10 rounds"
    steady = {
        (r, "accuracy"): v for (r, way), v in values.items() if way == "deviation"
    }
    return _partial("table10", title, values, steady)


def _table_7() -> Table:
    place, cells = column("CIFAR-10 NIID-1"), []
    for row, text in TABLE_7.items():
        how = DISCO if row == "KL" else disco(metric=row.lower())  # KL is usual
        at = (row, "CIFAR-10 NIID-1", float(text), place, FEDAVG, how)
        says = "" if row == "KL" else "divided, as the code did at first"
        cells.append(cell("table7", *at, where="Table 7", says=says))
    title = "Metrics of the discrepancy, all divided by their sum"
    return Table("feddisco", "table7", title, tuple(cells))


def _table_13() -> Table:
    ways: dict[str, Plain] = {
        "FedAvg (1/K)": {"weigh": {"name": "equal"}},
        "FedAvg + Disco": DISCO,
    }
    cells = []
    for (row, name), value in table(TABLE_13, COLUMNS).items():
        over = ("table13", "FedAvg (1/K)") if row != "FedAvg (1/K)" else None
        at = (row, name, value, column(name), FEDAVG, ways[row])
        cells.append(cell("table13", *at, where="Table 13", over=over))
    title = "Disco against equal weights"
    return Table("feddisco", "table13", title, tuple(cells))


TABLES = (_table_1(), _table_2(), _table_3(), _table_7(), _table_10(), _table_13())

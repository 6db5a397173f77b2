"""FedImpro's numbers as chapter 6 shows them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "fedimpro")
_DATA = ("CIFAR-10", "FMNIST", "SVHN", "CIFAR-100")
_HERE = "CIFAR-10, a=0.1, E=1, K=10"
_SETTINGS = {
    "a = 0.1": "a=0.1, E=1, K=10",
    "a = 0.05": "a=0.05, E=1, K=10",
    "a = 0.1, E = 5": "a=0.1, E=5, K=10",
    "a = 0.1, M = 100": "a=0.1, E=1, K=100",
}
_TARGETS = {"CIFAR-10": 82, "FMNIST": 87, "SVHN": 87, "CIFAR-100": 69}
_DEPTHS, _NOISES = (5, 9, 13, 17), ("0", "0.001", "0.005", "0.01", "0.05", "0.1", "0.5")


def chapter() -> pd.DataFrame:
    """FedAvg's number and FedImpro's, table by table."""
    rows = []

    def add(where: str, setting: str, *pair: float | None) -> None:
        rows.append((where, setting, *pair))

    def both(table: str, column: str) -> list[float]:
        return [_number(table, row, column) for row in ("FedAvg", "FedImpro")]

    for data in _DATA:
        for name, column in _SETTINGS.items():
            add("Table 1", f"{data}, {name}", *both("table1", f"{data}, {column}"))
    for data, target in _TARGETS.items():
        column = f"{data}, {_SETTINGS['a = 0.1']}, to {target} %"
        add("Table 2", f"{data}, a = 0.1", *both("table2", column))
    base = _number("table1", "FedAvg", _HERE)
    for depth in _DEPTHS:
        value = _number("table3", "FedImpro", f"{depth}th layer")
        add("Table 3", str(depth), base, value)
    for sigma in _NOISES:
        add("Table 7", sigma, base, _number("table7", "FedImpro", f"σ={sigma}"))
    long = _number("figure8", "FedAvg", "10,000 rounds, rate constant")
    add("Figure 8a", "CIFAR-10, a = 0.1, 10000 rounds", long, None)
    return pd.DataFrame(rows, columns=pd.Index(["where", "setting", "without", "with"]))

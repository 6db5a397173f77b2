"""FedDisco's numbers as chapter 2 shows them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "feddisco")


def _pair(column: str) -> tuple[float, float]:
    """A number of Table 1 and, with Disco's weights, of Table 2."""
    disco = _number("table2", "FedAvg + Disco", column)
    return _number("table1", "FedAvg", column), disco


def _both(table: str, row: str, column: str) -> tuple[float, float]:
    """A number without and with Disco's weights."""
    return _number(table, row, column), _number(table, f"{row} + Disco", column)


def gains() -> pd.DataFrame:
    """FedAvg without and with Disco's weights: chapter 2."""
    trials, names = "five trials, best round (by the code)", ("without", "with")
    rows = []
    for setting, split in (("all clients", "NIID-2"), ("NIID-1", "NIID-1")):
        column = f"CIFAR-10 {split}"
        row = {"setting": setting, "where": f"CIFAR-10, {split}: Tables 1 and 2"}
        row |= {"reported": trials} | dict(zip(names, _pair(column), strict=True))
        row |= {"spread": _number("table1", "FedAvg", column, spread=True)}
        rows.append(row)
    few = {"setting": "ten of sixty", "reported": "mean of the last ten rounds"}
    few |= {"where": "CIFAR-10, NIID-2, 10 of 60 clients: Tables 3 and 10"}
    few |= dict(zip(names, _both("table3", "FedAvg", "accuracy"), strict=True))
    for name, table, column in (
        ("rounds", "table3", "to 55 %"),
        ("wobble", "table10", "deviation"),
    ):
        ends = _both(table, "FedAvg", column)
        few |= {f"{name}_{w}": v for w, v in zip(names, ends, strict=True)}
    rows.insert(1, few)
    order = ["setting", "where", "reported", *names, "spread"]
    order += [f"{n}_{w}" for n in ("rounds", "wobble") for w in names]
    return pd.DataFrame(rows, columns=pd.Index(order))

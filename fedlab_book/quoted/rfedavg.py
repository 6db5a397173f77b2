"""rFedAvg's numbers as chapter 5 shows them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "rfedavg")
_TASKS = {
    "MNIST, 20 clients": ("MNIST", "table1"),
    "CIFAR-10, 20 clients": ("CIFAR-10", "table1"),
    "MNIST, 100 of 500": ("MNIST", "table2"),
    "CIFAR-10, 100 of 500": ("CIFAR-10", "table2"),
}
_WHERE = {"table1": "Table I", "table2": "Table II"}
_METHODS = {"FedAvg": "FedAvg", "SCAFFOLD": "Scaffold"}
_METHODS |= {"rFedAvg": "rFedAvg", "rFedAvg+": "rFedAvg+"}


def chapter() -> pd.DataFrame:
    """Accuracies at three similarities, and what stands after ±."""
    rows = []
    for setting, (data, table) in _TASKS.items():
        for method, row in _METHODS.items():
            about: dict[str, str | float] = {"setting": setting}
            about |= {"where": _WHERE[table], "method": method}
            for alike in (0, 10, 100):
                place = table, row, f"{data} {alike} %"
                about[f"sim{alike}"] = _number(*place)
                about[f"sim{alike}_pm"] = _number(*place, spread=True)
            rows.append(about)
    return pd.DataFrame(rows)


def told() -> pd.DataFrame:
    """Numbers that the paper tells in words, and its table on tweets."""
    time, head = "rFedAvg+'s time as a share of rFedAvg's", "Sec. VI-B"
    rows = [
        (time, when, _number("told", "rFedAvg+", f"time, {when}"), f"{head}{where}")
        for when, where in (
            ("as a rule", "6, on Figure 10c and d"),
            ("10 % alike", "6, on Figure 10c and d"),
        )
    ]
    below = _number("told", "rFedAvg+", "accuracy below, 50 clients")
    rows.append(("accuracy below (%)", "50 clients", below, f"{head}5, on Figure 9b"))
    for name, row in (("FedAvg", "FedAvg"), ("SCAFFOLD", "Scaffold")):
        for split in ("non-IID", "IID"):
            value = _number("table2", row, f"Sent140 {split}")
            what = "accuracy on tweets (%)"
            rows.append((what, f"{name}, {split}", value, "Table II"))
    names = ["quantity", "setting", "value", "where"]
    return pd.DataFrame(rows, columns=pd.Index(names))

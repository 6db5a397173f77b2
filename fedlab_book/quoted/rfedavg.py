"""FedAvg and SCAFFOLD as rFedAvg's paper has them."""

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


def tweets() -> pd.DataFrame:
    """Accuracies on tweets, both where data differ by user and where they do not."""
    rows = [
        {
            "method": name,
            "split": split,
            "value": _number("table2", row, f"Sent140 {split}"),
        }
        for name, row in _METHODS.items()
        for split in ("non-IID", "IID")
    ]
    return pd.DataFrame(rows)

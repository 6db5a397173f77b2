"""FedCollab's numbers as chapter 4 shows them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "fedcollab")
_SHIFTS = {"label shift": "FMNIST", "feature shift": "CIFAR-10"}
_SHIFTS |= {"concept shift": "CIFAR-100"}
_ARMS = {"Local": "Local", "FedAvg": "FedAvg", "FedCollab": "FedAvg + FedCollab"}
_TYPES = ("A", "B", "s", "t")
# Pairs of types here and in the ledger, where C and D are the small ones
_PAIRS = ("AA", "BB", "ss", "tt", "AB", "As", "At", "Bs", "Bt", "st")
_LEDGERS = str.maketrans("st", "CD")
_STORED = "authors' published outputs, seed 0, last round"
_CLIENTS = "mean over the type's five clients"
_DISTANCES = "authors' published distances, negative ones as 0, mean over pairs"
_SEARCH = (
    "published search on the published distances, not averaged; runs that reach the "
    "best coalitions, counted apart"
)


def chapter() -> pd.DataFrame:
    """A number a row: of a shift, a quantity and an arm."""
    rows = []

    def add(shift: str, what: str, arm: str | None, value: float, where: str) -> None:
        rows.append((shift, what, arm, value, where))

    for shift, data in _SHIFTS.items():
        for what in ("Acc", "IPR", "RSD"):
            for arm, row in _ARMS.items():
                if what == "Acc" or arm != "Local":
                    value = _number("table1", row, f"{what}, {shift}, {data}")
                    add(shift, what, arm, value, _STORED)
        for arm in _ARMS:
            for kind in _TYPES:
                value = _number("types", f"{shift}, {arm}", kind)
                add(shift, kind, arm, value, _CLIENTS)
    for shift in _SHIFTS:
        value = _number("constant", shift, "C")
        add(shift, "C used", None, value, "Appendix B.1")
    for shift in _SHIFTS:
        for size in ("large", "small"):
            add(shift, f"m {size}", None, _number("table4", shift, size), "Table 4")
    for shift, data in _SHIFTS.items():
        for pair in _PAIRS:
            column = f"{pair.translate(_LEDGERS)}, {shift}, {data}"
            value = _number("figure5", "FedCollab", column)
            add(shift, "distance", pair, value, _DISTANCES)
    for name, row, column in (
        ("discriminator: parameters", "Client discriminator (MLP)", "parameters"),
        ("discriminator: multiplications", "Client discriminator (MLP)",
         "multiplications"),
        ("ResNet-18: parameters", "FL model (ResNet-18)", "parameters"),
    ):  # fmt: skip
        value = _number("table5", row, column)
        add("concept shift", "Table 5", name, value, "Table 5")
    for name, table, column in (
        ("runs", "orders", "orders"),
        ("settled", "figure8", "to converge, at most"),
        ("stopped", "figure8", "to stop, at most"),
    ):
        value = _number(table, "inner iterations", column)
        add("all shifts", "solver", name, value, "App. B.3")
    for shift in _SHIFTS:
        for name in ("reached", "runs"):
            add(shift, "as published", name, _number("search", shift, name), _SEARCH)
    names = ["scenario", "quantity", "arm", "value", "where"]
    return pd.DataFrame(rows, columns=pd.Index(names))

"""FedDisco's numbers as chapter 3 shows them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "feddisco")
BASES = (
    "FedAvg", "FedAvgM", "FedProx", "SCAFFOLD", "FedDyn", "FedNova", "MOON", "FedDC"
)  # fmt: skip
_ROUNDS, _STEPS = (1, 10, 20, 30, 40), (0, 100, 200, 300, 400)


def _pair(column: str, row: str = "FedAvg") -> tuple[float, float]:
    """A number of Table 1 and, with Disco's weights, of Table 2."""
    disco = _number("table2", f"{row} + Disco", column)
    return _number("table1", row, column), disco


def _both(table: str, row: str, column: str) -> tuple[float, float]:
    """A number without and with Disco's weights."""
    return _number(table, row, column), _number(table, f"{row} + Disco", column)


def chapter() -> pd.DataFrame:
    """Numbers of chapter 3: a part a figure, with two numbers or five steps."""
    rows = []

    def add(part: str, item: str, where: str, pair=(), **more) -> None:
        two = dict(zip(("first", "second"), pair, strict=False))
        rows.append({"part": part, "item": item, "where": where, **two, **more})

    for item, row in (("surrogate", "reformulated"), ("bound", "original")):
        steps = {f"s{n}": _number("table6", row, f"step {n}") for n in _STEPS}
        add("table 6", item, f"Table 6 ({row})", **steps)
    for base in BASES:
        pair = _pair("CIFAR-10 NIID-2", base)
        add("modularity", base, "Tables 1 and 2: CIFAR-10, NIID-2", pair)
    here = "CIFAR-10 NIID-1"
    for metric in ("L1", "L2", "cosine", "KL"):
        pair = _number("table1", "FedAvg", here), _number("table7", metric, here)
        add("metric", metric.lower(), "Table 7: CIFAR-10, NIID-1", pair)
    tail = "Table 9: CIFAR-10, rho = 10"
    add("imbalance", "FedAvg", tail, _both("table9", "FedAvg", "ρ=10"))
    for item, how in (("head", "within"), ("middle", "within"), ("tail", "nearly")):
        said = f"{how} {_number('words', how, item):g}"
        add("imbalance", item, "Figure 8 and App. B.2, in words", said=said)
    for base in ("FedAvg", "FedDyn"):
        where = "Tables 1 and 2: CIFAR-10, NIID-1"
        add("rarity", f"{base} 1", where, _pair(here, base))
        add("rarity", f"{base} 10", tail, _both("table9", base, "ρ=10"))
    late = _both("stragglers", "FedAvg", "CIFAR-10 NIID-2")
    add("stragglers", "FedAvg", "App. B.7: CIFAR-10, NIID-2", late)
    for t in _ROUNDS:
        add("fairness", str(t), "Table 12", _both("table12", "FedAvg", f"round {t}"))
    order = ["part", "item", "where", "first", "second", *(f"s{n}" for n in _STEPS)]
    return pd.DataFrame(rows, columns=pd.Index([*order, "said"]))

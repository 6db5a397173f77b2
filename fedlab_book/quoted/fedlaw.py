"""FedLAW's numbers as the pages of chapter 4 show them."""

from functools import partial

import pandas as pd

from fedlab_ledger.papers import printed

_number = partial(printed, "fedlaw")
_NETWORKS = ("SimpleCNN", "AlexNet", "ResNet8")
_NAMES = {"SimpleCNN": "CNN", "ResNet20": "ResNet"}


def _pair(table: str, row: str, column: str, base: str = "FedAvg"):
    """A number, after that of the row it is shown beside."""
    return _number(table, base, column), _number(table, row, column)


def _fixed(table: str, world: str, factor: str) -> tuple[float, float]:
    """A fixed factor beside none, in Tables 1 and 9."""
    rows = (f"{world}, γ={g}" for g in ("1", factor))
    one, other = (_number(table, row, "accuracy") for row in rows)
    return one, other


def chapter() -> pd.DataFrame:
    """Numbers that chapter 4 sets beside its own runs."""
    rows = []

    def add(part: str, arm: str, split: str, where: str, pair) -> None:
        rows.append((part, arm, split, where, *pair))

    for factor in ("0.93", "0.97"):
        for split, table, world in (("alike", "table1", "IID"),
                                    ("uneven", "table9", "α=0.1")):  # fmt: skip
            for network in _NETWORKS:
                where = f"Table {table[5:]}, {network}"
                pair = _fixed(table, f"{network}, {world}", factor)
                add("hand", f"γ = {factor}", split, where, pair)
    for network in _NETWORKS:
        pair = _fixed("table1", f"{network}, IID", "0.93")
        add("why", "γ = 0.93", "alike", f"Table 1, {network}", pair)
    none, step = "IID, decay 0", "IID, rate 1"
    plain = _number("table2", "FedAvg", none)
    decayed = plain, _number("table2", "FedAvg", "IID, decay 0.001")
    says = "Table 2, weight decay .001 beside none"
    add("why", "weight decay", "alike", says, decayed)
    halved = (_number("table10", "FedAvg", c) for c in (step, "IID, rate 0.5"))
    says = "Table 10, global learning rate .5 beside 1"
    add("why", "half of the step", "alike", says, halved)
    learnt = _pair("table2", "adaptive GWS", none)
    add("why", "GWS", "alike", "Table 2, no weight decay", learnt)
    for arm in ("FedLAW", "FedDF"):
        half = _pair("table8", arm, "50 %")
        add("wrong", arm, "alike", "Table 8, half corrupted", half)
    for split, alpha in (("alike", "100"), ("uneven", "0.1")):
        for network, name in _NAMES.items():
            pair = _pair("table3", "FedLAW", f"CIFAR-10 {network}, α={alpha}")
            add("images", "FedLAW", split, f"Table 3, CIFAR-10, {name}", pair)
    r = 0, _number("figure11", "r", "IID, E=1")
    add("step", "r", "all", "Figure 11, mean of all experiments", r)
    gamma = 1, _number("table2", "γ", none)
    add("learned", "alike, at the end", "all", "Table 2, IID, no weight decay", gamma)
    brief = "Table 10, IID, one epoch"
    add("one epoch", "GWS", "alike", brief, _pair("table10", "adaptive GWS", step))
    gamma = 1, _number("table10", "γ", step)
    add("learned", "alike, one epoch", "all", brief, gamma)
    head = ["part", "arm", "split", "where", "without", "with_"]
    return pd.DataFrame(rows, columns=pd.Index(head))

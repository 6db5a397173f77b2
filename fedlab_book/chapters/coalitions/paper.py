"""The paper's own size: what the ledger has of its label shift, in percent by seed."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlab_book.bench import effect, pm, side
from fedlab_core.errors import require
from fedlab_ledger.report.book import opened

Runs = Mapping[str, Mapping[int, float]]  # by arm and seed
GOOD, EDGE = "C = 8", "C = 10"
ACC = "Acc, label shift, FMNIST"
OTHERS = ("IFCA", "FedCluster", "FeSEM", "KMeans")


def full_size() -> Runs:
    """Accuracy on own tests, mean over the twenty clients, by arm and seed."""
    found = dict[str, dict[int, float]]()
    record = opened()
    for t in record.of("fedcollab"):
        for s in record.cells(t):
            what = s.cell.column if t.name == "figure6" else s.cell.row
            fits = what in (GOOD, EDGE) if t.name == "figure6" else s.cell.column == ACC
            if s.scale == "paper" and fits and s.cell.row != "coalitions":
                lines = {r["seed"]: 100 * r["value"] for r in record.lines(s)}
                found.setdefault(what, lines)
    return found


def over(runs: Runs, arm: str, base: str) -> np.ndarray:
    """Points that one arm is ahead of another, on the seeds that both have."""
    mine, theirs = runs[arm], runs[base]
    return np.array([mine[k] - theirs[k] for k in sorted(mine) if k in theirs])


def fallen(runs: Runs, arm: str) -> list[float]:
    """Accuracies of the seeds in which an arm is below training alone."""
    alone = runs["Local"]
    return [v for k, v in sorted(runs[arm].items()) if v < alone[k]]


def said(runs: Runs) -> str:
    """Outcome of C = 8 and of C = 10 there."""
    gains, low = over(runs, GOOD, "Local"), fallen(runs, EDGE)
    won = f"in {(gains > 0).sum()} of {len(gains)} seeds"
    count = f"{len(low)} of {len(runs[EDGE])}"
    where = " and ".join(f"{v:.0f}" for v in low)
    level = np.mean([*runs["FedAvg"].values()])
    return (
        f"With {GOOD} FedCollab is above training alone {won}, by {pm(gains)} points. "
        f"With {EDGE}, {count} seeds fall to {where} %, where one federation of all is "
        f"({level:.0f} %)."
    )


def rivals(runs: Runs) -> str:
    """Outcome of other groupings, and of FedNova in one model for all, beside it."""
    behind = [over(runs, GOOD, arm).mean() for arm in OTHERS]
    require(
        0 <= min(behind) and max(behind) < 0.5, "other groupings are further behind"
    )
    alone = over(runs, "FedNova", "Local")
    nova, many = (side(over(runs, "FedNova", "FedAvg")), side(alone)), len(alone)
    require(nova == (1, 0), "FedNova is not what is said of it")
    return (
        f"Other groupings ({', '.join(OTHERS)}) end less than half a point below it, "
        "on average. And the control: FedNova, in one model for all, is far above "
        f"FedAvg; whether it is below training alone, {many} seeds cannot tell."
    )


def claims(runs: Runs, published: Mapping[str, float]) -> pd.DataFrame:
    """The paper's claims beside ours at its size, and a rival it does not discuss."""
    rows = [("FedCollab over alone", GOOD, "Local", published["Local"])]
    rows += [("over one federation", GOOD, "FedAvg", published["FedAvg"])]
    rows += [(f"over {arm}", GOOD, arm, None) for arm in OTHERS]
    table = list[dict[str, str]]()
    for name, arm, base, theirs in rows:
        ours = over(runs, arm, base)
        told = "ahead"
        if theirs is not None:
            told = f"{100 * (published['FedCollab'] - theirs):+.1f}"
        line = {"": name, "paper": told, "here": pm(ours), "seeds": str(len(ours))}
        table.append(line | {"can we tell?": effect(ours)})
    ours = over(runs, "FedNova", "Local")
    line = {"": "FedNova over alone", "paper": "–", "here": pm(ours)}
    table.append(line | {"seeds": str(len(ours)), "can we tell?": effect(ours)})
    return pd.DataFrame(table)

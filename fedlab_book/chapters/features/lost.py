"""The paper's SCAFFOLD beside its FedAvg, and a SCAFFOLD whose correction is lost."""

import numpy as np
import pandas as pd

from fedlab_book.bench import Comparison
from fedlab_book.quoted import rfedavg as quoted
from fedlab_core import tree
from fedlab_core.errors import require

_ALIKE = {"sim0": 0, "sim10": 10, "sim100": 100}  # percent, by column
_ROUNDING = 1e-4


def printed() -> pd.DataFrame:
    """A row a setting of the paper: both accuracies, each with what stands after ±."""
    paper = quoted.chapter().set_index(["setting", "method"])
    rows = []
    for setting in dict.fromkeys(paper.index.get_level_values(0)):
        both = {m: paper.loc[(setting, m)] for m in ("FedAvg", "SCAFFOLD")}
        for column, alike in _ALIKE.items():
            row = {"setting": f"{setting} ({both['FedAvg']['where']})"}
            row["alike"] = f"{alike} %"
            for name, of in both.items():
                row[name] = f"{of[column]:.2f} ± {of[f'{column}_pm']:.2f}"
            apart = both["SCAFFOLD"][column] - both["FedAvg"][column]
            rows.append(row | {"difference": f"{apart:+.2f}"})
    return pd.DataFrame(rows)


def away(found: Comparison, name: str) -> np.ndarray:
    """How far a model is from FedAvg's, as a part of that model's length."""
    far = []
    for mine, base in zip(found.of(name), found.of("FedAvg"), strict=True):
        ends = [tree.take(history.states, 0) for history in (mine, base)]
        gap = tree.norm(tree.add(*ends, scale=-1.0))
        far.append(float(gap / tree.norm(ends[1])))
    return np.array(far)


def said(found: Comparison) -> str:
    """How the two differ in the paper, and in our runs after two rounds."""
    paper = quoted.chapter().set_index(["where", "setting", "method"])
    spans = {}
    for where in ("Table I", "Table II"):
        both = [paper.xs(m, level="method").loc[where] for m in ("SCAFFOLD", "FedAvg")]
        gap = both[0][[*_ALIKE]].astype(float) - both[1][[*_ALIKE]].astype(float)
        spans[where] = float(gap.abs().to_numpy().max())
    told = quoted.tweets().pivot(index="split", columns="method", values="value")
    tweets = told["FedAvg"] - told["SCAFFOLD"]
    ours = {name: away(found, name) for name in ("lost", "SCAFFOLD")}
    one = ours["lost"].max() < _ROUNDING < ours["SCAFFOLD"].min()
    require(one, "the lost correction is not FedAvg's model any more")
    return (
        f"On images, the two differ in the paper's Table II by {spans['Table II']:.2f} "
        f"points at most, in Table I by {spans['Table I']:.2f}. On tweets, in Table "
        f"II, SCAFFOLD is {tweets['non-IID']:.1f} (non-IID) and {tweets['IID']:.1f} "
        "points (IID) below FedAvg. In our runs, after two rounds, the lost correction "
        f"is {100 * ours['lost'].max():.3f} % of the model's length away from FedAvg's "
        "model, which is rounding: they are one method. The correct SCAFFOLD is "
        f"{100 * ours['SCAFFOLD'].mean():.0f} % away."
    )

"""FedLAW's Figure 8, right, and Table 6: how few images are enough?"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlab_book.bench import Comparison, pm
from fedlab_book.chapters.fedlaw_figures.common import Picture, spot, zero
from fedlab_book.figures import canvas, look, styled
from fedlab_book.findings import Row

SETS = {  # images of each class, and how much rarer the rarest class is
    "1": (1, 1),
    "3": (3, 1),
    "30": (30, 1),
    "30 to 3": (30, 10),
}
_CAPTION = (
    "Left: the same start for all; last, a long tail. Right: the paper's even and "
    "long-tailed sets, without resampling; it has no Server-FT there."
)
_OURS, _PAPERS = ("Server-FT", "FedLAW"), ("FedDF", "FedLAW")


@styled
def figure(found: Comparison, paper: pd.DataFrame) -> Picture:
    """Points over FedAvg by the server's images; the paper's Table 6 beside."""
    fig, (ax, other) = canvas(680, 320, ncols=2, sharey=True)
    for i, arm in enumerate(_OURS):
        for k, name in enumerate(SETS):
            gain = found.gain(arm, where=name)
            label = {"label": arm} if k == 0 else {}
            spot(ax, k + 0.16 * (i - 0.5), gain, arm, **label)
    names = paper.setting.drop_duplicates()
    for i, arm in enumerate(_PAPERS):
        rows = paper[paper.arms == arm]
        style = look(arm) | {"linestyle": "", "markersize": 8, "label": arm}
        at = np.arange(len(rows)) + 0.16 * (i - 0.5)
        other.plot(at, rows.with_ - rows.without, **style)
    ax.set_xticks(range(len(SETS)), list(SETS))
    ax.set(title="ours", xlabel="server's images of each class")
    ax.set_ylabel("points ahead of FedAvg")
    other.set_xticks(range(len(names)), names.str.replace(", ", "\n"))
    other.set(title="paper: Table 6", xlabel="clients and server's images")
    for one in (ax, other):
        zero(one)
        one.grid(axis="y")
        one.legend(loc="lower center")
    return fig, _alt(found, paper), _CAPTION


def _alt(found: Comparison, paper: pd.DataFrame) -> str:
    ours = "; ".join(
        f"{name}: "
        + ", ".join(f"{arm} {pm(found.gain(arm, where=name))}" for arm in _OURS)
        for name in SETS
    )
    theirs = "; ".join(
        f"{r['arms']}, {r['setting']}: {r['with_'] - r['without']:+z.1f}"
        for r in paper.to_dict("records")
    )
    return (
        "Points ahead of FedAvg against the number of images of each class that the "
        f"server has, with intervals. {ours}. Beside it the paper's gains: {theirs}."
    )


def facts(found: Comparison) -> dict[str, Row]:
    """FedLAW over training on the same images; and on a long tail, over FedAvg."""
    shown = {n: f"{n} of each" for n in SETS} | {"30 to 3": "a tail from 30 to 3"}
    ahead: Mapping[str, np.ndarray] = {
        name: found.gain("FedLAW", over="Server-FT", where=name) for name in SETS
    }
    rows = {
        name: Row(f"FedLAW over Server-FT, {shown[name]}", values, claim=1)
        for name, values in ahead.items()
    }
    tail = found.gain("FedLAW", where="30 to 3")
    rows["tail"] = Row(f"FedLAW over FedAvg, {shown['30 to 3']}", tail, claim=1)
    return rows

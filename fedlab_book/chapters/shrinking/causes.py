"""What a gain goes with: how short the network is kept, by whatever means."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import (
    CAUSES,
    COLOURS,
    DECAY,
    FIXED,
    GWS,
    HALF,
    MILD,
    ONCE,
    UNIT,
    Facts,
    Printed,
    leads,
)
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.metrics import mean_interval

FREE = ("FedAvg", ONCE, HALF, MILD, DECAY, FIXED)  # see no labels of the server
MOMENT = "the moment of shrinking: after minus before"
_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that count as nothing
_MARKS = dict(zip((*FREE, GWS), "oPv^DXs", strict=True))


def ends(found: Comparison, arm: str) -> np.ndarray:
    """How long the network is when the last round begins, seed by seed."""
    return found.curves(arm, "alike", "length")[:, -1]


def lines(found: Comparison) -> np.ndarray:
    """Of each seed the line through what sees no labels: slope, and height at zero.

    Of the points over FedAvg, against the length.
    """
    x, y = (
        np.array([one(arm) for arm in FREE]).T
        for one in (lambda a: ends(found, a), lambda a: found.gain(a, where="alike"))
    )
    return np.array([np.polyfit(a, b, 1) for a, b in zip(x, y, strict=True)])


@styled
def by_length(found: Comparison) -> tuple[Figure, str]:
    """A point an arm: its gain at the end, against the length of its network."""
    fig, ax = canvas(520, 340)
    told = []
    for arm in (*FREE, GWS):
        x, gain = ends(found, arm).mean(), found.gain(arm, where="alike")
        mean, half = mean_interval(gain)
        style: dict[str, Any] = {
            "color": PALETTE[COLOURS[arm]],
            "markersize": 7,
            "label": arm,
        }
        ax.errorbar(x, mean, half, fmt=_MARKS[arm], **style)
        told.append(f"{arm}: {x:.1f} and {pm(gain)}")
    slope, height = lines(found).mean(axis=0)
    at = np.array([ends(found, arm).mean() for arm in (FIXED, "FedAvg")])
    ax.plot(at, height + slope * at, color=INK, linestyle="--", linewidth=1.2)
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
    ax.set(xlabel="length of w when the last round begins", ylabel=UNIT)
    ax.grid(axis="y")
    ax.legend(loc="upper right", ncols=2)
    return fig, f"Length at the end, and points over FedAvg: {'; '.join(told)}."


def shortness(found: Comparison, paper: Printed) -> Facts:
    """Whether without labels a shorter network gains more, and GWS more than that.

    Decay, as short as the fixed factor's network, comes near to its gain, and the
    moment of shrinking itself changes nothing. `paper` has gains of each arm.
    """
    line = lines(found)
    over = found.gain(GWS, where="alike") - np.array(
        [np.polyval(one, x) for one, x in zip(line, ends(found, GWS), strict=True)]
    )
    by_decay = found.gain(FIXED, DECAY, "alike")
    at_once = found.ends(FIXED, "alike", "at_once")
    ahead = paper[GWS][0] - paper[DECAY][0]
    rows = [
        Row("a length shorter by one", -line[:, 0]),
        Row("GWS over that line", over),
        Row(f"{FIXED} minus decay", by_decay, within=_NEAR),
        *(
            replace(row, aside=True)
            for row in leads(found, (*CAUSES, ONCE), "alike", paper, named=False)
        ),
        Row("GWS minus decay", found.gain(GWS, DECAY, "alike"), ahead, aside=True),
        Row(MOMENT, at_once, within=_NOTHING, aside=True),
    ]
    holds = [side(row.values) for row in rows[:2]] == [1, 1]
    gained = all(side(row.values) == 1 for row in rows[3 : 3 + len(CAUSES)])
    return {
        "rows": rows,
        "holds": holds and gained and rows[2].near and rows[-1].near,
        "digits": 2,
    }

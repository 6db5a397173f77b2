"""What a gain goes with: how short a network is kept, how little it knows by heart."""

from collections.abc import Callable
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
    PLACES,
    UNIT,
    Facts,
    Printed,
    leads,
)
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.metrics import mean_interval

FREE: tuple[str, ...] = (
    "FedAvg",
    ONCE,
    HALF,
    MILD,
    DECAY,
    FIXED,
)  # see no labels of the server
MOMENT = "the moment of shrinking: after minus before"
_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that count as nothing
_ALL = 99.0  # percent of the own images that "nearly all" asks for
_MARKS: dict[str, str] = dict(zip((*FREE, GWS), "oPv^DXs", strict=True))


def length(found: Comparison, arm: str) -> np.ndarray:
    """How long the network is when the last round begins, seed by seed."""
    return found.curves(arm, "alike", "length")[:, -1]


def by_heart(found: Comparison, arm: str, where: str = "alike") -> np.ndarray:
    """How many of the clients' own images it is right about at the end, in percent."""
    return 100 * found.ends(arm, where, "own")


SUSPECTS: dict[str, Callable[[Comparison, str], np.ndarray]] = {
    "length of w": length,
    "own images known (%)": by_heart,
}


def lines(found: Comparison, suspect: Callable) -> np.ndarray:
    """Of each seed the line through what sees no labels: slope, and height at zero.

    Of the points over FedAvg, against what a suspect measures.
    """
    x = np.array([suspect(found, arm) for arm in FREE]).T
    y = np.array([found.gain(arm, where="alike") for arm in FREE]).T
    return np.array([np.polyfit(a, b, 1) for a, b in zip(x, y, strict=True)])


def over(found: Comparison, suspect: Callable) -> np.ndarray:
    """By how many points the learned factor is above that line, seed by seed."""
    pairs = zip(lines(found, suspect), suspect(found, GWS), strict=True)
    expected = np.array([np.polyval(line, x) for line, x in pairs])
    return found.gain(GWS, where="alike") - expected


@styled
def suspected(found: Comparison) -> tuple[Figure, str]:
    """A panel a suspect, a point an arm: its gain at the end, against the suspect."""
    fig, axes = canvas(520, 360, ncols=len(SUSPECTS), sharey=True)
    told = []
    for ax, (name, suspect) in zip(axes, SUSPECTS.items(), strict=True):
        at = {arm: suspect(found, arm).mean() for arm in (*FREE, GWS)}
        for arm, x in at.items():
            mean, half = mean_interval(found.gain(arm, where="alike"))
            style: dict[str, Any] = {"color": PALETTE[COLOURS[arm]], "markersize": 7}
            ax.errorbar(x, mean, half, fmt=_MARKS[arm], label=arm, **style)
        slope, height = lines(found, suspect).mean(axis=0)
        ends = np.array([f([at[arm] for arm in FREE]) for f in (min, max)])
        ax.plot(ends, height + slope * ends, color=INK, linestyle="--", linewidth=1.2)
        ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
        ax.set(xlabel=name)
        ax.grid(axis="y")
        told.append(f"{name}: {', '.join(f'{a} {x:.1f}' for a, x in at.items())}")
    axes[0].set_ylabel(UNIT)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    gained = ", ".join(f"{a} {pm(found.gain(a, where='alike'))}" for a in (*FREE, GWS))
    return fig, f"Points over FedAvg: {gained}. {'. '.join(told)}."


def both_suspects(found: Comparison, paper: Printed) -> Facts:
    """Whether without labels a gain goes with both suspects, and GWS is above both.

    Decay, as short as the fixed factor's network, comes near to its gain, the moment of
    shrinking itself changes nothing, and FedAvg knows nearly all its images by heart.
    `paper` has gains of each arm.
    """
    short, knows = (lines(found, suspect)[:, 0] for suspect in SUSPECTS.values())
    above = [over(found, suspect) for suspect in SUSPECTS.values()]
    by_decay = found.gain(FIXED, DECAY, "alike")
    at_once = found.ends(FIXED, "alike", "at_once")
    ahead = paper[GWS][0] - paper[DECAY][0]
    rows = [
        Row("a length shorter by one", -short, aside=True),
        Row("ten points fewer known by heart", -10 * knows, aside=True),
        Row("GWS above the line of lengths", above[0]),
        Row("GWS above the line of own images", above[1]),
        Row(f"{FIXED} minus decay", by_decay, within=_NEAR, aside=True),
        *(
            replace(row, aside=True)
            for row in leads(found, (*CAUSES, ONCE), "alike", paper, named=False)
        ),
        Row("GWS minus decay", found.gain(GWS, DECAY, "alike"), ahead, aside=True),
        Row(MOMENT, at_once, within=_NOTHING, aside=True),
    ]
    holds = [side(row.values) for row in rows[:4]] == [1, 1, 1, 1]
    gained = all(side(row.values) == 1 for row in rows[5 : 5 + len(CAUSES)])
    known = by_heart(found, "FedAvg").mean() >= _ALL
    near = rows[4].near and rows[-1].near
    return {
        "rows": rows,
        "holds": bool(holds and gained and known and near),
        "unit": UNIT,
        "digits": 2,
    }


def unlearned(found: Comparison) -> Facts:
    """Whether the uneven know fewer own images, and a fixed factor costs them more."""
    own = {(a, w): by_heart(found, a, w) for a in ("FedAvg", FIXED) for w in PLACES}
    lost = {w: own[FIXED, w] - own["FedAvg", w] for w in PLACES}
    words = ("more", "fewer")
    rows = [
        Row(
            "FedAvg, uneven minus alike",
            own["FedAvg", "uneven"] - own["FedAvg", "alike"],
        ),
        *(Row(f"{FIXED} minus FedAvg, {w}", lost[w]) for w in PLACES),
        Row(
            "the last minus the one before", lost["uneven"] - lost["alike"], aside=True
        ),
    ]
    note = ", ".join(f"{own['FedAvg', w].mean():.0f} % ({w})" for w in PLACES)
    return {
        "rows": [replace(row, words=words, aside=True) for row in rows],
        "holds": all(side(row.values) == -1 for row in rows),
        "unit": "own images, points",
        "note": f"FedAvg itself: {note}.",
    }

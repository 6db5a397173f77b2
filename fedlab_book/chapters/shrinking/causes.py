"""What a gain goes with: how short a network is kept, how little it knows by heart."""

from dataclasses import replace
from typing import Any

import numpy as np

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import (
    CAUSES,
    DECAY,
    FIXED,
    GWS,
    HALF,
    ONCE,
    PLACES,
    Facts,
    Printed,
    leads,
)
from fedlab_book.findings import Row

MOMENT = "the moment of shrinking: after minus before"
_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that count as nothing
_AS_LONG, _AS_MUCH = 0.25, 1.5  # of a length, and points of own images, that are alike


def length(found: Comparison, arm: str) -> np.ndarray:
    """How long the network is when the last round begins, seed by seed."""
    return found.curves(arm, "alike", "length")[:, -1]


def by_heart(found: Comparison, arm: str, where: str = "alike") -> np.ndarray:
    """How many of the clients' own images it is right about at the end, in percent."""
    return 100 * found.ends(arm, where, "own")


def suspects(found: Comparison, paper: Printed) -> Facts:
    """Whether decay gains what the factor gains, and the suspects cannot be told apart.

    Two pairs of arms that differ in one suspect alone: neither decides. GWS gains more
    than the factor, and the moment of shrinking itself changes nothing. `paper` has
    gains of each arm.
    """

    def less(arm: str, other: str, **how: Any) -> Row:
        return Row(f"{arm} minus {other}", found.gain(arm, other, "alike"), **how)

    rows = [
        less(FIXED, DECAY, within=_NEAR),
        less(HALF, ONCE, aside=True),
        less(FIXED, HALF, aside=True),
        less(GWS, FIXED),
        *(
            replace(row, aside=True)
            for row in leads(found, (*CAUSES, ONCE), "alike", paper, named=False)
        ),
        less(GWS, DECAY, paper=paper[GWS][0] - paper[DECAY][0], aside=True),
        Row(MOMENT, found.ends(FIXED, "alike", "at_once"), within=_NOTHING, aside=True),
    ]
    apart = [side(row.values) for row in rows[1:4]] == [0, 0, 1]
    gained = all(side(row.values) == 1 for row in rows[4 : 4 + len(CAUSES)])
    near = rows[0].near and rows[-1].near
    return {
        "rows": rows,
        "holds": bool(apart and gained and near and _pairs(found)),
        "unit": "points",
        "note": f"Length, and own images known, at the end: {_told(found)}.",
    }


def _told(found: Comparison) -> str:
    arms = ("FedAvg", FIXED, HALF, ONCE)
    both = ((a, length(found, a).mean(), by_heart(found, a).mean()) for a in arms)
    return "; ".join(f"{arm} {long:.1f}, {known:.0f} %" for arm, long, known in both)


def _pairs(found: Comparison) -> bool:
    """Whether each pair is alike in one suspect, and clearly apart in the other."""
    long = {a: length(found, a) for a in (FIXED, HALF, ONCE)}
    know = {a: by_heart(found, a) for a in (FIXED, HALF, ONCE)}
    as_long = abs((long[HALF] - long[ONCE]).mean()) < _AS_LONG
    as_much = abs((know[HALF] - know[FIXED]).mean()) < _AS_MUCH
    fewer, shorter = know[HALF] - know[ONCE], long[FIXED] - long[HALF]
    return as_long and as_much and side(fewer) == side(shorter) == -1


def unlearned(found: Comparison) -> Facts:
    """Whether the uneven know fewer own images, and a fixed factor costs them more."""
    own = {(a, w): by_heart(found, a, w) for a in ("FedAvg", FIXED) for w in PLACES}
    lost = {w: own[FIXED, w] - own["FedAvg", w] for w in PLACES}
    words = ("more", "fewer")
    rows = [
        *(Row(f"{FIXED} minus FedAvg, {w}", lost[w]) for w in PLACES),
        Row(
            "FedAvg, uneven minus alike",
            own["FedAvg", "uneven"] - own["FedAvg", "alike"],
        ),
        Row("uneven minus alike", lost["uneven"] - lost["alike"]),
    ]
    note = ", ".join(f"{own['FedAvg', w].mean():.0f} % ({w})" for w in PLACES)
    return {
        "rows": [replace(row, words=words, aside=True) for row in rows],
        "holds": all(side(row.values) == -1 for row in rows),
        "unit": "own images, points",
        "note": f"FedAvg itself: {note}.",
    }

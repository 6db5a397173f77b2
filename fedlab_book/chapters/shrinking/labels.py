"""Gain from a learned factor's labels, beside no labels, and a clinic more."""

from collections.abc import Sequence
from dataclasses import replace

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import (
    DECAY,
    ELEVENTH,
    FIXED,
    GWS,
    HALF,
    ONCE,
    UNIT,
    Facts,
    Paper,
    Printed,
    ahead,
    leads,
)
from fedlab_book.findings import Row

WITHOUT = (FIXED, DECAY)
WITH = (GWS, "FedLAW", ELEVENTH)
CONTROLS = (HALF, ONCE)  # folded
_NEAR = 0.5  # points that "within half a point" allows


def alike(found: Comparison, quick: Comparison, paper: Paper) -> Facts:
    """Whether all ways gain among the alike, decay as much as the fixed factor does.

    A learned factor gains more than a clinic more, and gains with one epoch in a round,
    as in `quick`. For a while it falls behind FedAvg.
    """
    theirs = {**paper["why", "alike"], **paper["images", "alike"]}
    shown = leads(found, WITHOUT + WITH, "alike", theirs, named=False)
    level = replace(_less(found, FIXED, DECAY), within=_NEAR)
    more = _less(found, GWS, ELEVENTH)
    over = replace(_less(found, GWS, DECAY), paper=theirs[GWS][0] - theirs[DECAY][0])
    pairs = ((GWS, FIXED), ("FedLAW", GWS), ("FedLAW", ELEVENTH))
    printed = paper["one epoch", "alike"][GWS]
    brief = Row(f"{GWS}, one epoch", quick.gain(GWS, where="alike"), printed)
    others = [*_controls(found, "alike", theirs), level, more, over]
    others += [_less(found, *pair) for pair in pairs]
    shown.append(brief)
    gained = all(side(row.values) == 1 for row in (*shown, more))
    holds = gained and level.near and _falls_behind(found, GWS)
    return _facts(shown, others, holds)


def uneven(found: Comparison, paper: Paper) -> Facts:
    """Whether no way without labels gains among the uneven.

    Of those with labels a clinic more gains, alone.
    """
    theirs = {**paper["images", "uneven"], **paper["hand", "uneven"]}
    shown = leads(found, WITHOUT + WITH, "uneven", theirs, named=False)
    controls = _controls(found, "uneven", theirs)
    others = [
        *controls,
        _less(found, DECAY, FIXED, "uneven"),
        *(_less(found, ELEVENTH, b, "uneven") for b in (GWS, "FedLAW")),
        *(_less(found, GWS, b, "uneven") for b in (FIXED, "FedLAW")),
    ]
    *rest, last = (side(row.values) == 1 for row in (*controls, *shown))
    return _facts(shown, others, last and not any(rest))


def _facts(shown: Sequence[Row], others: Sequence[Row], holds: bool) -> Facts:
    rows = [*shown, *(replace(row, aside=True) for row in others)]
    how = {"unit": UNIT, "folded": "points"}
    return {"rows": rows, "holds": bool(holds), **how}


def _controls(found: Comparison, where: str, theirs: Printed) -> list[Row]:
    rows = leads(found, CONTROLS, where, theirs, named=False)
    return [replace(row, name=f"{row.name} minus FedAvg") for row in rows]


def _less(found: Comparison, arm: str, other: str, where: str = "alike") -> Row:
    return Row(f"{arm} minus {other}", found.gain(arm, other, where))


def _falls_behind(found: Comparison, arm: str) -> bool:
    """Whether it is clearly behind FedAvg in its worst round, among the alike."""
    more = ahead(found, arm, "alike")
    return side(more[:, more.mean(axis=0).argmin()]) == -1

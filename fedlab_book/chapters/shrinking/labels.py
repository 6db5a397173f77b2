"""What a learned factor's labels buy: beside ways without any, and a clinic more."""

from collections.abc import Mapping
from dataclasses import replace

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import (
    DECAY,
    ELEVENTH,
    FIXED,
    GWS,
    HALF,
    ONCE,
    PLACES,
    STRETCHED,
    UNIT,
    WAITED,
    Facts,
    Printed,
    ahead,
    leads,
)
from fedlab_book.findings import Row

_NEAR = 0.5  # points that "within half a point" allows


def without(found: Comparison, paper: Printed) -> Facts:
    """Whether ways that use no label gain, one of them as far as we can tell as much.

    Decay gains what the factor gains. To stretch first, and then to shrink, gains more
    than that, and than leaving alone first. So does the learned factor, which begins
    above one; whether it gains over stretching cannot be told. All but one shortening
    gain at the end; the factor, stretched or not, and the learned one first fall behind
    FedAvg. `paper` has gains of each arm.
    """

    def less(arm: str, other: str) -> Row:
        return Row(f"{arm} minus {other}", found.gain(arm, other, "alike"))

    rows = [
        Row(f"{FIXED} minus {DECAY}", less(FIXED, DECAY).values, within=_NEAR),
        less(STRETCHED, FIXED),
        less(GWS, STRETCHED),
        less(GWS, WAITED),
        replace(less(STRETCHED, WAITED), aside=True),
    ]
    told = [side(row.values) for row in rows[1:]] == [1, 0, 1, 1]
    tried = (FIXED, DECAY, HALF, ONCE, WAITED, STRETCHED, GWS)
    each = leads(found, tried, "alike", paper, named=False)
    gained = all((side(row.values) == 1) == (row.name != ONCE) for row in each)
    asides = [*each, less(WAITED, FIXED), less(GWS, FIXED)]
    more = paper[GWS][0] - paper[DECAY][0]
    over = less(GWS, DECAY)
    asides.append(Row(over.name, over.values, more))
    first = found.curves(GWS, "alike", "gamma")[:, :2].mean(axis=0)
    cost = all(_falls_behind(found, arm) for arm in (FIXED, STRETCHED, GWS))
    return {
        "rows": [*rows, *(replace(row, aside=True) for row in asides)],
        "holds": bool(rows[0].near and told and gained and cost and (first > 1).all()),
    }


def worth(
    found: Comparison, quick: Comparison, paper: Mapping[tuple[str, str], Printed]
) -> Facts:
    """Whether learning beats a client more, with the same images, among the alike.

    That gains there, too, and among the uneven it beats both ways to learn. `quick` has
    one epoch in a round, and `paper` gains as `beside.printed` reads them.
    """
    rows, asides, sides = [], [], {}
    arms = (GWS, "FedLAW", ELEVENTH)
    pairs = ((GWS, ELEVENTH), ("FedLAW", ELEVENTH), ("FedLAW", GWS), (GWS, FIXED))
    for where in PLACES:
        theirs = {**paper["images", where]}
        if where == "alike":
            theirs[GWS] = paper["why", where][GWS]
        here = leads(found, arms, where, theirs)
        over = [
            Row(f"{a} minus {b}, {where}", found.gain(a, b, where), aside=True)
            for a, b in pairs
        ]
        rows += here
        asides += over
        sides[where] = [side(row.values) for row in (*here, *over)]
    brief = Row(
        f"{GWS}, alike, one epoch",
        quick.gain(GWS, where="alike"),
        paper["one epoch", "alike"][GWS],
        aside=True,
    )
    there = sides["uneven"][2:5] == [1, -1, -1]
    holds = sides["alike"][:5] == [1, 1, 1, 1, 1] and there
    how = {"unit": UNIT, "folded": "points"}
    return {"rows": [*rows, brief, *asides], "holds": holds, **how}


def _falls_behind(found: Comparison, arm: str) -> bool:
    """Whether it is clearly behind FedAvg in its worst round, among the alike."""
    more = ahead(found, arm, "alike")
    return side(more[:, more.mean(axis=0).argmin()]) == -1

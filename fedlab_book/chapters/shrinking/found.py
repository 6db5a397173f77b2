"""Findings and pictures of chapter 5: a factor by hand, taken apart, and learned."""

from collections.abc import Sequence

import numpy as np

from fedlab_book.bench import Comparison, side
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, course, scatter

PLACES = ("alike", "uneven")
FIXED, DECAY = "γ = 0.93", "weight decay"
SURE, SHORT, SMALL = "only less sure", "still sure", "steps as small"
LAW, FINE, ELEVENTH = "FedLAW", "Server-FT", "an eleventh clinic"
FACTOR = "FedLAW, shares fixed"
UNIT = "points over FedAvg"
COLOURS = {"FedAvg": "FedAvg", FIXED: "red", SURE: "green", SHORT: "orange"}
_RUIN = -5.0  # points, and below
LAYERS = 3  # by which a factor is multiplied on its way to the outputs
_NEAR = 0.05  # of a factor of about one
_EARLY = 4  # rounds
_FRAME = (-8, 6)  # of points: what is ruined leaves it

ONE_EPOCH = {  # guesses of what a factor does there, and what is told to each
    "It gains as much: a factor is a factor": "A round's training was just enough to "
    "bear the factor. One epoch is not.",
    "It gains less, or nothing": "It is worse than that: what one epoch adds, the "
    "factor takes away, round after round.",
    "It ruins the network": "What one epoch adds, the factor takes away, round after "
    "round.",
}
WHICH = {  # guesses of what brings the gain, and what is told to each
    "“Still sure”: a short network is the better one": "Shortened, and still sure, it "
    "breaks; “only less sure” gains.",
    "“Only less sure”": "Less sure, every image keeps moving the network.",
    "Neither: it takes both together": "Then each alone would be level with FedAvg, or "
    "behind; “only less sure” gains alone.",
}


def by_hand(found: Comparison, brief: Comparison) -> Facts:
    """Whether a factor gains where clinics are alike, and loses in two other places.

    That is where they are uneven, and, in `brief`, with one epoch in a round: there
    the network loses more than half of its length, and keeps it with five.
    """
    gains = {f"{FIXED}, {w}": found.gain(FIXED, where=w) for w in PLACES}
    gains[f"{FIXED}, alike, one epoch"] = brief.gain(FIXED)
    early = [100 * found.curves("FedAvg", w)[:, :_EARLY][:, -1].mean() for w in PLACES]
    each = " and ".join(f"{mean:.0f} %" for mean in early)
    told = f"{level(found)[:-1]}; after four rounds {each}. "
    told += f"With one epoch: {brief.scores('FedAvg').mean():.0f} %."
    long, kept = (
        r.curves(FIXED, "alike", "length").mean(axis=0) for r in (brief, found)
    )
    holds = 2 * long[-1] < long[0] and kept[-1] > kept[0]
    rows = [
        Row(name, v, sign=1 if name == f"{FIXED}, alike" else -1)
        for name, v in gains.items()
    ]
    return _facts(rows, holds=bool(holds), note=told)


def after_one_epoch(brief: Comparison) -> str:
    """The guess that the runs with one epoch bear out."""
    same, less, ruined = ONE_EPOCH
    if _ruined(brief.gain(FIXED)):
        return ruined
    return same if side(brief.gain(FIXED)) == 1 else less


def apart(found: Comparison) -> Facts:
    """Whether to be less sure gains, and more than small steps; to be short ruins."""
    signs = {SURE: 1, SMALL: None, FIXED: 1}
    rows = [Row(a, found.gain(a, where="alike"), sign=s) for a, s in signs.items()]
    for arm, over, sign in ((SURE, SMALL, 1), (FIXED, SURE, None)):
        more = found.gain(arm, over, "alike")
        rows.append(Row(f"{arm} minus {over}", more, sign=sign))
    broken = _ruined(found.gain(SHORT, where="alike"))
    lost = sum(history.diverged for history in found.of(SHORT, "alike"))
    note = f"“{SHORT.capitalize()}”: {lost} of {len(rows[0].values)} runs diverged."
    return _facts(rows, holds=broken, note=note)


def which(found: Comparison) -> str:
    """The guess that the runs bear out: what gains alone, where clinics are alike."""
    short, sure, neither = WHICH
    if side(found.gain(SURE, where="alike")) == 1:
        return sure
    return short if side(found.gain(SHORT, where="alike")) == 1 else neither


def by_heart(found: Comparison) -> bool:
    """Whether FedAvg's network knows all own images, and half of new ones, at the end.

    And whether less sure networks know fewer of the own ones.
    """
    own = found.ends("FedAvg", "alike", "known")
    new = found.ends("FedAvg", "alike")
    less = [found.ends(arm, "alike", "known") - own for arm in (FIXED, SURE)]
    half = 0.4 < new.mean() < 0.6
    return bool(own.mean() > 0.98 and half and all(side(v) == -1 for v in less))


def four_cells(found: Comparison) -> tuple[Panel, Panel]:
    """Points over FedAvg, and what a network knows of the clinics' own images."""
    whole = found.curves("FedAvg", "alike").shape[1]
    base = _padded(found, "FedAvg", "accuracy", whole)
    arms = (FIXED, SURE, SHORT)
    more = {a: 100 * (_padded(found, a, "accuracy", whole) - base) for a in arms}
    own = {a: 100 * _padded(found, a, "known", whole) for a in (*arms, "FedAvg")}
    colours = {arm: COLOURS[arm] for arm in arms}
    return (
        course(more, label=UNIT, zero=True, ylim=_FRAME, colours=colours),
        course(own, label="own images, % right", ylim=(0, 104), colours=COLOURS),
    )


def learned(found: Comparison) -> tuple[Panel, Panel]:
    """The learned factor by round; and beside the best temperature's root."""
    gamma = {w: found.curves(LAW, w, "gamma") for w in PLACES}
    root = {w: found.curves(LAW, w, "temper") ** (1 / LAYERS) for w in PLACES}
    points = {w: (root[w], gamma[w]) for w in PLACES}
    colours = {"alike": "blue", "uneven": "magenta"}
    return (
        course(
            gamma, label="learned factor γ", levels={"": 1.0}, digits=2, colours=colours
        ),
        scatter(points, xlabel="∛β", ylabel="γ", line="same", colours=colours),
    )


def falls(found: Comparison, least: float = 0.93) -> bool:
    """Whether the learned factor begins above one and ends between that and `least`.

    In both places. The best temperature's root begins and ends on the same sides of
    one, and lies near it on average over the rounds.
    """
    sides, off = [], []
    for where in PLACES:
        gamma = found.curves(LAW, where, "gamma") - 1
        root = found.curves(LAW, where, "temper") ** (1 / LAYERS)
        off.append(float(np.abs(gamma + 1 - root).mean()))
        for one in (gamma, root - 1):
            ends = one[:, -found.last :].mean(axis=1)
            sides.append((side(one[:, 0]), side(ends)))
        ends = gamma[:, -found.last :].mean(axis=1)
        sides.append((1, -side(ends + 1 - least)))
    return sides == [(1, -1)] * 6 and max(off) < _NEAR


def worth(found: Comparison) -> Facts:
    """Whether FedLAW gains among the alike, more than its images otherwise.

    Its factor alone gains there, too, and weight decay. Among the uneven the decay
    loses, one clinic more gains, and of FedLAW nothing can be told.
    """
    rows = [
        Row(f"{arm}, alike", found.gain(arm, where="alike"), sign=1)
        for arm in (LAW, FACTOR, DECAY)
    ]
    for other in (ELEVENTH, FINE):
        more = found.gain(LAW, other, "alike")
        rows.append(Row(f"{LAW} minus {other}, alike", more, sign=1))
    uneven = {LAW: 0, FACTOR: 0, ELEVENTH: 1, FINE: None, DECAY: -1}
    for arm, sign in uneven.items():
        gain = found.gain(arm, where="uneven")
        rows.append(Row(f"{arm}, uneven", gain, sign=sign))
    return _facts(rows, note=level(found))


def level(found: Comparison) -> str:
    """Accuracy of FedAvg itself in each place, in words."""
    each = (f"{found.scores('FedAvg', w).mean():.0f} % ({w})" for w in PLACES)
    return f"FedAvg itself: {', '.join(each)}."


def _facts(rows: Sequence[Row], *, holds: bool = True, note: str = "") -> Facts:
    return {"rows": rows, "holds": holds, "unit": UNIT, "note": note}


def _ruined(gains: np.ndarray) -> bool:
    """Whether every seed diverged, or ended that far behind."""
    return all(not np.isfinite(gain) or gain < _RUIN for gain in gains)


def _padded(found: Comparison, arm: str, what: str, whole: int) -> np.ndarray:
    """(seeds, rounds) of a column among the alike; nothing after a run diverged."""
    rows = [[row.get(what, np.nan) for row in h.rows] for h in found.of(arm, "alike")]
    seen = np.array([row + [np.nan] * (whole - len(row)) for row in rows])
    return np.where(np.isfinite(seen), seen, np.nan)

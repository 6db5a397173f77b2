"""Findings of chapter 6: which pull helps, where, and what is not the reason."""

from collections.abc import Sequence

import numpy as np

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.features.arms import ALIKE, APART, EACH, HARDER, SURE, ZERO
from fedlab_book.findings import Facts, Row

HEALS = {  # guesses of what becomes of the disagreement, and what is told to each
    "It grows: everyone learns their own letters better and better": "They do, but a "
    "round begins from one common model, and that is worth more and more.",
    "It stays: in every round they train apart for as long": "For as long, but not as "
    "far: there is less left to change.",
    "It falls, with nobody pulling": "Every round all leave from one model, again.",
}
PULLS = {  # guesses of who ends highest where two of ten take part
    "Pulled to each other: only they are told of the others": "It gains less than the "
    "pull to zero does.",
    "Pulled to zero: nobody is told anything": "So one can gain without agreement.",
    "Neither differs from FedAvg": "The pull to zero does, clearly.",
}


def heals(found: Comparison) -> str:
    """The guess that the runs bear out, where clinics hold two letters each."""
    looks = found.curves("FedAvg", APART, "looks")
    grows, stays, falls = HEALS
    return {1: grows, 0: stays, -1: falls}[side(looks[:, -1] - looks[:, 0])]


def best_pull(few: Comparison) -> str:
    """The guess that the runs bear out, where two of ten take part."""
    each, zero, neither = PULLS
    ahead = few.gain(ZERO, EACH, APART)
    if side(few.gain(ZERO, where=APART)) == 1 and side(ahead) == 1:
        return zero
    return each if side(few.gain(EACH, where=APART)) == 1 else neither


def looking(found: Comparison) -> dict[str, np.ndarray]:
    """Percent of the variance that is who looks, round by round."""
    return {w: 100 * found.curves("FedAvg", w, "looks") for w in (APART, ALIKE)}


def all_take_part(found: Comparison) -> Facts:
    """Whether the pull to zero is more accurate than the other, and yet agrees less.

    The harder pull to each other leaves features that vary about as little.
    """
    rows = [Row(HARDER, found.gain(HARDER, where=APART), sign=-1)]
    rows.append(Row(ZERO, found.gain(ZERO, where=APART), within=_LITTLE))
    rows.append(Row(f"{ZERO} minus harder", found.gain(ZERO, HARDER, APART), sign=1))
    words = ("more", "less")
    for arm, sign in ((HARDER, -1), (ZERO, 1)):
        looks = _end(found, arm, "looks")
        rows.append(Row(f"disagreement, {arm}", looks, words=words, sign=sign))
    vary = {arm: _ratio(found, arm, "vary") for arm in (HARDER, ZERO)}
    told = ", ".join(f"{arm} {100 * v:.0f} %" for arm, v in vary.items())
    return {"rows": rows, "note": f"{_NOTE} Features vary, of FedAvg's: {told}."}


def few_take_part(few: Comparison, rates: Sequence[float]) -> Facts:
    """Whether the pull to zero gains where few take part, and more than the other.

    The other step sizes of FedAvg are no better.
    """
    rows = [Row(ZERO, few.gain(ZERO, where=APART), sign=1)]
    for arm in (EACH, HARDER):
        rows.append(Row(arm, few.gain(arm, where=APART), within=_LITTLE))
    for arm in (EACH, HARDER):
        rows.append(Row(f"{ZERO} minus {arm}", few.gain(ZERO, arm, APART), sign=1))
    paces = [Row(rate(lr), few.gain(rate(lr), where=APART)) for lr in rates]
    none_better = all(side(row.values) < 1 for row in paces)
    return {"rows": rows + paces, "holds": none_better, "note": _NOTE}


def reason(few: Comparison) -> Facts:
    """Whether the gain is of letters that nobody present holds, and not of sureness."""
    sure = Row(SURE, few.gain(SURE, where=APART), sign=-1)
    held, within = _end(few, ZERO, "present"), _LITTLE
    here = Row(f"{ZERO}, letters that are held", held, within=within)
    gone = Row(f"{ZERO}, letters that are not", _end(few, ZERO, "missing"), sign=1)
    height = {arm: few.ends(arm, APART, "sure").mean() for arm in ("FedAvg", ZERO)}
    told = ", ".join(f"{arm} {100 * v:.0f} %" for arm, v in height.items())
    return {
        "rows": [sure, here, gone],
        "holds": side(here.values) < 1 and _ratio(few, SURE, "vary") > 1,
        "note": f"Over FedAvg. Probability of the answer, on average: {told}. Features "
        f"of {SURE} vary {_ratio(few, SURE, 'vary'):.0f} times as much as FedAvg's.",
    }


def rate(lr: float) -> str:
    """Name of FedAvg with another step size."""
    return f"FedAvg, step size {lr:g}"


_LITTLE = 1.0  # points
_NOTE = "Over FedAvg, unless it says minus."


def _end(found: Comparison, arm: str, what: str) -> np.ndarray:
    """Points that an arm has more than FedAvg, over the rounds that have a number."""
    mine, theirs = (found.curves(a, APART, what) for a in (arm, "FedAvg"))
    return 100 * np.nanmean((mine - theirs)[:, -found.last :], axis=1)


def _ratio(found: Comparison, arm: str, what: str) -> float:
    mine, theirs = (found.ends(a, APART, what).mean() for a in (arm, "FedAvg"))
    return float(mine / theirs)

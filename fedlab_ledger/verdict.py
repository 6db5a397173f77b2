"""What a number of ours says about the paper's: the rule, in one place.

Fixed before anything is run, with each cell's tolerance:

- "not attempted": no number, only tiny ones, or too few to say anything;
- "reproduced": at the paper's scale, 3 seeds or more, their mean within the tolerance;
- "better than paper": the same, but every seed is better by more than the tolerance;
- "trend only": who is ahead of whom holds, but the size does not, or the scale is
  reduced, or there are fewer than 3 seeds; or the mean is too far off while some seed
  is not;
- "not reproduced": 3 seeds or more, and neither the size nor the trend holds.

A trend, "A beats B", is a difference paired by seed. It holds if it has the paper's
sign in every seed, or if its 95 % t interval lies on that side of zero; it is
reproduced only if the interval does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedlab_core.arguments import Measured, NotNegative, checked
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval

REPRODUCED = "reproduced"
TREND = "trend only"
NOT = "not reproduced"
BETTER = "better than paper"
NONE = "not attempted"
WORDS = (REPRODUCED, BETTER, TREND, NOT, NONE)
SEEDS = 3
_ROUNDING = 1e-9

Seeds = Mapping[int, float | None]  # one number a seed; None where a run has none


@checked
@dataclass(frozen=True)
class Verdict:
    """One of `WORDS`, and why; `mean` and `half` of the 95 % interval of n seeds."""

    word: str
    why: str
    mean: Measured = float("nan")
    half: Measured = float("nan")
    n: int = 0


def _numbers(values: Seeds) -> np.ndarray:
    return np.array([v for _, v in sorted(values.items()) if v is not None], float)


def _sum_up(x: np.ndarray) -> tuple[float, float, int]:
    if len(x) == 0:
        return float("nan"), float("nan"), 0
    mean, half = mean_interval(x)
    return float(mean), float(half), len(x)


def _many(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


@checked
def judge_gain(
    mine: Seeds,
    theirs: Seeds,
    paper_gain: float | None,
    tolerance: NotNegative,
    *,
    scale: str = "paper",
    sign: Literal[-1, 0, 1] | None = None,
) -> Verdict:
    """Whether A beats B as the paper says, by seeds that both were played with.

    `paper_gain` is the paper's A - B: with a sign, that is to be found; with 0, a tie,
    no difference beyond the tolerance. Without a number, `sign` says what is claimed.
    """
    require(paper_gain is not None or sign is not None, "a gain, or at least its sign")
    both = [k for k in mine if k in theirs]
    pairs = {k: (mine[k], theirs[k]) for k in both}
    x = _numbers(
        {k: a - b for k, (a, b) in pairs.items() if not (a is None or b is None)}
    )
    mean, half, n = _sum_up(x)
    if n == 0 or scale == "tiny":
        return Verdict(NONE, "no seed that both were played with", mean, half, n)
    side = float(np.sign(paper_gain)) if paper_gain is not None else float(sign or 0)
    said = f"{mean:+.3g} ± {half:.2g}, {_many(n)}" if n > 1 else f"{mean:+.3g}, 1 seed"
    clear = n > 1 and side * mean - half > _ROUNDING
    holds = clear or bool((side * x > _ROUNDING).all())
    if side == 0:
        holds = clear = abs(mean) <= tolerance + _ROUNDING
    if not holds:
        few = n < SEEDS
        return Verdict(NONE if few else NOT, f"no such trend: {said}", mean, half, n)
    if n < SEEDS or scale != "paper" or not clear or paper_gain is None:
        return Verdict(TREND, f"the trend holds: {said}", mean, half, n)
    off = side * (mean - paper_gain) if side else 0.0
    if abs(off) <= tolerance + _ROUNDING:
        return Verdict(REPRODUCED, f"the gain is the paper's: {said}", mean, half, n)
    word = BETTER if off > 0 else TREND
    size = "larger" if off > 0 else "smaller"
    return Verdict(word, f"the gain is {size} than the paper's: {said}", mean, half, n)


@checked
def judge(
    values: Seeds,
    paper: float | None,
    tolerance: NotNegative,
    *,
    scale: str = "paper",
    better: Literal["high", "low"] = "high",
    over: Seeds | None = None,
    paper_over: float | None = None,
) -> Verdict:
    """What a cell's numbers say about the paper's number.

    `over` and `paper_over` are those of the cell that it is shown beside, if any.
    """
    x = _numbers(values)
    mean, half, n = _sum_up(x)

    def said(word: str, why: str) -> Verdict:
        return Verdict(word, why, mean, half, n)

    if n == 0:
        return said(NONE, "no run has this number" if values else "not run yet")
    if scale == "tiny":
        return said(NONE, "tiny runs show that it works, nothing else")
    if paper is None:
        return said(NONE, "the paper gives no number")
    trend = None
    if over is not None and paper_over is not None:
        gain = paper - paper_over
        trend = judge_gain(values, over, gain, tolerance, scale=scale)
    if scale != "paper":
        if trend is None:
            return said(NONE, "a reduced scale says nothing about this number alone")
        return said(trend.word, trend.why)
    return said(*_at_full_scale(x, paper, tolerance, better, trend))


def _at_full_scale(
    x: np.ndarray, paper: float, tolerance: float, better: str, trend: Verdict | None
) -> tuple[str, str]:
    up = 1 if better == "high" else -1
    off, n = up * (x - paper), len(x)
    ahead = trend is not None and trend.word in (REPRODUCED, BETTER, TREND)
    limit = tolerance + _ROUNDING
    near = abs(off.mean()) <= limit
    if n < SEEDS:
        if near or ahead:
            return (
                TREND,
                f"{'the size fits' if near else 'the trend holds'}, {_many(n)}",
            )
        return NONE, f"{_many(n)}: too few to deny it"
    if near:
        return REPRODUCED, f"within {tolerance:g} of the paper's {paper:g}"
    if (off > limit).all():
        return BETTER, f"every seed is better than {paper:g} by more than {tolerance:g}"
    if ahead:
        assert trend is not None
        return TREND, f"off by {up * off.mean():+.3g}, but {trend.why}"
    if (off < -limit).all() or trend is not None:
        return NOT, f"off by {up * off.mean():+.3g}, tolerance {tolerance:g}"
    return TREND, f"off by {up * off.mean():+.3g}, but not in every seed"

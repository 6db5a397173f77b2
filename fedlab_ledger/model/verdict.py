"""Verdicts: the rule by which our numbers are held against a paper's, in one place.

A claim says that one setting does better than another, worse, or as well. Each seed
plays both; what is judged is the mean of the seeds' differences with its 95 % t
interval. The claim's tolerance, and the seeds, are fixed without looking at results: 0
to 7 at the small scale, as far as they were played; all that there are, three at least,
at the paper's. The rule itself replaced a first reading, by signs alone, when many runs
were stored already.

- "matches the paper": at the paper's own scale, the interval lies on the claimed side
  of zero, and the size fits: the mean is within the tolerance of the paper's
  difference, and the interval at most two tolerances to either side;
- "same direction": the interval lies on the claimed side of zero;
- "undecided": the interval contains zero, or there are fewer than three seeds; then it
  is said which difference would have been seen, four times in five;
- "differs": the interval contains zero, and at the paper's own scale it leaves the
  paper's difference out, with the tolerance on both sides;
- "opposite": the interval lies on the other side of zero;
- "as good as": of a claim of no difference, the whole interval is within the tolerance
  on both sides of zero; it is "opposite" if the whole interval is outside. Two forms of
  one method are alike wherever the method does nothing: of them it is said only where
  the method does something, where the interval of its gain leaves out zero.

Where the training that a method is compared with diverged in any seed, there is no
verdict: a broken baseline says nothing of the method.

On other data, or with another network or fewer rounds than the paper's, a word is about
that stand-in, and it is said so: a stand-in cannot match the paper, nor fail to.

A number alone is judged at the paper's scale only: it "matches the paper" if its size
fits, by three seeds or more; it "differs" if its interval, with the tolerance on both
sides, leaves the paper's number out; else it is undecided. On a stand-in, or where the
paper prints no number, it has no verdict.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from fedlab_core.arguments import Measured, NotNegative, Whole, checked
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval

Word = Literal[
    "matches the paper", "same direction", "undecided", "opposite", "as good as",
    "differs", "no verdict", "not run",
]  # fmt: skip
WORDS: tuple[Word, ...] = get_args(Word)
MATCHES, SAME, UNDECIDED, OPPOSITE, AS_GOOD, DIFFERS, NO_VERDICT, NONE = WORDS
LEAST = 3  # seeds, for any other word than "undecided"
CHANCE = 0.025  # how often no difference at all looks like one, to either side
_ROUNDING = 1e-9

Seeds = Mapping[int, float | None]  # one number a seed; None where a run has none
Sign = Literal[-1, 0, 1]


@checked
@dataclass(frozen=True)
class Verdict:
    """A word, and why; `mean` and `half` of the 95 % interval of n seeds.

    `lost` seeds gave no number: they diverged, or never came as far as was asked.
    `seen` is the difference that would have been seen four times in five.
    """

    word: Word
    why: str
    mean: Measured = float("nan")
    half: Measured = float("nan")
    n: Whole = 0
    lost: Whole = 0
    seen: Measured = float("nan")


def counting(scale: str, found: Mapping[int, object]) -> list[int]:
    """Seeds that count at that scale, of those that were played."""
    return [seed for seed in sorted(found) if scale == "paper" or seed < 8]


def clear_side(mean: float, half: float, n: int) -> Sign:
    """Return 1 if an interval of n seeds lies above zero, -1 if below, or else 0."""
    if n < LEAST or not abs(mean) - half > _ROUNDING:
        return 0
    return 1 if mean > 0 else -1


@checked
def judge_gain(
    mine: Seeds,
    theirs: Seeds,
    paper_gain: float | None,
    tolerance: NotNegative,
    *,
    sign: Sign | None = None,
    own_scale: bool = True,
    broken: Whole = 0,
    whose: str = "the paper",
) -> Verdict:
    """Verdict on the paper's A - B, by the seeds that played both A and B.

    `sign` is the claimed one, if not that of the paper's number; `own_scale` is whether
    this is the paper's own data, network and length. In `broken` of the seeds B
    diverged. `whose` number the paper's gain is, in words.
    """
    require(paper_gain is not None or sign is not None, "a gain, or at least its sign")
    side = int(np.sign(paper_gain or 0)) if sign is None else sign
    both = sorted(mine.keys() & theirs.keys())
    x = _numbers({k: _less(mine[k], theirs[k]) for k in both})
    if not both:
        return Verdict(NONE, "no seed has played both sides yet")
    mean, half, seen = _sum_up(x)
    found = _found(x, mean, half, len(both) - len(x))

    def said(word: Word, why: str) -> Verdict:
        lost = len(both) - len(x)
        return Verdict(word, f"{why}: {found}", mean, half, len(x), lost, seen)

    if broken:
        many = f"{broken} of {len(both)} seeds"
        return said(NO_VERDICT, f"what it is compared with diverged in {many}")
    if len(x) < LEAST:
        return said(UNDECIDED, f"fewer than {LEAST} seeds decide nothing")
    if side == 0:
        word, why = _tie(mean, half, tolerance, seen)
        return said(word, why)
    towards = side * clear_side(mean, half, len(x))
    if towards < 0:
        return said(OPPOSITE, "the other way round")
    if towards == 0:
        if half <= _ROUNDING:
            return said(UNDECIDED, "the two are the same in every seed")
        why = f"a difference of {seen:.2g} would have been seen"
        there = paper_gain if own_scale else None
        if there is None or abs(mean - there) - half <= tolerance + _ROUNDING:
            return said(UNDECIDED, why)
        return said(DIFFERS, f"{why}, and {whose}'s {there:+.3g} was not")
    if not own_scale or paper_gain is None:
        return said(SAME, "the difference has the claimed sign")
    off = side * (mean - paper_gain)
    theirs_ = f"{whose}'s {paper_gain:+.3g}"
    if _fits(off, half, tolerance):
        return said(MATCHES, f"within {tolerance:g} of {theirs_}")
    if abs(off) <= tolerance + _ROUNDING:
        return said(SAME, f"too uncertain for its size, {theirs_}")
    return said(SAME, f"{'larger' if off > 0 else 'smaller'} than {theirs_}")


def judge_forms(verdict: Verdict, method: Seeds, without: Seeds) -> Verdict:
    """Verdict on two forms of a method, given what the method itself does here.

    They can only be "as good as" each other where something is at stake: where the
    seeds tell the method from the same training without it.
    """
    if verdict.word != AS_GOOD:
        return verdict
    at_stake = judge_gain(method, without, None, 0.0, sign=1, own_scale=False)
    if at_stake.word in (SAME, OPPOSITE):
        return verdict
    why = "the method itself does nothing here that could be told"
    if at_stake.word == NONE:
        why = "whether the method itself does anything here was not run"
    return replace(verdict, word=UNDECIDED, why=f"{verdict.why}; but {why}")


@checked
def judge(
    values: Seeds,
    paper: float | None,
    tolerance: NotNegative,
    *,
    own_scale: bool = True,
    whose: str = "the paper",
) -> Verdict:
    """Verdict on the paper's number, or that of `whose` it is, by numbers of ours."""
    x = _numbers(values)
    if not values:
        return Verdict(NONE, "not run yet")
    mean, half, _ = _sum_up(x)
    found = _found(x, mean, half, len(values) - len(x), sign="")
    off = math.nan if paper is None else abs(mean - paper)
    if paper is None:
        word, why = NO_VERDICT, "no number of the paper's is at hand"
    elif not own_scale:
        word, why = NO_VERDICT, "a stand-in's number says nothing of the paper's"
    elif len(x) < LEAST:
        word, why = UNDECIDED, f"fewer than {LEAST} seeds decide nothing"
    elif _fits(off, half, tolerance):
        word, why = MATCHES, f"within {tolerance:g} of {whose}'s {paper:g}"
    elif off - half > tolerance + _ROUNDING:
        word, why = DIFFERS, f"{mean - paper:+.3g} from {whose}'s {paper:g}"
    else:
        word, why = UNDECIDED, f"it may be within {tolerance:g} of {paper:g} or not"
    return Verdict(word, f"{why}: {found}", mean, half, len(x), len(values) - len(x))


def two_groups(x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The upper and the lower seeds, where they lie far apart; else nothing.

    Two or more each, ten times as far from each other as within: their mean is then
    nobody's number, and what happened is that some seeds did one thing, some another.
    """
    down = -np.sort(-x)
    gaps = down[:-1] - down[1:]
    at = int(gaps.argmax()) + 1 if len(gaps) else 0
    upper, lower = down[:at], down[at:]
    if min(len(upper), len(lower)) < 2:
        return None
    within = max(float(np.ptp(upper)), float(np.ptp(lower)))
    return (upper, lower) if 0 < 10 * within < gaps.max() else None


def _tie(mean: float, half: float, limit: float, seen: float) -> tuple[Word, str]:
    """The word for a claim of no difference: a test of equivalence."""
    if abs(mean) + half <= limit + _ROUNDING:
        return AS_GOOD, f"within {limit:g} either way"
    if abs(mean) - half > limit + _ROUNDING:
        return OPPOSITE, f"they differ by more than {limit:g}"
    return UNDECIDED, f"neither within {limit:g} nor clearly outside"


def _fits(off: float, half: float, tolerance: float) -> bool:
    """Whether a size is the paper's, and known well enough to say so."""
    return abs(off) <= tolerance + _ROUNDING and half <= 2 * tolerance + _ROUNDING


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _numbers(values: Seeds) -> np.ndarray:
    return np.array([v for _, v in sorted(values.items()) if v is not None], float)


def _sum_up(x: np.ndarray) -> tuple[float, float, float]:
    """Mean, half the interval, and the mean that would have been clear of zero."""
    if len(x) == 0:
        return math.nan, math.nan, math.nan
    mean, half = (float(v) for v in mean_interval(x))
    n = len(x)
    more = stdtrit(n - 1, 0.8) / stdtrit(n - 1, 0.975) if n > 1 else math.nan
    return mean, half, half * (1 + float(more))


def _found(x: np.ndarray, mean: float, half: float, lost: int, sign: str = "+") -> str:
    """The numbers in words: +1.2 ± 0.4, 7 seeds, 1 without a number."""
    n = len(x)
    many = "1 seed" if n == 1 else f"{n} seeds"
    without = f", {lost} without a number" if lost else ""
    if n == 0:
        return f"none of {lost} seeds has a number"
    width = f" ± {half:.2g}" if n > 1 else ""
    apart = two_groups(x)
    each = ", ".join(f"{len(v)} at {v.mean():{sign}.3g}" for v in apart or ())
    return f"{mean:{sign}.3g}{width}, {many}{without}{f': {each}' * bool(each)}"

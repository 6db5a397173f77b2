"""The rule of verdicts, on numbers made up for it.

Three seeds m - 1, m, m + 1 have mean m and deviation 1: the half width of the 95 %
interval is t(.975, 2) / sqrt(3) = 4.3027 / 1.7321 = 2.484.
"""

import math

import pytest

from fedlab_ledger.verdict import (
    BETTER,
    NONE,
    NOT,
    REPRODUCED,
    TREND,
    WORDS,
    judge_gain,
)
from fedlab_ledger.verdict import judge as judged


def seeds(*values):
    return dict(enumerate(values))


def judge(values, paper, tolerance=1.0, **more):
    return judged(seeds(*values), paper, tolerance, **more)


NUMBERS = {
    # ours, the paper's, and what that is at its scale
    "the same": ((70, 70, 70), 70, REPRODUCED),
    "within": ((69, 69.5, 70), 70, REPRODUCED),
    "at the limit": ((69, 69, 69), 70, REPRODUCED),
    "a wide spread around it": ((60, 70, 80), 70, REPRODUCED),
    "just outside, all seeds": ((68.9, 68.9, 68.9), 70, NOT),
    "all below": ((60, 61, 62), 70, NOT),
    "all above": ((80, 81, 82), 70, BETTER),
    "just above, all seeds": ((71.1, 71.2, 71.1), 70, BETTER),
    "off, but one seed is not": ((60, 61, 70), 70, TREND),
    "above, but one seed is not": ((80, 81, 70.5), 70, TREND),
    "one seed, and it fits": ((70,), 70, TREND),
    "one seed, far off": ((60,), 70, NONE),
    "two seeds that fit": ((70, 70), 70, TREND),
    "two seeds, far above": ((80, 80), 70, NONE),
    "no seed": ((), 70, NONE),
    "diverged": ((None, None, None), 70, NONE),
    "one of four diverged": ((70, None, 70, 70), 70, REPRODUCED),
    "two of four diverged": ((70, None, 70, None), 70, TREND),
    "the paper has none": ((70, 70, 70), None, NONE),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_alone(case):
    values, paper, word = NUMBERS[case]
    verdict = judge(values, paper)
    assert verdict.word == word and verdict.word in WORDS and verdict.why
    assert verdict.n == sum(v is not None for v in values)


def test_where_low_is_better_better_is_lower():
    assert judge((10, 11, 12), 20, better="low").word == BETTER
    assert judge((30, 31, 32), 20, better="low").word == NOT


@pytest.mark.parametrize("values", [(70, 70, 70), (10, 10, 10), (90, 91, 92), (70,)])
def test_a_reduced_scale_is_never_more_than_a_trend(values):
    over = seeds(*(v - 2 for v in values))
    for scale in ("tiny", "small"):
        alone = judge(values, 70, scale=scale)
        beside = judge(values, 70, scale=scale, over=over, paper_over=68)
        assert alone.word == NONE
        assert beside.word == (NONE if scale == "tiny" else TREND)


def test_the_trend_is_looked_at_where_the_size_is_off():
    """Ours 60, 61, 62 against the paper's 70; beside it 58 against the paper's 68."""
    off = judge((60, 61, 62), 70, over=seeds(58, 58.5, 59), paper_over=68)
    assert off.word == TREND and "off by -9, but the gain is" in off.why
    turned = judge((60, 61, 62), 70, over=seeds(64, 65, 66), paper_over=68)
    assert turned.word == NOT
    near = judge((69.5, 70, 70.5), 70, over=seeds(71, 72, 73), paper_over=68)
    assert near.word == REPRODUCED  # the number is; that of its neighbour is not


def test_the_interval_is_that_of_student():
    verdict = judge((69, 70, 71), 70)
    assert verdict.mean == 70 and verdict.half == pytest.approx(2.484, abs=1e-3)
    assert math.isnan(judge((70,), 70).half)


GAINS = {
    # A, B, the paper's A - B, and what that is at its scale
    "as large": ((12, 13, 14), (10, 11, 12), 2, REPRODUCED),
    "within": ((12.5, 13, 13.5), (10, 11, 12), 2.5, REPRODUCED),
    "larger": ((15, 16, 17), (10, 11, 12), 2, BETTER),
    "smaller": ((12, 13, 14), (10, 11, 12), 9, TREND),
    "none, of a gain": ((10, 11, 12), (10, 11, 12), 2, NOT),
    "a loss, of a gain": ((8, 9, 10), (10, 11, 12), 2, NOT),
    "a loss, as the paper says": ((8, 9, 10), (10, 11, 12), -2, REPRODUCED),
    "a larger loss than the paper's": ((5, 6, 7), (10, 11, 12), -2, BETTER),
    "a smaller loss than the paper's": ((7, 8, 9), (10, 11, 12), -9, TREND),
    "a gain, of a loss": ((12, 13, 14), (10, 11, 12), -2, NOT),
    # differences 1, 2, 3: 2 ± 2.484, but every one of them is above 0
    "ahead in every seed, but not clearly": ((11, 13, 15), (10, 11, 12), 2, TREND),
    # differences -1, 2, 5: 2 ± 7.45
    "ahead in most seeds": ((9, 13, 17), (10, 11, 12), 2, NOT),
    # 20 differences of 2, one of -1: clear of zero, though not in every seed
    "ahead, but for one of many": ((12,) * 20 + (9,), (10,) * 21, 2, REPRODUCED),
    "a tie, as the paper says": ((10, 11, 12.5), (10, 11, 12), 0, REPRODUCED),
    "no tie": ((15, 16, 17), (10, 11, 12), 0, NOT),
    "one seed ahead": ((12,), (10,), 2, TREND),
    "one seed behind": ((8,), (10,), 2, NONE),
    "two seeds ahead": ((12, 13), (10, 11), 2, TREND),
    "nobody": ((), (10, 11, 12), 2, NONE),
    "a run that diverged": ((12, None, 14, 13), (10, 11, None, 11), 2, TREND),
}


@pytest.mark.parametrize("case", GAINS)
def test_who_beats_whom(case):
    mine, theirs, paper, word = GAINS[case]
    verdict = judge_gain(seeds(*mine), seeds(*theirs), paper, 1.0)
    assert verdict.word == word, verdict


def test_gains_are_paired_by_seed():
    """The seeds differ by 20, the methods by 2 in each: clear only in pairs."""
    a, b = seeds(12, 32, 52), seeds(10, 30, 50)
    assert judge_gain(a, b, 2, 1.0).word == REPRODUCED
    assert judge_gain(a, b, 2, 1.0).half == pytest.approx(0, abs=1e-9)
    other = {seed + 10: v for seed, v in b.items()}
    verdict = judge_gain(a, other, 2, 1.0)
    assert verdict.word == NONE and verdict.n == 0
    some = judge_gain(a, {0: 10.0, 7: 99.0}, 2, 1.0)
    assert (some.word, some.n, some.mean) == (TREND, 1, 2)


def test_a_claim_without_a_number_is_a_trend_at_most():
    a, b = seeds(12, 13, 14), seeds(10, 11, 12)
    assert judge_gain(a, b, None, 1.0, sign=1).word == TREND
    assert judge_gain(a, b, None, 1.0, sign=-1).word == NOT
    assert judge_gain(a, b, 2, 1.0, scale="small").word == TREND
    assert judge_gain(a, b, 2, 1.0, scale="tiny").word == NONE
    with pytest.raises(ValueError, match="at least its sign"):
        judge_gain(a, b, None, 1.0)


def test_no_difference_can_be_a_claim_without_a_number():
    """Within the tolerance it holds, a clear lead of either does not."""
    a = seeds(61.0, 61.2, 60.8)
    level = judge_gain(a, seeds(61.2, 60.8, 61.1), None, 1.0, sign=0)
    assert level.word == TREND
    for far in (seeds(65.0, 65.1, 64.9), seeds(57.0, 57.1, 56.9)):
        assert judge_gain(a, far, None, 1.0, sign=0).word == NOT

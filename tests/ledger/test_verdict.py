"""The rule of verdicts, on numbers made up for it.

Three seeds m - 1, m, m + 1 have mean m and deviation 1: the half width of the 95 %
interval is t(.975, 2) / sqrt(3) = 4.3027 / 1.7321 = 2.484.
"""

import math

import numpy as np
import pytest

from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
    NO_VERDICT,
    NONE,
    OPPOSITE,
    SAME,
    UNDECIDED,
    counting,
    judge_gain,
    two_groups,
)
from fedlab_ledger.model.verdict import judge as judged


def seeds(*values):
    return dict(enumerate(values))


def judge(values, paper, tolerance=1.0, **more):
    return judged(seeds(*values), paper, tolerance, **more)


NUMBERS = {
    # ours, the paper's, and what that is at its scale
    "the same": ((70, 70, 70), 70, MATCHES),
    "within": ((69, 69.5, 70), 70, MATCHES),
    "at the limit": ((69, 69, 69), 70, MATCHES),
    # ± 2.484, more than two tolerances
    "within, but anywhere": ((69, 70, 71), 70, UNDECIDED),
    "a wide spread around it": ((60, 70, 80), 70, UNDECIDED),
    "just outside, all seeds": ((68.9, 68.9, 68.9), 70, DIFFERS),
    "all below": ((60, 61, 62), 70, DIFFERS),
    "all above": ((80, 81, 82), 70, DIFFERS),
    "off, but one seed is not": ((60, 61, 70), 70, UNDECIDED),
    # 67 ± 2.484: its end is 0.516 from the paper's number, within the tolerance
    "its interval ends within the tolerance": ((66, 67, 68), 70, UNDECIDED),
    # 66 ± 2.484: it ends 1.516 away
    "its interval ends outside": ((65, 66, 67), 70, DIFFERS),
    "one seed, and it fits": ((70,), 70, UNDECIDED),
    "one seed, far off": ((60,), 70, UNDECIDED),
    "two seeds that fit": ((70, 70), 70, UNDECIDED),
    "no seed": ((), 70, NONE),
    "diverged": ((None, None, None), 70, UNDECIDED),
    "one of four diverged": ((70, None, 70, 70), 70, MATCHES),
    "two of four diverged": ((70, None, 70, None), 70, UNDECIDED),
    "the paper has none": ((70, 70, 70), None, NO_VERDICT),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_alone(case):
    values, paper, word = NUMBERS[case]
    verdict = judge(values, paper)
    assert verdict.word == word and verdict.why
    assert verdict.n == sum(v is not None for v in values)
    assert verdict.n + verdict.lost == len(values)


@pytest.mark.parametrize("values", [(70, 70, 70), (10, 10, 10), (90, 91, 92), (70,)])
def test_a_stand_in_s_number_has_no_verdict(values):
    verdict = judge(values, 70, own_scale=False)
    assert verdict.word == NO_VERDICT and verdict.mean == np.mean(values)


def test_the_words_name_whose_number_it_is():
    told = judge((70, 70, 70), 70, whose="a run").why
    assert told.startswith("within 1 of a run's 70") and "paper" not in told
    assert "from a run's 70" in judge((80, 80, 80), 70, whose="a run").why


def test_seeds_far_apart_are_told_as_two_groups():
    """Two or more each, and ten times as far from each other as within."""
    found = two_groups(np.array([92.0, 47, 92.2, 48, 91.9]))
    assert found is not None
    assert [list(x) for x in found] == [[92.2, 92, 91.9], [48, 47]]
    near = [91.0, 91.3, 91.6, 94.7, 95.0]  # 3.1 apart, .6 within
    alone, alike = [92.0, 92.1, 92.2, 47.0], [1.0, 1.0, 0.9, 0.9]
    for values in (near, alone, alike, [1.0, 2.0], [1.0], []):
        assert two_groups(np.array(values)) is None
    told = judge((92, 47, 92.2, 48, 91.9), 92).why
    assert told.endswith("5 seeds: 3 at 92, 2 at 47.5")


def test_the_interval_is_that_of_student():
    verdict = judge((69, 70, 71), 70)
    assert verdict.mean == 70 and verdict.half == pytest.approx(2.484, abs=1e-3)
    assert math.isnan(judge((70,), 70).half)


GAINS = {
    # A, B, the paper's A - B, and what that is at its scale
    "as large": ((12, 13, 14), (10, 11, 12), 2, MATCHES),
    "within": ((12.5, 13, 13.5), (10, 11, 12), 2.5, MATCHES),
    "larger": ((15, 16, 17), (10, 11, 12), 2, SAME),
    "smaller": ((12, 13, 14), (10, 11, 12), 9, SAME),
    # differences 8, 9, 10: 9 ± 2.484, clear of zero and wider than two tolerances
    "as large, but hardly known": ((18, 20, 22), (10, 11, 12), 9, SAME),
    "a loss, of a gain": ((8, 9, 10), (10, 11, 12), 2, OPPOSITE),
    "a loss, as the paper says": ((8, 9, 10), (10, 11, 12), -2, MATCHES),
    "a larger loss than the paper's": ((5, 6, 7), (10, 11, 12), -2, SAME),
    "a gain, of a loss": ((12, 13, 14), (10, 11, 12), -2, OPPOSITE),
    "none, the same runs": ((10, 11, 12), (10, 11, 12), 2, UNDECIDED),
    # differences 1, 2, 3: 2 ± 2.484, although every one of them is above 0
    "ahead in every seed": ((11, 13, 15), (10, 11, 12), 2, UNDECIDED),
    "behind in every seed": ((9, 9, 9), (10, 11, 12), 2, DIFFERS),
    # 2 ± 2.484 once more: 5.5 is 1.016 outside, 5.4 is within the tolerance of it
    "unsure, and not the paper's": ((11, 13, 15), (10, 11, 12), 5.5, DIFFERS),
    "unsure, and perhaps the paper's": ((11, 13, 15), (10, 11, 12), 5.4, UNDECIDED),
    "unsure, and no such loss": ((11, 13, 15), (10, 11, 12), -1.6, DIFFERS),
    # differences -1, 2, 5: 2 ± 7.45
    "ahead in most seeds": ((9, 13, 17), (10, 11, 12), 2, UNDECIDED),
    # 20 differences of 2, one of -1: clear of zero, though not in every seed
    "ahead, but for one of many": ((12,) * 20 + (9,), (10,) * 21, 2, MATCHES),
    "one seed ahead": ((12,), (10,), 2, UNDECIDED),
    "two seeds far behind": ((2, 2), (10, 10), 2, UNDECIDED),
    "nobody": ((), (10, 11, 12), 2, NONE),
    "a run that diverged": ((12, None, 14, 13), (10, 11, None, 11), 2, UNDECIDED),
    # a tie: the interval within the tolerance, outside of it, or neither
    "a tie": ((10, 11, 12.1), (10, 11, 12), 0, AS_GOOD),
    "hardly a tie": ((10, 11, 13), (10, 11, 12), 0, UNDECIDED),
    "no tie, above": ((15, 16, 17), (10, 11, 12), 0, OPPOSITE),
    "no tie, below": ((5, 6, 7), (10, 11, 12), 0, OPPOSITE),
}


@pytest.mark.parametrize("case", GAINS)
def test_who_beats_whom(case):
    mine, theirs, paper, word = GAINS[case]
    verdict = judge_gain(seeds(*mine), seeds(*theirs), paper, 1.0)
    assert verdict.word == word, verdict


@pytest.mark.parametrize("case", GAINS)
def test_a_stand_in_neither_matches_nor_fails_to(case):
    mine, theirs, paper, word = GAINS[case]
    here = judge_gain(seeds(*mine), seeds(*theirs), paper, 1.0, own_scale=False)
    there = {MATCHES: SAME, DIFFERS: UNDECIDED}
    assert here.word == there.get(word, word)


def test_a_baseline_that_diverged_says_nothing_of_a_method():
    """However clear the seeds are that are left; without it they decide."""
    mine, theirs = seeds(12, 13, 14, 15), seeds(10, 11, 12, None)
    assert judge_gain(mine, theirs, 2, 1.0).word == MATCHES
    broken = judge_gain(mine, theirs, 2, 1.0, broken=1)
    assert (broken.word, broken.n, broken.lost) == (NO_VERDICT, 3, 1)
    assert broken.why.startswith("what it is compared with diverged in 1 of 4 seeds")


def test_a_gain_is_beside_whoevers_number_it_is():
    a, b = seeds(12, 13, 14), seeds(10, 11, 12)
    assert "within 1 of the paper's +2:" in judge_gain(a, b, 2, 1.0).why
    assert "smaller than a run's +9:" in judge_gain(a, b, 9, 1.0, whose="a run").why


def test_gains_are_paired_by_seed():
    """The seeds differ by 20, the methods by 2 in each: clear only in pairs."""
    a, b = seeds(12, 32, 52), seeds(10, 30, 50)
    assert judge_gain(a, b, 2, 1.0).word == MATCHES
    assert judge_gain(a, b, 2, 1.0).half == pytest.approx(0, abs=1e-9)
    other = {seed + 10: v for seed, v in b.items()}
    verdict = judge_gain(a, other, 2, 1.0)
    assert verdict.word == NONE and verdict.n == 0
    some = judge_gain(a, {0: 10.0, 7: 99.0}, 2, 1.0)
    assert (some.word, some.n, some.mean) == (UNDECIDED, 1, 2)


def test_a_claim_without_a_number_has_a_direction_at_most():
    a, b = seeds(12, 13, 14), seeds(10, 11, 12)
    assert judge_gain(a, b, None, 1.0, sign=1).word == SAME
    assert judge_gain(a, b, None, 1.0, sign=-1).word == OPPOSITE
    with pytest.raises(ValueError, match="at least its sign"):
        judge_gain(a, b, None, 1.0)


def test_undecided_says_what_would_have_been_seen():
    """Differences m - 1, m, m + 1: (4.3027 + 1.0607) / sqrt(3) = 3.097."""
    verdict = judge_gain(seeds(10, 12, 14), seeds(10, 11, 12), 2, 1.0)
    assert verdict.seen == pytest.approx(3.097, abs=2e-3)
    assert verdict.why.startswith("a difference of 3.1 would have been seen: +1 ± 2.5")


def test_what_would_have_been_seen_is_seen_four_times_in_five():
    draws, n, spread = np.random.default_rng(0), 8, 2.0
    nothing = np.zeros(n)
    seen = [
        judge_gain(seeds(*draws.normal(0, spread, n)), seeds(*nothing), 1, 1.0).seen
        for _ in range(400)
    ]
    effect = float(np.mean(seen))
    found = [
        judge_gain(
            seeds(*draws.normal(effect, spread, n)), seeds(*nothing), 1, 1.0
        ).word
        for _ in range(400)
    ]
    assert 0.74 <= np.mean([word != UNDECIDED for word in found]) <= 0.9


@pytest.mark.slow
def test_chance_alone_decides_one_time_in_twenty():
    """Half of those to either side."""
    draws = np.random.default_rng(1)
    words = []
    for _ in range(2000):
        x = draws.normal(0, 1, 8)
        words.append(judge_gain(seeds(*x), seeds(*np.zeros(8)), None, 1, sign=1).word)
    for word in (SAME, OPPOSITE):
        assert 0.015 <= np.mean([w == word for w in words]) <= 0.036


def test_the_seeds_that_count_are_fixed():
    there = dict.fromkeys([0, 3, 7, 8, 12])
    assert counting("small", there) == [0, 3, 7]
    assert counting("paper", there) == [0, 3, 7, 8, 12]


def test_seeds_without_a_number_are_counted_in_words():
    mine, theirs = seeds(1, 2, 3, None, 5), seeds(0, 0, 0, 0, None)
    verdict = judge_gain(mine, theirs, 2.0, 1.0)
    assert (verdict.n, verdict.lost) == (3, 2)
    assert verdict.why.endswith("3 seeds, 2 without a number")
    alone = judged(seeds(None, 2, 3), 2.0, 1.0)
    assert (alone.n, alone.lost) == (2, 1)
    assert alone.why.endswith("2 seeds, 1 without a number")

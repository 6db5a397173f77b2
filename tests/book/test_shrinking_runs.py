"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

from typing import Any

import pytest

from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import gains, labels
from tests.figure_cases import drawn, made
from tests.shrinking_cases import DECAY, ELEVENTH, FIXED, LEARNED, ONCE, PRINTED, ended


def test_fixed_factors_have_to_help_the_alike_and_to_hurt_the_uneven():
    paper = {where: PRINTED["hand", where] for where in ("alike", "uneven")}
    best, worst = {FIXED: 1.0, gains.MILD: 0.5}, {FIXED: -2.0, gains.MILD: -1.0}
    said = gains.helps_and_hurts(ended(best, worst), paper)
    printed = [[4.0], [3.0], [1.5, -2.0], [], []]
    assert said["holds"] and [r.printed for r in said["rows"]] == printed
    by_hand = [1, 0.5, -2, -1, 1]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    assert said["note"] == "FedAvg itself: 50.1 % (alike), 50.1 % (uneven)."
    planted: list[tuple[dict, dict]] = [
        (best | {FIXED: 0}, worst),
        (best | {gains.MILD: 0}, worst),
        (best, worst | {FIXED: 0}),
        (best, worst | {gains.MILD: -2}),
    ]
    for alike, uneven in planted:
        assert not gains.helps_and_hurts(ended(alike, uneven), paper)["holds"]


def followed(gains_at_the_end: dict[str, float], dips: tuple = ()) -> Comparison:
    """So far ahead at last; in the first round those that dip are 3 points behind."""
    ends = {"FedAvg": 0.0} | gains_at_the_end
    seen = {
        ("alike", arm): {
            "accuracy": [0.5 - 0.03 * (arm in dips)] + [0.5 + more / 100] * 2
        }
        for arm, more in ends.items()
    }
    return made(seen)


@pytest.mark.slow
def test_all_ways_have_to_gain_among_the_alike_and_one_more_than_another():
    """As the sentence has it: decay as the factor, GWS more than a clinic more."""
    right = dict.fromkeys((FIXED, DECAY, ELEVENTH), 1.0)
    right |= {LEARNED: 2.0, "FedLAW": 1.5, gains.HALF: 1.0, ONCE: 0.0}
    brief = ended({LEARNED: 1.5}, {})
    names = {"law": "FedLAW", "decay": DECAY, "learned": LEARNED, "fixed": FIXED}
    names |= {"half": gains.HALF, "once": ONCE, "eleventh": ELEVENTH}

    def said(dips: tuple = (LEARNED,), **more: float) -> dict[str, Any]:
        ends = right | {names[name]: v for name, v in more.items()}
        return labels.alike(followed(ends, dips), brief, PRINTED)

    found = said()
    assert found["holds"]
    shown = [row for row in found["rows"] if not row.aside]
    quickly = "GWS, one epoch"
    assert [row.name for row in shown] == [*labels.WITHOUT, *labels.WITH, quickly]
    by_hand = [1, 1, 2, 1.5, 1, 1.5]
    assert [r.values[0] for r in shown] == pytest.approx(by_hand, abs=0.01)
    by_name = {row.name: row for row in found["rows"]}
    for arm, gain in ((gains.HALF, 1), (ONCE, 0)):
        folded = by_name[f"{arm} minus FedAvg"]
        assert folded.aside and folded.values[0] == pytest.approx(gain, abs=0.01)
    assert by_name[f"{FIXED} minus {DECAY}"].says == "within 0.5"
    assert by_name[f"{LEARNED} minus {FIXED}"].values == pytest.approx(1, abs=0.01)
    assert by_name[FIXED].printed == [4.0, 1.0]
    assert by_name["FedLAW"].printed == [4.0] and by_name[LEARNED].printed == [5.0]
    assert by_name["GWS minus weight decay"].printed == [3.0]
    quick = by_name["GWS, one epoch"]
    assert quick.printed == [3.8] and quick.values[0] == pytest.approx(1.5)
    planted = (
        said(decay=0.4),
        said(decay=1.6),
        said(fixed=0.0, decay=0.0),
        said(law=0.0),
        said(eleventh=0.0),
        said(eleventh=2.0),
        said(learned=1.0),
        said(dips=()),
    )
    for k, one in enumerate(planted):
        assert not one["holds"], k
    level = ended({LEARNED: 0.0}, {})
    assert not labels.alike(followed(right, (LEARNED,)), level, PRINTED)["holds"]
    alt = drawn(gains.by_pair(followed(right), gains.PAIRS, "alike"))
    assert "GWS: +2.0 ± 0.0" in alt and "weight decay: +1.0 ± 0.0" in alt


def test_the_guess_that_is_right_is_the_runs():
    lower, higher, same = gains.GUESSES
    for gain, guess in ((-1, lower), (1, higher), (0, same)):
        assert gains.right(ended({FIXED: gain}, {})) == guess


@pytest.mark.slow
def test_what_needs_no_label_may_not_gain_among_the_uneven():
    """And of the rest one clinic more has to gain, alone."""
    right = dict.fromkeys((FIXED, gains.HALF), -2.0) | {DECAY: -4.0, ELEVENTH: 1.0}
    right |= dict.fromkeys((ONCE, "FedAvg"), 0.0)
    right |= {LEARNED: 0.0, "FedLAW": -1.0}

    def said(more: dict[str, float]) -> dict[str, Any]:
        ends = right | more
        seen = {("uneven", a): {"accuracy": [0.5 + v / 100]} for a, v in ends.items()}
        return labels.uneven(made(seen), PRINTED)

    found = said({})
    assert found["holds"]
    shown = [row for row in found["rows"] if not row.aside]
    assert [row.name for row in shown] == [*labels.WITHOUT, *labels.WITH]
    by_hand = [-2, -4, 0, -1, 1]
    assert [row.values[0] for row in shown] == pytest.approx(by_hand, abs=0.01)
    by_name = {row.name: row for row in found["rows"]}
    assert by_name["FedLAW"].printed == [2.5]
    assert by_name[FIXED].printed == [1.5, -2.0]
    assert by_name[f"{ELEVENTH} minus FedLAW"].values == pytest.approx(2)
    free = (*labels.WITHOUT, *labels.CONTROLS)
    gained = [{arm: 1.0} for arm in (*free, LEARNED, "FedLAW")]
    for more in (*gained, {ELEVENTH: 0.0}):
        assert not said(more)["holds"], more

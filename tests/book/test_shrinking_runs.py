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
        (best, worst | {gains.MILD: 0}),
        (best, worst | {gains.MILD: -2}),
    ]
    for alike, uneven in planted:
        assert not gains.helps_and_hurts(ended(alike, uneven), paper)["holds"]


def followed(
    gains_at_the_end: dict[str, float], start: float = 1.3, dips: tuple = ()
) -> Comparison:
    """So far ahead at last; in the first round those that dip are 3 points behind."""
    ends = {"FedAvg": 0.0} | gains_at_the_end
    seen = {
        ("alike", arm): {
            "accuracy": [0.5 - 0.03 * (arm in dips)] + [0.5 + more / 100] * 2,
            "gamma": [start, 1.1, 0.9],
        }
        for arm, more in ends.items()
    }
    return made(seen)


def test_ways_without_labels_have_to_gain_and_the_learned_factor_no_more():
    """As the sentence has it: decay as the factor, stretching more, GWS as that."""
    paper = PRINTED["why", "alike"]
    right = dict.fromkeys((FIXED, DECAY, gains.HALF), 1.0) | {ONCE: 0.0}
    right |= {gains.WAITED: 1.2, gains.STRETCHED: 2.0, LEARNED: 2.0}
    dips = (FIXED, gains.STRETCHED, LEARNED)

    def said(start: float = 1.3, dips: tuple = dips, **more: float) -> dict[str, Any]:
        names = {"waited": gains.WAITED, "stretched": gains.STRETCHED}
        names |= {"decay": DECAY, "once": ONCE, "learned": LEARNED, "fixed": FIXED}
        ends = right | {names[name]: v for name, v in more.items()}
        return labels.without(followed(ends, start, dips), paper)

    found = said()
    assert found["holds"]
    by_hand = [0, 1, 0, 0.8]
    assert [r.values[0] for r in found["rows"][:4]] == pytest.approx(by_hand, abs=0.01)
    assert [r.aside for r in found["rows"]] == [False] * 4 + [True] * 11
    by_name = {row.name: row for row in found["rows"]}
    assert by_name[f"{FIXED} minus {DECAY}"].says == "within 0.5"
    assert by_name[FIXED].printed == [4.0, 1.0]
    assert by_name["GWS minus weight decay"].printed == [3.0]
    planted = (
        said(decay=0.4),
        said(decay=1.6),
        said(stretched=1.0, learned=1.0),
        said(waited=2.0),
        said(learned=3.0),
        said(once=1.0),
        said(fixed=0.0, decay=0.0),
        said(start=0.9),
        *(said(dips=tuple(d for d in dips if d != one)) for one in dips),
    )
    for k, one in enumerate(planted):
        assert not one["holds"], k
    seen = followed(right | {"FedLAW": 1.5})
    alt = drawn(gains.by_pair(seen, gains.PAIRS, "alike"))
    assert "GWS: +2.0 ± 0.0" in alt and "halved once: +0.0 ± 0.0" in alt


def test_the_guess_that_is_right_is_the_runs():
    lower, higher, same = gains.GUESSES
    for gain, guess in ((-1, lower), (1, higher), (0, same)):
        assert gains.right(ended({FIXED: gain}, {})) == guess


def test_learning_has_to_beat_a_client_with_the_same_images_where_all_are_alike():
    best = {FIXED: 1.0, "FedLAW": 2.0, LEARNED: 2.0, ELEVENTH: 1.0}
    more, brief = {ELEVENTH: 1.0}, ended({LEARNED: 1.5}, {})
    said = labels.worth(ended(best, more), brief, PRINTED)
    assert said["holds"]
    shown = [row.name for row in said["rows"] if not row.aside]
    arms = (LEARNED, "FedLAW", ELEVENTH)
    names = [f"{arm}, {w}" for w in gains.PLACES for arm in arms]
    assert shown == names
    by_name = {row.name: row for row in said["rows"]}
    quick = by_name["GWS, alike, one epoch"]
    assert quick.printed == [3.8] and quick.values[0] == pytest.approx(1.5)
    assert by_name["GWS, alike"].printed == [5.0]
    assert by_name["FedLAW, uneven"].printed == [2.5]
    assert by_name[f"FedLAW minus {ELEVENTH}, uneven"].values == pytest.approx(-1)
    planted: list[tuple[dict, dict]] = [
        ({}, more),
        (best, {}),
        (best, more | {"FedLAW": 1.0, LEARNED: 1.0}),
        (best, more | {LEARNED: 1.0}),
        (best | {LEARNED: 0.0}, more),
        (best | {ELEVENTH: 2.0}, more),
        (best | {ELEVENTH: 0.0}, more),
        (best, {ELEVENTH: 1.0, "FedLAW": 1.0}),
    ]
    for alike, uneven in planted:
        assert not labels.worth(ended(alike, uneven), brief, PRINTED)["holds"], alike

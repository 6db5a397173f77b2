"""Chapter 4's shorter, or less sure: by hand, and red where planted."""

from typing import Any

import pytest

from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import apart, gains
from tests.figure_cases import NONE, drawn, made

FIXED, MILD, GWS = gains.FIXED, gains.MILD, gains.GWS
RIGHT: dict[tuple[str, str], tuple[float, float]] = {  # points over FedAvg, and length
    ("alike", "FedAvg"): (0.0, 9.0),
    ("alike", FIXED): (2.0, 6.0),
    ("alike", MILD): (1.0, 7.0),
    ("alike", apart.ALONE[FIXED]): (2.2, 15.0),
    ("alike", apart.ALONE[MILD]): (1.1, 12.0),
    ("alike", apart.ALONE[GWS]): (1.8, 14.0),
    ("alike", apart.SMALLER): (0.1, 7.0),
    ("uneven", "FedAvg"): (0.0, 9.0),
    ("uneven", FIXED): (-3.0, 5.0),
    ("uneven", MILD): (-1.0, 7.0),
    ("uneven", apart.ALONE[FIXED]): (-8.0, 14.0),
    ("uneven", apart.ALONE[MILD]): (-2.0, 11.0),
}


def runs(planted: dict[Any, Any] | None = None, at_once: float = 0.0) -> Comparison:
    return made(
        {
            key: {
                "accuracy": [0.5 + more / 100] * 3,
                "length": [5.0, 6.0, long],
                "sure": [0.1, 0.5, 0.2 * (1 + more)],
                "at_once": [at_once] * 3,
            }
            for key, (more, long) in (RIGHT | (planted or {})).items()
        }
    )


def test_outputs_alone_have_to_gain_as_much_and_to_leave_a_longer_network():
    said = apart.sure(runs())
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    level = by_name[f"{FIXED}: outputs minus parameters, alike"]
    assert level.values == pytest.approx(0.2) and level.near and not level.aside
    assert by_name[f"{MILD}: outputs minus parameters, uneven"].aside
    assert by_name["smaller steps, alike"].says == "within 1"
    ends = f"FedAvg 9.0, {FIXED} 6.0, {apart.ALONE[FIXED]} 15.0."
    assert said["note"] == f"Length at the end: {ends}"
    out = apart.ALONE
    planted = {
        "a factor alone has no gain": {("alike", out[FIXED]): (0.0, 15.0)},
        "less than all parameters": {("alike", FIXED): (4.0, 6.0)},
        "the mild one has no gain": {("alike", out[MILD]): (0.0, 12.0)},
        "the learned one has none": {("alike", out[GWS]): (0.0, 14.0)},
        "smaller steps do it": {("alike", apart.SMALLER): (2.0, 7.0)},
        "no longer than FedAvg": {("alike", out[FIXED]): (2.2, 8.0)},
        "not shortened": {("alike", FIXED): (2.0, 9.5)},
        "no loss, uneven": {("uneven", out[MILD]): (0.5, 11.0)},
    }
    for what, more in planted.items():
        assert not apart.sure(runs(more))["holds"], what
    assert not apart.sure(runs(at_once=1.0))["holds"]


def test_the_guess_that_is_right_is_what_is_left_of_the_gain():
    none, whole, part = apart.GUESSES
    assert apart.right(runs()) == whole
    for left, guess in ((0.1, none), (1.0, part), (1.9, whole)):
        found = runs({("alike", apart.ALONE[FIXED]): (left, 15.0)})
        assert apart.right(found) == guess


def test_the_picture_says_gain_length_and_how_sure():
    alt = drawn(apart.picture(runs()))
    assert f"Points over FedAvg: {FIXED} +2.0 ± 0.0" in alt
    assert f"FedAvg 9.0, {FIXED} 6.0, {apart.ALONE[FIXED]} 15.0" in alt
    assert "at the end: FedAvg 0.20" in alt


def test_a_gain_that_seeds_do_not_carry_is_none():
    """Means as they should be, and intervals that contain zero."""
    found = runs()
    arm = apart.ALONE[FIXED]
    for shift, history in zip(40 * NONE, found.of(arm, "alike"), strict=True):
        for row in history.rows:
            row["accuracy"] += shift / 100
    assert not apart.sure(found)["holds"]

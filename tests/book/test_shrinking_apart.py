"""Chapter 4's shorter, or less sure: by hand, and red where planted."""

import warnings
from dataclasses import replace
from typing import Any

import pytest

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import apart, arms, gains, seen
from fedlab_core.client.training import Decay
from fedlab_core.methods.fedlaw import shrunk
from tests.figure_cases import NONE, drawn, made

FIXED = gains.FIXED
_STAY = (FIXED, apart.SURE)
RIGHT: dict[tuple[str, str], tuple[float, float]] = {  # points over FedAvg, and length
    ("alike", "FedAvg"): (0.0, 9.0),
    ("alike", FIXED): (2.0, 6.0),
    ("alike", apart.SURE): (2.2, 15.0),
    ("alike", apart.SHORT): (-40.0, 6.0),
    (apart.BARE, "FedAvg"): (0.0, 9.0),
    (apart.BARE, apart.SHORT): (-30.0, 6.0),
    (apart.BARE, apart.FITTING): (0.1, 3.0),
    ("alike", apart.SMALLER): (0.0, 7.0),
    ("uneven", "FedAvg"): (0.0, 9.0),
    ("uneven", FIXED): (-3.0, 5.0),
    ("uneven", apart.SURE): (-8.0, 14.0),
}


def runs(
    planted: dict[Any, Any] | None = None,
    at_once: float = 0.0,
    bar: float = 0.6,
    known: float = 0.9,
    uneven: float = 0.6,
) -> Comparison:
    return made(
        {
            key: {
                "accuracy": [*[0.5] * 6, *[0.5 + more / 100] * 2],
                "length": [5.0, *[6.0] * 6, long],
                "sure": [*[0.5] * 7, bar if key[1] == apart.SURE else 0.6],
                "known": [(known if key[0] == "alike" else uneven) if less else 0.95]
                * 8,
                "at_once": [at_once] * 8,
            }
            for key, (more, long) in (RIGHT | (planted or {})).items()
            for less in [key[1] in _STAY]
        }
    )


@pytest.mark.slow
def test_less_sure_has_to_gain_as_the_factor_does_and_shorter_to_be_ruined():
    said = apart.parts(runs())
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    level = by_name[f"only less sure minus {FIXED}"]
    assert level.values == pytest.approx(0.2) and level.near and not level.aside
    more = by_name[f"only less sure minus {FIXED}, uneven"]
    assert more.values == pytest.approx(-5) and more.aside
    assert "“Still sure”: 0 of 3 diverged, the best ended at " in said["note"]
    sure, short = apart.SURE, apart.SHORT
    planted = {
        "less sure has no gain": {("alike", sure): (0.0, 15.0)},
        "less than the factor": {("alike", FIXED): (4.0, 6.0)},
        "shorter gains": {("alike", short): (1.0, 7.0)},
        "shorter only loses": {("alike", short): (-2.0, 7.0)},
        "no longer than FedAvg": {("alike", sure): (2.2, 8.0)},
        "not shortened": {("alike", FIXED): (2.0, 9.5)},
        "no loss, uneven": {("uneven", sure): (0.5, 11.0)},
        "no loss of the factor, uneven": {("uneven", FIXED): (0.5, 5.0)},
    }
    for what, more in planted.items():
        assert not apart.parts(runs(more))["holds"], what
    assert not apart.parts(runs(at_once=1.0))["holds"]
    assert not apart.parts(runs(bar=0.5))["holds"]  # less sure than under the factor


def test_a_seed_that_diverged_has_no_gain_and_is_ruined():
    found = runs()
    lost = {k: replace(h, diverged_at=3) if k[1] == apart.SHORT else h
            for k, h in found.runs.items()}  # fmt: skip
    said = apart.parts(replace(found, runs=lost))
    assert said["holds"] and "“Still sure”: 3 of 3 diverged." in said["note"]


@pytest.mark.slow
def test_neither_steps_nor_a_length_may_explain_it():
    said = apart.doubts(runs())
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    assert by_name["smaller steps"].values == pytest.approx(0)
    assert by_name["only less sure minus smaller steps"].values == pytest.approx(2.2)
    assert by_name[f"{apart.FITTING}, without biases"].near
    planted = {
        "smaller steps gain": {("alike", apart.SMALLER): (1.0, 7.0)},
        "smaller steps lose": {("alike", apart.SMALLER): (-1.0, 7.0)},
        "less sure has no gain": {("alike", apart.SURE): (0.0, 15.0)},
        "shorter gains": {(apart.BARE, apart.SHORT): (1.0, 7.0)},
        "shorter only loses": {(apart.BARE, apart.SHORT): (-2.0, 7.0)},
        "fitting steps lose": {(apart.BARE, apart.FITTING): (-1.0, 3.0)},
        "fitting steps gain": {(apart.BARE, apart.FITTING): (1.0, 5.0)},
    }
    for what, more in planted.items():
        assert not apart.doubts(runs(more))["holds"], what


def test_less_sure_gets_fewer_own_images_right_and_fewest_where_uneven():
    said = apart.own_images(runs())
    assert said["holds"]
    by_name = {row.name: row.values for row in said["rows"]}
    assert by_name[f"{FIXED}, alike"] == pytest.approx(-5)
    assert by_name[f"{apart.SURE}, uneven"] == pytest.approx(-35)
    assert said["note"] == "FedAvg itself: 95 % (alike), 95 % (uneven)."
    for planted in (runs(known=0.96), runs(uneven=0.92)):
        assert not apart.own_images(planted)["holds"]


@pytest.mark.slow
def test_as_sure_as_another_run_and_in_fitting_steps_as_fedavg():
    """Round by round; the ways of the chapter, where a network has no biases."""
    bench = Bench(samples=200, tests=60, sizes={"hidden": [8]}, seeds=[5])
    alike = bench.place("dirichlet", clients=3, alpha=100.0)
    train = fl.Training(lr=0.2, epochs=1, batch_size=16)
    plain, there = fl.fedavg(train), arms.bare(arms.amplified(alike))
    ways = {FIXED: shrunk(train, gamma=0.93), "FedAvg": plain}
    found = bench.compare({"here": there}, ways, 3, observe=seen.shrunk)
    bars = {arm: arms.course(found, arm, "here") for arm in ways}
    fitting = fl.fedavg(replace(train, schedule=Decay(0.93**2)))
    ways = {
        apart.SURE: arms.as_sure(plain, there, bars[FIXED]),
        apart.SHORT: arms.as_sure(plain, there, bars["FedAvg"], gamma=0.93),
        apart.FITTING: arms.as_sure(fitting, there, bars["FedAvg"], gamma=0.93),
    }
    found |= bench.compare({"here": there}, ways, 3, observe=seen.shrunk)

    def sure(arm: str) -> list[float]:
        return [row["sure"] for row in found.of(arm, "here")[0].rows]

    assert sure(apart.SURE) == pytest.approx(sure(FIXED))
    for arm in (apart.SHORT, apart.FITTING):
        assert sure(arm) == pytest.approx(sure("FedAvg"))
    short, fits, free = (
        found.curves(arm, "here") for arm in (apart.SHORT, apart.FITTING, "FedAvg")
    )
    assert fits == pytest.approx(free) and short != pytest.approx(free)
    one, other = (
        found.curves(arm, "here", "length")[0, :2] for arm in (apart.SURE, "FedAvg")
    )
    assert one == pytest.approx(other)


def test_the_guess_that_is_right_is_what_gains_alone():
    short, sure, neither = apart.GUESSES
    assert apart.right(runs()) == sure
    none = {("alike", apart.SURE): (0.0, 15.0)}
    assert apart.right(runs(none)) == neither
    shorter = {("alike", apart.SHORT): (1.0, 6.0)}
    assert apart.right(runs(none | shorter)) == short


@pytest.mark.slow
def test_the_picture_says_gain_length_and_how_sure():
    alt = drawn(apart.picture(runs()))
    assert f"Points over FedAvg: {FIXED} +2.0 ± 0.0" in alt
    assert f"FedAvg 9.0, {FIXED} 6.0, {apart.SURE} 15.0" in alt
    assert f"FedAvg 0.60, {FIXED} 0.60, {apart.SURE} 0.60" in alt
    assert f"FedAvg 0.95, {FIXED} 0.90, {apart.SURE} 0.90" in alt


@pytest.mark.slow
def test_a_run_that_diverged_is_drawn_as_far_as_it_came():
    found = runs()
    for history in found.of(apart.SHORT, "alike")[1:]:
        del history.rows[7:]
        for row in history.rows[5:]:
            row["accuracy"] = 0.1
        history.rows[6]["length"] = float("inf")
    with warnings.catch_warnings(action="error"):
        assert "still sure" in drawn(apart.picture(found))
    assert apart.parts(found)["holds"]


def test_a_gain_that_seeds_do_not_carry_is_none():
    """Means as they should be, and intervals that contain zero."""
    found = runs()
    arm = apart.SURE
    for shift, history in zip(40 * NONE, found.of(arm, "alike"), strict=True):
        for row in history.rows:
            row["accuracy"] += shift / 100
    assert not apart.parts(found)["holds"]

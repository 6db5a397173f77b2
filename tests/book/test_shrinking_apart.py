"""Chapter 4's shorter, or less sure: by hand, and red where planted."""

import warnings
from typing import Any

import pytest

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import apart, gains, seen
from fedlab_core.methods.fedlaw import shrunk
from tests.figure_cases import NONE, drawn, made

FIXED, MILD = gains.FIXED, gains.MILD
_STAY = (FIXED, apart.SURE[FIXED])
RIGHT: dict[tuple[str, str], tuple[float, float]] = {  # points over FedAvg, and length
    ("alike", "FedAvg"): (0.0, 9.0),
    ("alike", FIXED): (2.0, 6.0),
    ("alike", MILD): (1.0, 7.0),
    ("alike", apart.SURE[FIXED]): (2.2, 15.0),
    ("alike", apart.SURE[MILD]): (1.1, 12.0),
    ("alike", apart.SHORT): (-40.0, 6.0),
    (apart.BARE, "FedAvg"): (0.0, 9.0),
    (apart.BARE, apart.FITTING): (0.1, 3.0),
    ("alike", apart.SMALLER): (0.0, 7.0),
    ("uneven", "FedAvg"): (0.0, 9.0),
    ("uneven", FIXED): (-3.0, 5.0),
    ("uneven", MILD): (-1.0, 7.0),
    ("uneven", apart.SURE[FIXED]): (-8.0, 14.0),
}


def runs(
    planted: dict[Any, Any] | None = None,
    at_once: float = 0.0,
    bar: float = 0.6,
    left: float = 0.4,
) -> Comparison:
    return made(
        {
            key: {
                "accuracy": [*[0.5] * 6, *[0.5 + more / 100] * 2],
                "length": [5.0, *[6.0] * 6, long],
                "sure": [*[0.5] * 7, bar if key[1] == apart.SURE[FIXED] else 0.6],
                "left": [0.8, 0.7, *[left if key[1] in _STAY else 0.1] * 6],
                "at_once": [at_once] * 8,
            }
            for key, (more, long) in (RIGHT | (planted or {})).items()
        }
    )


def test_less_sure_has_to_gain_as_the_factor_does_and_shorter_to_be_ruined():
    said = apart.parts(runs())
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    level = by_name[f"only less sure, minus {FIXED}"]
    assert level.values == pytest.approx(0.2) and level.near and not level.aside
    more = by_name[f"only less sure, minus {FIXED}, uneven"]
    assert more.values == pytest.approx(-5) and more.aside
    assert by_name["still sure"].values == pytest.approx(-40)
    assert by_name[apart.FITTING].near and not by_name[apart.FITTING].aside
    beyond = by_name["only less sure, minus smaller steps"]
    assert beyond.values == pytest.approx(2.2) and by_name["smaller steps"].aside
    sure, short = apart.SURE, apart.SHORT
    planted = {
        "less sure has no gain": {("alike", sure[FIXED]): (0.0, 15.0)},
        "less than the factor": {("alike", FIXED): (4.0, 6.0)},
        "the mild one has no gain": {("alike", sure[MILD]): (0.0, 12.0)},
        "less than the mild factor": {("alike", MILD): (3.0, 7.0)},
        "shorter gains": {("alike", short): (1.0, 7.0)},
        "shorter only loses": {("alike", short): (-2.0, 7.0)},
        "smaller steps gain": {("alike", apart.SMALLER): (1.0, 7.0)},
        "smaller steps lose": {("alike", apart.SMALLER): (-1.0, 7.0)},
        "fitting steps lose": {(apart.BARE, apart.FITTING): (-1.0, 3.0)},
        "fitting steps gain": {(apart.BARE, apart.FITTING): (1.0, 5.0)},
        "no longer than FedAvg": {("alike", sure[FIXED]): (2.2, 8.0)},
        "not shortened": {("alike", FIXED): (2.0, 9.5)},
        "no loss, uneven": {("uneven", sure[FIXED]): (0.5, 11.0)},
        "no loss of the factor, uneven": {("uneven", FIXED): (0.5, 5.0)},
    }
    for what, more in planted.items():
        assert not apart.parts(runs(more))["holds"], what
    assert not apart.parts(runs(at_once=1.0))["holds"]
    assert not apart.parts(runs(bar=0.5))["holds"]  # less sure than under the factor
    assert not apart.parts(runs(left=0.1))["holds"]  # as little left as FedAvg's


def test_the_mixtures_are_played_beside_the_factors():
    """As sure as the other run, round by round; and never shortened, or in steps."""
    bench = Bench(samples=200, tests=60, sizes={"hidden": [8]}, seeds=[5])
    places = {
        where: bench.place("dirichlet", clients=3, alpha=alpha)
        for where, alpha in (("alike", 100.0), ("uneven", 0.5))
    }
    plain = fl.fedavg(fl.Training(lr=0.2, epochs=1, batch_size=16))
    factors = {FIXED: 0.93, MILD: 0.97}
    first = {arm: shrunk(plain.training, gamma=g) for arm, g in factors.items()}
    first["FedAvg"] = plain
    found = bench.compare(places, first, 3, observe=seen.shrunk)
    made = found | apart.played(bench, found, places, plain, 3)

    def sure(arm: str, where: str) -> list[float]:
        return [row["sure"] for row in made.of(arm, where)[0].rows]

    for arm in factors:
        assert sure(apart.SURE[arm], "alike") == pytest.approx(sure(arm, "alike"))
    uneven = sure(apart.SURE[FIXED], "uneven")
    assert uneven == pytest.approx(sure(FIXED, "uneven"))
    short = sure(apart.SHORT, "alike")
    assert short == pytest.approx(sure("FedAvg", "alike"))
    bare = made.curves(apart.FITTING, apart.BARE)
    assert bare == pytest.approx(made.curves("FedAvg", apart.BARE))
    ends = {a: made.curves(a, "alike", "length")[0, -1] for a in (FIXED, "FedAvg")}
    assert ends[FIXED] < ends["FedAvg"]
    one = made.curves(apart.SURE[FIXED], "alike", "length")[0]
    assert one[:2] == pytest.approx(made.curves("FedAvg", "alike", "length")[0, :2])
    assert made.scores(apart.SMALLER, "alike").shape == (1,)


def test_the_guess_that_is_right_is_what_gains_alone():
    short, sure, neither = apart.GUESSES
    assert apart.right(runs()) == sure
    none = {("alike", apart.SURE[FIXED]): (0.0, 15.0)}
    assert apart.right(runs(none)) == neither
    shorter = {("alike", apart.SHORT): (1.0, 6.0)}
    assert apart.right(runs(none | shorter)) == short


def test_the_picture_says_gain_length_and_how_sure():
    alt = drawn(apart.picture(runs()))
    assert f"Points over FedAvg: {FIXED} +2.0 ± 0.0" in alt
    assert f"FedAvg 9.0, {FIXED} 6.0, {apart.SURE[FIXED]} 15.0" in alt
    assert f"FedAvg 0.10, {FIXED} 0.40, {apart.SURE[FIXED]} 0.40" in alt


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
    arm = apart.SURE[FIXED]
    for shift, history in zip(40 * NONE, found.of(arm, "alike"), strict=True):
        for row in history.rows:
            row["accuracy"] += shift / 100
    assert not apart.parts(found)["holds"]

"""Advice: who may be recommended, by which seeds, and what is said of it."""

import numpy as np
import pytest

from fedlab_book import advice
from fedlab_book.advice import ALL, BASE, OWN, Gain, advise, allowed, halves

RAN = "letters, MLP 64, 10 clients"
ARMS = ["FedAvg", "FedDisco", "FedLAW", "FedCollab", "Local", "Server-FT"]


def world(gains: dict, n: int = 8, dear=()):
    """Lines of arms on fields, by the gains over FedAvg that they are to have."""

    def lines(arm, field, goal):
        base = np.arange(n) * 1.0
        more = np.zeros(n) if arm == BASE else gains.get((arm, field))
        if more is None:
            return {}
        cost = {
            "bytes": 100 if arm == BASE else 300 if arm in dear else 150,
            "steps": 2.0 if arm == BASE else 5.0,
        }
        return {k: {"value": base[k] + more[k], **cost} for k in range(n)}

    return lines


def sentence(found, standings=None):
    return advice.sentence(found, RAN, standings or {})


def around(mean: float, n: int = 8):
    return mean + 0.1 * (-1.0) ** np.arange(n)


def test_only_what_is_possible_is_recommended():
    assert allowed(ARMS, ALL, labelled=False) == ["FedDisco"]
    assert allowed(ARMS, ALL, labelled=True) == ["FedDisco", "FedLAW", "Server-FT"]
    assert allowed(ARMS, OWN, labelled=False) == ["FedDisco", "FedCollab", "Local"]
    assert len(allowed(ARMS, OWN, labelled=True)) == 5


def test_it_is_chosen_by_one_half_of_the_seeds_and_told_by_the_other():
    lucky = np.array([9.0, 9.1, 8.9, 9.0, 0.1, -0.1, 0.1, -0.1])
    lines = world({("FedDisco", "here"): lucky, ("Local", "here"): around(3)})
    found = advise(lines, ["FedDisco", "Local"], ["here"], OWN, "here")
    assert found and found.best == "FedDisco" and found.arm == BASE
    assert found.gain.n == 4 and found.gain.mean == pytest.approx(0)
    assert sentence(found).startswith("Stay with FedAvg")
    found = advise(lines, ["Local"], ["here"], OWN, "here")
    assert (
        found and found.arm == "Local" and found.costs == {"bytes": 1.5, "steps": 2.5}
    )


def test_few_seeds_do_for_both():
    assert halves(dict.fromkeys(range(8), {})) == ([0, 1, 2, 3], [4, 5, 6, 7])
    assert halves(dict.fromkeys(range(5), {})) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert halves({}) == ([], [])


def test_it_says_where_it_fails_most():
    gains = {
        ("Local", f): around(m) for f, m in {"a": 3, "b": -2, "c": -5, "d": 0}.items()
    }
    found = advise(world(gains), ["Local"], ["a", "b", "c", "d", "e"], OWN, "a")
    assert found and found.fails and found.fails[0] == "c"
    said = sentence(found)
    assert (
        said.startswith("Use Local: +3.0 ± ") and f"FedAvg, measured on {RAN}." in said
    )
    assert "1.5 times FedAvg's traffic and 2.5 times its steps" in said
    assert "behind FedAvg on “c”, -5.0" in said
    one = advise(world(gains), ["Local"], ["a", "d"], OWN, "a")
    assert (
        one
        and one.fails is None
        and "Nowhere here is it clearly behind" in sentence(one)
    )


def test_nothing_run_is_said_so():
    assert advise(world({}), ["Local"], ["a"], OWN, "a") is None
    assert sentence(None) == "Nothing has been run for this yet."


def test_a_gain_is_clear_only_by_its_interval_and_enough_seeds():
    assert Gain(2.0, 1.9, 3).side == 1 and Gain(-2.0, 1.9, 3).side == -1
    assert Gain(2.0, 2.1, 3).side == Gain(2.0, 0.1, 2).side == 0
    assert Gain(0.2, 0.1, 8).side == Gain(-0.2, 0.1, 8).side == 0  # as good as
    assert Gain(float("nan"), float("nan"), 0).side == 0
    assert (
        advice.gain(world({("Local", "a"): around(1, 2)}, 2), "Local", "a", OWN).n == 2
    )


def test_of_equals_the_cheapest_is_recommended_and_the_others_are_named():
    gains = {("FedDisco", "a"): around(3.4), ("Local", "a"): around(3)}
    gains |= {("FedCollab", "a"): around(2)}
    arms = ["FedDisco", "Local", "FedCollab"]
    found = advise(world(gains, dear=["FedDisco"]), arms, ["a"], OWN, "a")
    assert found and found.arm == "Local" and found.ties == ("FedDisco",)
    assert "FedDisco did as well, for no less traffic." in sentence(found)
    gains["FedCollab", "a"] = around(3.2)
    found = advise(world(gains, dear=["FedDisco"]), arms[::-1], ["a"], OWN, "a")
    assert found and found.arm == "Local", "of equal costs it is the control"
    gains["FedCollab", "a"] = around(2)
    found = advise(world(gains, dear=["Local"]), arms, ["a"], OWN, "a")
    assert found and found.arm == "FedDisco"
    gains["FedDisco", "a"] = around(3.6)  # more than half a point ahead
    found = advise(world(gains, dear=["FedDisco"]), arms, ["a"], OWN, "a")
    assert found and found.arm == "FedDisco" and found.ties == ()


def test_it_says_whose_field_it_is_and_how_the_method_stands():
    lines = world({("Local", "a"): around(3)})
    found = advise(lines, ["Local"], ["a"], OWN, "a", home="Local")
    assert sentence(found).endswith("of its own paper: elsewhere expect less.")
    found = advise(lines, ["Local"], ["a"], OWN, "a", home="FedCollab")
    assert "own paper" not in sentence(found)
    said = sentence(found, {"Local": "It helps.", "FedCollab": "It hurts."})
    assert said.endswith("Over all that was tried: It helps.")

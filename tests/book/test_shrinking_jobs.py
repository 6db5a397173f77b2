"""Chapter 4's second job: what it pays and costs, by hand, and red where planted."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import gains, jobs
from tests.figure_cases import drawn, made

GWS, NEVER, FIXED = gains.GWS, gains.NEVER, gains.FIXED


def alike(
    learned: float = 2.0,
    never: float = 0.5,
    at_once: float = 0.0,
    moved: tuple[float, float, float] = (0.02, 0.07, 0.03),
) -> Comparison:
    """So many points over FedAvg at the end; lengths of 9, 6 and 8, and steps."""
    ends = {"FedAvg": (0.0, 9.0), GWS: (learned, 6.0), NEVER: (never, 8.0)}
    ends[FIXED] = (1.0, 5.0)
    steps = dict(zip(ends, (*moved, 0.08), strict=True))
    seen = {
        ("alike", arm): {
            "accuracy": [0.5 + more / 100] * 3,
            "length": [5.0, 7.0, long],
            "at_once": [at_once] * 3,
            "step": [0.3, steps[arm], steps[arm]],
            "gamma": [1.0] * 3,
            # a step across the model makes it longer by the root of one and its square
            "longer": [
                at * (math.hypot(1, step) - 1)
                for at, step in ((5.0, 0.3), (7.0, steps[arm]), (long, steps[arm]))
            ],
        }
        for arm, (more, long) in ends.items()
    }
    for arm, more in {"FedAvg": 0.0, GWS: -2.0, NEVER: -1.0}.items():
        seen["uneven", arm] = {"accuracy": [0.5 + more / 100] * 3}
    return made(seen)


def uneven(worst: float = -12.0, others: float = 0.0) -> Comparison:
    """Six seeds; on the last GWS is so far behind."""
    runs = {}
    rest = [others + more for more in (-1.0, 0.5, -0.5, -1.0, 0.2)]
    for seed, learned in enumerate([*rest, worst]):
        for arm, more in {"FedAvg": 0.0, GWS: learned, NEVER: -2.0}.items():
            row = {"round": 1, "accuracy": 0.5 + more / 100}
            runs["uneven", arm, seed] = fl.History(arm, seed, [row])
    return Comparison(runs, last=1)


def again(learned: float = -4.0, never: float = -1.0, law: float = 0.0) -> Comparison:
    """The worst seed with other draws of the server's images: by so many points."""
    ends = {"FedAvg": 0.0, GWS: learned, NEVER: never, "FedLAW": law}
    seen = {
        (jobs.AGAIN, arm): {"accuracy": [0.5 + more / 100] * 3, "length": [5, 8, 7]}
        for arm, more in ends.items()
    }
    return made(seen)


def test_what_leads_along_the_model_does_not_turn_it():
    """By hand: w of length 2, a step of .6 back along it and .8 across, then a half."""
    w, step = np.array([2.0, 0.0]), np.array([0.6, 0.8])
    row = {
        "length": 2.0,
        "step": 0.5 * np.linalg.norm(step) / 2,  # the factor shortens it
        "longer": np.linalg.norm(w - step) - 2,
        "gamma": 0.5,
    }
    runs: Any = SimpleNamespace(
        last=1, curves=lambda arm, where, what: np.array([[row[what]]])
    )
    assert jobs.turned(runs, GWS, "alike") == pytest.approx([0.4])
    row["step"] *= 2
    assert jobs.turned(runs, "FedAvg", "alike") == pytest.approx([0.4])


def test_much_of_the_gain_has_to_go_with_the_second_job():
    said = jobs.pays(alike())
    assert said["holds"]
    by_hand = [0, 2, 0.5, -1.5, -2, -1]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    assert said["rows"][0].says == "within 0.2"
    assert [row.aside for row in said["rows"]] == [False] * 5 + [True]
    assert said["note"].endswith("FedAvg 0.020, GWS 0.070, never shorter 0.030.")
    planted: list[dict[str, Any]] = [
        {"learned": 0.0, "never": -1.0},
        {"never": 1.2},  # more than half is left
        {"never": 2.0},
        {"at_once": 0.3},  # the moment itself gains
        {"moved": (0.02, 0.03, 0.03)},
        {"moved": (0.03, 0.07, 0.03)},
    ]
    for how in planted:
        assert not jobs.pays(alike(**how))["holds"], how


def test_much_of_the_harm_has_to_go_with_the_second_job():
    said = jobs.costs(uneven(), again())
    assert said["holds"] and jobs.worst(uneven()) == 5
    by_hand = [-4, -1, 0, 3]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    assert said["note"] == "With its own images: GWS -12.0, never shorter -2.0."
    planted = (
        (uneven(worst=3.0, others=3.0), again()),  # there is a gain
        (uneven(), again(learned=0.0)),
        (uneven(), again(never=-3.0)),  # less than a third is gone
        (uneven(), again(never=-4.0)),
        (uneven(), again(law=-1.0)),
    )
    for k, both in enumerate(planted):
        assert not jobs.costs(*both)["holds"], k


def test_the_picture_says_gains_and_lengths():
    alt = drawn(jobs.picture(alike(), again()))
    told = "alike: GWS +2.0, never shorter +0.5 points; lengths FedAvg 9.0, GWS 6.0"
    assert told in alt and "one uneven seed: GWS -4.0, never shorter -1.0" in alt

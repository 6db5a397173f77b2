"""Chapter 5's wrong clinics, by hand."""

import numpy as np
import pytest

from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import wrong
from fedlab_book.chapters.shrinking.found import ELEVENTH
from tests.figure_cases import SEEDS, drawn, made, supported

WHO = [np.array([False, False, True])] * SEEDS


def half(
    fedlaw_: float,
    feddf: float = 0.0,
    gws: float = 0.0,
    alone: float = 12.0,
    eleventh: float = 3.0,
) -> Comparison:
    ends = {"FedAvg": 0, "GWS": gws, "FedLAW": fedlaw_, "FedDF": feddf}
    ends[ELEVENTH] = eleventh
    runs = {(wrong.CROWD, arm): more for arm, more in ends.items()}
    runs[wrong.ALONE, "FedAvg"] = alone
    return made(
        {
            key: {"accuracy": [0.1, *[0.4 + more / 100] * 2]}
            for key, more in runs.items()
        }
    )


@pytest.mark.slow
def test_shares_have_to_rescue_and_the_others_to_stay_behind():
    clean = made({("alike", "FedAvg"): {"accuracy": [0.1, 0.5, 0.5]}})
    said = wrong.rescued(half(10.0), clean)
    by_name = {row.name: row for row in said["rows"]}
    assert supported(said) and by_name["FedLAW minus FedDF"].values == pytest.approx(10)
    assert by_name[f"FedLAW minus {ELEVENTH}"].values == pytest.approx(7)
    assert said["rows"][-1].values == pytest.approx(-2)
    assert "40.1 %; with right labels, as long, 50.1 %." in said["note"]
    rivals = (half(10.0, feddf=11.0), half(10.0, gws=10.0), half(10.0, alone=10.0))
    rivals += (half(10.0, eleventh=10.0),)
    for planted in (half(0.0), *rivals):
        assert not supported(wrong.rescued(planted, clean))


def searched(
    ten: float = 0.19, long: float = 0.04, other: float = 0.0, gain: float = 1.0
) -> Comparison:
    """Three clients, the last wrong: what it keeps each way, and what another has."""
    runs = ((wrong.TEN, ten, 0.0), (wrong.LONG, long, gain))
    return made(
        {
            (wrong.CROWD, way): {
                "accuracy": [0.35 + more / 100],
                "shares": [np.array([1 - kept - other, other, kept])],
            }
            for way, kept, more in runs
        }
    )


def test_a_short_search_ends_near_full_steps_and_a_long_one_far_below():
    said = wrong.stopped_short(searched(), WHO, 17.0)
    assert supported(said)
    assert [r.values[0] for r in said["rows"]] == pytest.approx([2, 4 - 19, 1])
    assert said["note"].startswith("After 800 steps the wrong half keeps 4.0 ± 0.0 %")
    assert "between 0 and 96 %" in said["note"]
    planted = (
        searched(ten=0.3),
        searched(long=0.15),
        searched(other=0.1),  # nobody who is right has nearly nothing
        searched(gain=0.0),
    )
    for k, one in enumerate(planted):
        assert not supported(wrong.stopped_short(one, WHO, 17.0)), k
    alt = drawn(wrong.both_ways(searched(), WHO, 17.0))
    told = "ten steps: the wrong half holds 19.0 percent together, single clinics 19 to"
    assert told in alt and "right labels 0 to 96" in alt and "half 17.0" in alt


def test_the_guess_that_is_right_is_whose_shares_fell():
    only, both, nobody = wrong.GUESSES
    assert wrong.fell(searched(), WHO) == both
    assert wrong.fell(searched(other=0.1), WHO) == only
    assert wrong.fell(searched(long=0.2), WHO) == nobody


def test_without_the_wrong_ones_the_others_hold_what_they_held():
    bench = Bench(samples=200, tests=60)
    how = {"clients": 4, "alpha": 100, "corrupt": 0.5, "how": "permute"}
    crowd = bench.scenario(7, "dirichlet", **how)
    left = wrong.without(crowd)
    stay = [k for k in range(4) if k not in crowd.corrupted]
    assert len(crowd.corrupted) == 2 and len(left) == 2 and not left.corrupted
    for held, k in zip(left.train.indices, stay, strict=True):
        assert (held == crowd.train.indices[k]).all()


def test_half_of_ten_are_wrong_and_the_others_run_alone():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]})
    crowd, alone, who = wrong.half(bench)
    assert len(crowd(7)) == 10 and len(alone(7)) == 5 and who(7).sum() == 5
    right = [len(crowd(7).client(k)) for k in range(10) if not who(7)[k]]
    assert [len(alone(7).client(k)) for k in range(5)] == right

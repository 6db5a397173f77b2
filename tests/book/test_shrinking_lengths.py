"""How long a network becomes under a factor, as FedAvg's own rounds foretell it."""

from collections.abc import Sequence

import numpy as np
import pytest

from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import gains, lengths
from tests.figure_cases import drawn, made

FIXED = gains.FIXED


def lengthened(
    free: Sequence[tuple[float, float]], ends: dict[str, float], more: dict[str, float]
) -> Comparison:
    """FedAvg's length and what is added to it, by round; where the others end."""
    seen = {
        ("alike", "FedAvg"): {
            "length": [x for x, _ in free],
            "longer": [s for _, s in free],
            "accuracy": [0.5] * len(free),
        }
    }
    for arm, end in ends.items():
        seen["alike", arm] = {
            "length": [5.0, *[end] * (len(free) - 1)],
            "longer": [0.1] * len(free),
            "accuracy": [0.5 + more.get(arm, 0) / 100] * len(free),
        }
    return made(seen)


def test_a_length_is_foretold_where_fedavg_adds_what_the_factor_takes():
    """At one half, s has to be the length: 3 added at 2, 3 at 4, so 3 at 3."""
    found = lengthened([(1.0, 0.5), (2.0, 3.0), (4.0, 3.0)], {}, {})
    assert lengths.slope(0.5) == 1
    assert lengths.foretold(found, 0.5) == pytest.approx(3.0)
    assert np.isnan(lengths.foretold(found, 0.2))  # asks for four times the length
    assert np.isnan(lengths.foretold(found, 0.9))  # more is added to the end


@pytest.mark.slow
def test_a_factor_has_to_gain_with_five_epochs_and_to_ruin_with_one():
    """FedAvg's clients add .1 at 5, and .8 to .1 from 6 to 10: below .93's line of
    .0753 at 6.5, and below .97's at 8.0. With one epoch they add .05 at most.
    """
    ample = [(5.0, 0.1), (6.0, 0.8), (7.0, 0.2), (8.0, 0.25), (10.0, 0.1)]
    scarce = [(5.0 + t, 0.05) for t in range(5)]
    up, down = {FIXED: 1.0}, {FIXED: -20.0, gains.MILD: 0.0}

    def said(
        one=scarce,
        five=ample,
        quick=down,
        found=up,
        ends=(6.2, 8.0, 1.0),
        kept: float = 5.5,
    ) -> dict:
        long, mild, short = ends
        brief = lengthened(one, {FIXED: short, gains.MILD: kept}, quick)
        full = lengthened(five, {FIXED: long, gains.MILD: mild}, found)
        return lengths.one_epoch(brief, full)

    right = said()
    assert right["holds"] and "one epoch, 5 rounds: 50.1 %." in right["note"]
    assert [r.values[0] for r in right["rows"]] == pytest.approx([1, -20, 0])
    assert right["rows"][1].name == "γ = 0.93, one epoch"
    planted = (
        said(quick={}),
        said(found={}),
        said(one=ample),
        said(one=[(x, 5.0) for x, _ in scarce]),  # above the line to the end
        said(ends=(7.5, 8.0, 1.0)),
        said(ends=(6.6, 8.0, 1.0)),  # longer than foretold
        said(ends=(6.2, 7.0, 1.0)),
        said(ends=(6.2, 8.0, 3.0)),  # it is long still
        said(quick=down | {gains.MILD: -1.0}),
        said(kept=4.9),  # it withers, too
    )
    assert not any(one["holds"] for one in planted)
    brief = lengthened(scarce, {FIXED: 1.0, gains.MILD: 5.5}, down)
    full = lengthened(ample, {FIXED: 6.2, gains.MILD: 8.0}, up)
    alt = drawn(lengths.by_round(full, brief, 0.93))
    assert "five epochs: at 6.5; it ended at 6.2. one epoch: nowhere, it" in alt
    assert alt.endswith("withers; it ended at 1.0.")
    milder = drawn(lengths.by_round(full, brief, 0.97))
    assert "five epochs: at 8.0; it ended at 8.0" in milder


@pytest.mark.slow
def test_the_knob_of_lengths_goes_from_ruin_to_growth():
    """Half a unit is added at every length: at 10 it needs a factor of .952."""
    free = [(5.0, 0.5), (7.0, 0.5), (10.0, 0.5)]
    runs = lengthened(free, {FIXED: 6.0, gains.MILD: 8.0}, {})
    assert lengths.GAMMAS[0] < 0.9 and lengths.GAMMAS[-1] > 1
    words = {g: drawn(lengths.by_round(runs, runs, g)) for g in (0.89, 0.93, 1.01)}
    assert "five epochs: nowhere, it withers" in words[0.89]
    assert "five epochs: at 6.6; it ended at 6.0" in words[0.93]
    assert "five epochs: nowhere, it grows to the end" in words[1.01]

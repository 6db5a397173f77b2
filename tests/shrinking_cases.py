"""Runs of chapter 4's arms, made by hand, and what its paper prints of them."""

from collections.abc import Mapping, Sequence

from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import gains
from tests.figure_cases import made

FIXED, DECAY, HALF, LEARNED = gains.CAUSES
ONCE, ELEVENTH = gains.ONCE, gains.ELEVENTH
OTHERS = [ONCE, ELEVENTH, gains.MILD, "FedAvg", "FedLAW"]
ARMS = [*gains.CAUSES, *OTHERS]


def ended(
    alike: dict[str, float],
    uneven: dict[str, float],
    own: float = 1.0,
    lost: Mapping[str, float] | None = None,
    at_once: float = 0.0,
    length: Sequence[float] = (5, 6, 6, 6, 6, 6),
    longer: float = 0.5,
    grown: Sequence[float] = (5, 9, 8, 7, 7, 6.5),
    half: float = 8.0,
    last: float = 0.9,
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    FedAvg is right on this part of its clients' `own` samples; others have `lost` so
    many points of it. Networks are so long, those of the learned factor as `grown`, of
    half steps and of what is halved once as `half`; FedAvg's clients add .2 to it in a
    round, others so much `longer`. Factors end at `last`.
    """
    seen = {}
    for where, more in (("alike", alike), ("uneven", uneven)):
        long = {LEARNED: grown, "FedAvg": [9.0] * 6}
        long |= dict.fromkeys((HALF, ONCE), [half] * 6)
        for arm in ARMS:
            seen[where, arm] = {
                "accuracy": [0.1] + [0.5 + more.get(arm, 0) / 100] * 5,
                "own": [0.2] + [own - (lost or {}).get(arm, 0) / 100] * 5,
                "at_once": [at_once] * 6,
                "gamma": [1.2] + [last] * 5,
                "length": long.get(arm, length),
                "longer": [0.2 if arm == "FedAvg" else longer] * 6,
            }
    return made(seen)


PRINTED = {
    ("hand", "alike"): {"γ = 0.93": [4.0], "γ = 0.97": [3.0]},
    ("why", "alike"): {"γ = 0.93": [4.0, 1.0], DECAY: [2.0], LEARNED: [5.0]},
    ("images", "alike"): {"FedLAW": [4.0]},
    ("images", "uneven"): {"FedLAW": [2.5]},
    ("one epoch", "alike"): {LEARNED: [3.8]},
    ("hand", "uneven"): {"γ = 0.93": [1.5, -2.0]},
    ("wrong", "alike"): {"FedLAW": [5.5], "FedDF": [6.0]},
    ("learned", "all"): {"alike, at the end": [-0.053]},
}

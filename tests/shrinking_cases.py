"""Runs of chapter 4's arms, made by hand, and what its paper prints of them."""

from fedlab_book.bench import Comparison
from fedlab_book.chapters.shrinking import gains
from tests.figure_cases import made

FIXED, DECAY, ONCE, LEARNED = gains.FIXED, gains.DECAY, gains.ONCE, gains.GWS
ELEVENTH = gains.ELEVENTH
ARMS = [FIXED, DECAY, LEARNED, ELEVENTH, gains.MILD, "FedAvg", "FedLAW"]


def ended(
    alike: dict[str, float], uneven: dict[str, float], last: float = 0.9
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    FedAvg's network is 9 long, others' 6; that of the learned factor ends at 6.5.
    Factors end at `last`.
    """
    seen = {}
    long = {LEARNED: [5, 9, 8, 7, 7, 6.5], "FedAvg": [9.0] * 6}
    for where, more in (("alike", alike), ("uneven", uneven)):
        for arm in ARMS:
            seen[where, arm] = {
                "accuracy": [0.1] + [0.5 + more.get(arm, 0) / 100] * 5,
                "gamma": [1.2] + [last] * 5,
                "length": long.get(arm, [5, 6, 6, 6, 6, 6]),
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

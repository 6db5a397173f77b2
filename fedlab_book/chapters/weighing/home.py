"""Places to turn from size: one clinic knows more, or all know all.

    home = bench.place("niid2", biased=5, unbiased=1)
    loud = bench.compare(home, arms(clinic), 20)
    louder(loud)
    finding("...", **elsewhere(found, loud))

At home six clinics have one size: five know two letters each, the sixth all ten. Its
weight is laid down, or FedDisco's.
"""

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.weighing import big
from fedlab_book.chapters.weighing.big import END, called
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, sweep
from fedlab_browser.playground.weights import LastShare

EARLY = (2, 5)
EQUAL, DISCO, HALF, ALONE = "1/6", "FedDisco’s", "1/2", "1"
GUESSES = {
    "As loud as each of the others: 1/6": "Not less than FedDisco's. But we "
    "see no difference of a point between the two.",
    "A little louder, as FedDisco has it": "Sooner, yes. In the end it is not ahead.",
    "These two, alike": "FedDisco's is sooner. But each of the others has most of its "
    "two letters, and is heard for twenty rounds.",
    "As loud as the others together: 1/2": "The first rounds like it. In the end it "
    "is not ahead.",
    "It alone: 1": "It has a sixth of all images, and learns from nobody.",
}


def arms(clinic: fl.Training) -> dict[str, fl.Method]:
    """FedAvg by the sixth clinic's weight, and FedDisco."""
    by_hand = {HALF: LastShare(0.5), ALONE: LastShare(1.0)}
    return {
        EQUAL: fl.fedavg(clinic),
        DISCO: fl.feddisco(clinic),
        **{name: fl.fedavg(clinic, weigh=share) for name, share in by_hand.items()},
    }


def gain(loud: Comparison, arm: str, rounds: tuple[int, int]) -> np.ndarray:
    """Points over equal weights, which are weights by size here."""
    return big.ahead(loud, arm, "", rounds, EQUAL)


def right(loud: Comparison) -> str:
    """Answer to which weight of the sixth reads most at the end, as intervals say."""
    equal, disco, both, half, alone = GUESSES
    ends = {arm: gain(loud, arm, END) for arm in (HALF, ALONE, DISCO)}
    best = max(ends, key=lambda arm: ends[arm].mean())
    if best != DISCO and side(ends[best]) == 1:
        return half if best == HALF else alone
    if Row("", ends[DISCO], within=1).near:
        return both
    return {1: disco, -1: equal, 0: both}[side(ends[DISCO])]


def louder(loud: Comparison) -> Panel:
    """Gain by the sixth clinic's weight, in early rounds and at the end."""
    arms = (EQUAL, DISCO, HALF, ALONE)
    lines = {
        called(t): np.stack([gain(loud, arm, t) for arm in arms], axis=1)
        for t in (EARLY, END)
    }
    colours = dict(zip(lines, ("orange", "blue"), strict=True))
    along = "weight of the sixth clinic"
    return sweep(lines, arms, label="points over equal", along=along, colours=colours)


def elsewhere(found: Comparison, loud: Comparison) -> Facts:
    """Arguments of `finding`: one clinic knows more, all know all; over size."""
    one = {
        (DISCO, EARLY): {"sign": 1},
        (DISCO, END): {"within": 1},
        (HALF, END): {},
        (ALONE, END): {"sign": -1},
    }
    rows = [
        Row(f"one knows more: {arm}, {called(t)}", gain(loud, arm, t), **more)
        for (arm, t), more in one.items()
    ]
    for t, sign, within in ((big.EARLY, -1, None), (END, 0, 1)):
        for arm in (big.DISCO, big.EQUAL):
            name, more = f"all know all: {arm}, {called(t)}", (arm, big.EVERY, t)
            ahead = big.ahead(found, *more)
            rows.append(Row(name, ahead, sign=sign, within=within))
    return {"rows": rows, "holds": rows[1].near}

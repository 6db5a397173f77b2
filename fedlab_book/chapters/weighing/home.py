"""Places to turn from size: one clinic knows more, all know all, the paper's scale.

    home = bench.place("niid2", biased=5, unbiased=1)
    loud = bench.compare(home, arms(clinic), 20)
    louder(loud)
    stated("...", **elsewhere(found, loud, measured()))

At home six clinics have one size: five know two letters each, the sixth all ten. Its
weight is laid down, or FedDisco's.
"""

from typing import Any

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Comparison
from fedlab_book.chapters.weighing import big
from fedlab_book.chapters.weighing.big import END, called, row
from fedlab_book.chapters.weighing.scale import Scale
from fedlab_book.panels import Panel, sweep
from fedlab_browser.playground.weights import LastShare

EARLY = (2, 5)
EQUAL, DISCO, HALF, ALONE = "1/6", "FedDisco’s", "1/2", "1"
GUESSES = {
    "As loud as each of the others: 1/6": "It knows more. But the others are heard for "
    "twenty rounds, and each of them has most of its two letters.",
    "A little louder, as FedDisco has it": "Sooner, yes. In the end it is not ahead.",
    "As loud as the others together: 1/2": "The first rounds like it. Later one misses "
    "the letters that the others have most of.",
    "It alone: 1": "It has a sixth of all letters, and learns from nobody.",
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
    """Answer to which weight of the sixth reads most at the end."""
    ends = [gain(loud, arm, END).mean() for arm in (EQUAL, DISCO, HALF, ALONE)]
    return [*GUESSES][int(np.argmax(ends))]


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


def elsewhere(found: Comparison, loud: Comparison, full: Scale) -> dict[str, Any]:
    """Arguments of `stated`: one clinic knows more, all know all, the paper's scale."""
    knows = {t: gain(loud, DISCO, t) for t in (EARLY, END)}
    rows = [row(f"one knows more, {called(t)}", v) for t, v in knows.items()]
    rows[1] = row(rows[1].name, knows[END], within=1)
    sides: list[int | None] = [1, None]
    for t, expected in ((big.EARLY, -1), (END, 0)):
        for arm in (big.DISCO, big.EQUAL):
            name = f"all know all, {called(t)}" + ": equal" * (arm == big.EQUAL)
            rows.append(row(name, big.ahead(found, arm, big.EVERY, t)))
            sides.append(expected)
    name = "at the paper’s scale, the last ten rounds"
    rows.append(row(name, full.end, paper=full.paper, ran=full.ran))
    facts = {r.name: r for r in rows}
    return {"facts": facts, "sides": [*sides, 1], "holds": rows[1].near}

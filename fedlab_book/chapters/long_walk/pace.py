"""Ten clinics take 400 steps each: how many between two meetings?

    found = bench.compare(places, {named(way, s): ...}, 400 // s)
    drawn(by_pace(found))
    finding("...", **facts(found))

An arm is named by its way to count and its steps between meetings, `named(way, steps)`.
"""

import numpy as np

from fedlab_book.bench import Comparison, side
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, sweep

SIZE, EQUAL, DISCO = "by size", "equal", "FedDisco"
BIG, UNEVEN = "two big ones", "uneven"
STEPS, ALL = (5, 20, 50), 400
GUESSES = {
    "As much when they meet seldom as when they meet often": "The letters are the "
    "same, and so is the number of steps. But how far they walk alone is not.",
    "More when they meet seldom": "Short walks hardly ask for other weights than "
    "sizes; long ones do, as in the valleys.",
    "More when they meet often": "Then equal weights are used more often. But each "
    "time there is less for them to mend.",
    "Nothing, at either pace": "So it would be if sizes were right for any walk.",
}


def named(way: str, steps: int) -> str:
    """An arm: how it counts, and how many steps lie between two meetings."""
    return f"{way}, {steps} steps"


def read(found: Comparison, way: str, steps: int, where: str = BIG) -> np.ndarray:
    """Letters read after all steps, in percent, seed by seed."""
    return 100 * found.curves(named(way, steps), where)[:, -1]


def gain(
    found: Comparison, way: str, steps: int, where: str = BIG, over: str = SIZE
) -> np.ndarray:
    """Points that one way to count is ahead of another at the same pace."""
    return read(found, way, steps, where) - read(found, over, steps, where)


def right(found: Comparison) -> str:
    """Answer to when equal weights gain more, as far as the intervals say."""
    same, seldom, often, nothing = GUESSES
    first, last = (gain(found, EQUAL, s) for s in (STEPS[0], STEPS[-1]))
    if side(first) < 1 and side(last) < 1:
        return nothing
    return {1: seldom, -1: often, 0: same}[side(last - first)]


def by_pace(found: Comparison) -> Panel:
    """Letters read with two big ones, by the steps between meetings."""
    values = {
        way: np.stack([read(found, way, s) for s in STEPS], axis=1)
        for way in (SIZE, EQUAL, DISCO)
    }
    return sweep(
        values,
        [str(s) for s in STEPS],
        label="letters read (%)",
        along="steps between meetings",
        colours={SIZE: "FedAvg", EQUAL: "Equal", DISCO: "FedDisco"},
    )


def facts(found: Comparison) -> Facts:
    """Arguments of `finding`: the longer the walk, the more equal weights gain."""
    gains = {s: gain(found, EQUAL, s) for s in STEPS}
    short, long = STEPS[0], STEPS[-1]
    uneven = gain(found, EQUAL, long, UNEVEN)
    apart = gain(found, DISCO, long, over=EQUAL)
    rows = [
        Row(f"equal, {s} steps", v, sign=None if s == short else 1)
        for s, v in gains.items()
    ]
    grown = gains[long] - gains[short]
    rows += [
        Row(f"equal, {long} steps minus {short}", grown, sign=1),
        Row(f"uneven: equal, {long} steps", uneven),
        Row(f"FedDisco over equal, {long} steps", apart, within=1),
    ]
    return {"rows": rows, "holds": rows[-1].near and side(uneven) < 1}

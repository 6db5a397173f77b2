"""Ten clinics take 400 steps each: how many alone, before they meet?

    found = bench.compare(places, {named(5): ...}, 80, judge_every=80)
    found |= ...
    drawn(by_pace(found))
    finding("...", **facts(found))

Places are alike, uneven, and large and small; an arm is named by its steps between two
meetings.
"""

from collections.abc import Mapping

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Comparison, Place, pm, side
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, sweep
from fedlab_core.errors import require
from fedlab_core.metrics import evaluate, mean_interval

ALIKE, UNEVEN, SIZES = ("alike", "uneven", "large and small")
STEPS, ALL = (5, 20, 100, 400), 400
MORE, ALONE = "four times the steps", "alone"
LITTLE = 2  # points that a loss may have, to be called none worth the meetings
GUESSES = {
    "Both read as much as with eighty meetings": "The steps are as many. The alike do "
    "as well; but look at the uneven ones.",
    "Both read less": "So do the uneven ones. The alike lose nothing that we can see.",
    "The uneven read less, the alike as much": "Alike clinics would have made much the "
    "same steps together.",
    "The uneven read more: each becomes a specialist": "Each does. But the average of "
    "ten specialists knows less than ten who met often.",
}


def named(steps: int) -> str:
    """An arm: how many steps lie between two meetings."""
    return f"{steps} steps"


def read(found: Comparison, arm: str | int, where: str) -> np.ndarray:
    """Accuracy after the last meeting, in percent, seed by seed."""
    name = arm if isinstance(arm, str) else named(arm)
    return 100 * found.curves(name, where)[:, -1]


def more(found: Comparison, arm: str | int, over: int, where: str) -> np.ndarray:
    """Points that one pace is ahead of another."""
    return read(found, arm, where) - read(found, over, where)


def none_worth(values: np.ndarray) -> bool:
    """True if a loss of `LITTLE` points or more is outside the interval."""
    mean, half = mean_interval(values)
    return bool(mean - half > -LITTLE)


def right(found: Comparison) -> str:
    """Answer to what four meetings cost, as far as the intervals say."""
    same, both, uneven, special = GUESSES
    alike, other = (side(more(found, 100, 5, w)) for w in (ALIKE, UNEVEN))
    if other == 1:
        return special
    if other == 0:
        return same
    return both if alike == -1 else uneven


def by_pace(found: Comparison) -> Panel:
    """Accuracy by the steps between meetings, in all three places."""
    values = {
        where: np.stack([read(found, s, where) for s in STEPS], axis=1)
        for where in (ALIKE, SIZES, UNEVEN)
    }
    return sweep(
        values,
        [str(s) for s in STEPS],
        label="accuracy (%)",
        along="steps between two meetings",
        colours={ALIKE: "blue", SIZES: "green", UNEVEN: "orange"},
    )


def facts(found: Comparison) -> Facts:
    """Arguments of `finding`: alike clinics may walk far, uneven ones may not."""
    free = {
        "alike: 4 meetings, not 80": more(found, 100, 5, ALIKE),
        "large and small: 4, not 80": more(found, 100, 5, SIZES),
    }
    costly = {
        "alike: one meeting, not 4": more(found, 400, 100, ALIKE),
        "uneven: 20 meetings, not 80": more(found, 20, 5, UNEVEN),
        "uneven: 4 meetings, not 20": more(found, 100, 20, UNEVEN),
        "uneven: 16 × 100 steps, not 80 × 5": more(found, MORE, 5, UNEVEN),
    }
    rows = [Row(name, v) for name, v in free.items()]
    rows += [Row(name, v, sign=-1) for name, v in costly.items()]
    return {"rows": rows, "holds": all(map(none_worth, free.values()))}


def bill(world: fl.World) -> str:
    """The cost of meetings, in numbers that travel."""
    numbers = sum(w.numel() for w in world.model.parameters())
    one = 2 * 4 * numbers * len(world) / 1e6
    costs = (f"{ALL // s} cost {one * ALL / s:.1f} MB" for s in (100, 5))
    return (
        f"Our network has {numbers:,} numbers of four bytes. They go down and up, for "
        f"{len(world)} clinics: a meeting costs {one:.1f} MB; {', '.join(costs)}."
    )


def own(found: Comparison, arm: str, where: str, place: Place) -> np.ndarray:
    """Percent of its own letters that a clinic reads, mean over clinics, by seed."""
    each = []
    for history in found.of(arm, where):
        world = place(history.seed)
        counts = world.counts.double()
        test = world.x_test, world.y_test, counts.shape[1]
        rates = evaluate(world.model, history.states, *test).per_class
        mine = rates[history.group_of].cpu() * counts
        each.append(float((mine.sum(1) / counts.sum(1)).mean()))
    return 100 * np.array(each)


def never(found: Comparison, places: Mapping[str, Place]) -> str:
    """Accuracy of uneven clinics who never meet, and of those who meet often."""
    often, arms = named(STEPS[0]), (ALONE, named(STEPS[0]))
    every = [read(found, arm, UNEVEN) for arm in arms]
    mine = [own(found, arm, UNEVEN, places[UNEVEN]) for arm in arms]
    apart = side(every[0] - every[1]), side(mine[0] - mine[1])
    require(apart == (-1, 1), f"alone and {often} are not apart as told: {apart}")
    told = [[pm(v, sign="") for v in pair] for pair in (every, mine)]
    return (
        f"Of *all* letters an uneven clinic alone reads {told[0][0]} %; the average of "
        f"clinics that meet often, {told[0][1]} %. Of **its own** letters, in the mix "
        f"that it holds, it reads {told[1][0]} % alone; the average, {told[1][1]} %."
    )

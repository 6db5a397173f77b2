"""Pairs of clients that differ by a known amount: alone, and together.

points = [(200, 0), (200, 2), (50, 2)]  # samples of each, classes renamed
met = bench.compare(pairs(bench, points), arms, rounds=16, judge_every=16)
two = judged(met)
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from IPython.display import HTML

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place, side
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, drawn, sweep
from fedlab_core.errors import require

Point = tuple[int, int]  # samples of each client, classes that the second renames

CLASSES = 10
OWN_TESTS = 500  # images that each client is judged on
TRAIN = 800  # samples of a seed; a client has at most half of them
ARMS = ("alone", "together")
FAR = 2  # classes renamed where the number of samples is what changes
MANY = 200  # samples where the distance is
GUESSES = {
    "Yes, for any m: four fifths agree, and twice the data is twice the data": "Wrong "
    "names stay wrong, however many samples there are.",
    "It depends on m: with few samples together, with many alone": "Who has few has a "
    "poor model, and others' samples help it. Who has many has little left to gain, "
    "and the wrong names stay.",
    "It depends on m: with few samples alone, with many together": "With more samples "
    "as large a part of them is named wrongly; but a client that has many needs the "
    "others less.",
    "No, for any m: no model can be right for both": "It need not be right for both: "
    "it only has to be better than what few samples give.",
}


def renamed(classes: int) -> np.ndarray:
    """Names a client has for the classes, if it passes on those of the first few."""
    names = np.arange(CLASSES)
    names[:classes] = np.roll(names[:classes], 1)
    return names


def pairs(bench: Bench, points: Sequence[Point]) -> Place:
    """A pair of clients for every point, all of them in one world of a seed.

    All pairs hold the same first samples: the first clients those of one half of the
    data, the second clients those of the other.
    """
    half = TRAIN // 2
    most = max(m for m, _ in points)
    require(most <= half, f"a client has at most {half} samples, not {most}")
    enough = replace(bench, samples=TRAIN, tests=2 * OWN_TESTS)

    def made(seed: int) -> fl.Scenario:
        data = enough.task(seed)
        train, test, names = [], [], []
        for m, classes in points:
            train += [np.arange(m), half + np.arange(m)]
            test += [np.arange(OWN_TESTS), OWN_TESTS + np.arange(OWN_TESTS)]
            names += [np.arange(CLASSES), renamed(classes)]
        both = replace(
            data,
            x_train=data.x_train[np.concatenate(train)],
            y_train=_named(data.y_train, train, names),
            x_test=data.x_test[np.concatenate(test)],
            y_test=_named(data.y_test, test, names),
        )
        held, own = (
            fl.Partition("pairs", {"seed": seed}, _in_turn(parts))
            for parts in (train, test)
        )
        return fl.Scenario(both, held, own)

    return bench.place(made)


def judged(met: Comparison) -> np.ndarray:
    """Accuracy in percent, mean of a pair's two clients: (seeds, arms, points)."""
    runs = [[np.asarray(h.clients) for h in met.of(arm)] for arm in ARMS]
    each = np.stack([np.stack(seeds) for seeds in runs], axis=1)
    return 100 * each.reshape(*each.shape[:2], -1, 2).mean(-1)


def by_samples(points: Sequence[Point]) -> list[int]:
    """Places of the points at the fixed distance, by rising number of samples."""
    return sorted(
        (i for i, p in enumerate(points) if p[1] == FAR), key=points.__getitem__
    )


def by_distance(points: Sequence[Point]) -> list[int]:
    """Places of the points with the fixed number of samples, by rising distance."""
    return sorted(
        (i for i, p in enumerate(points) if p[0] == MANY), key=points.__getitem__
    )


def right(points: Sequence[Point], two: np.ndarray) -> str:
    """The guess that the runs bear out, from the gains that their intervals decide."""
    always, few, many, never = GUESSES
    gain = two[:, 1] - two[:, 0]
    decided = [side(gain[:, i]) for i in by_samples(points) if side(gain[:, i])]
    if len({*decided}) > 1:
        return few if decided[0] == 1 else many
    return always if 1 in decided else never


def picture(points: Sequence[Point], two: np.ndarray, caption: str) -> HTML:
    """Alone and together, against the distance and against the samples."""
    far, many = by_distance(points), by_samples(points)

    def panel(some: Sequence[int], at: list[str], along: str, title: str) -> Panel:
        values = {arm: two[:, a, some] for a, arm in enumerate(ARMS)}
        looks = {"alone": "Local", "together": "FedAvg"}
        label = "accuracy on own kind (%)"
        how = {"along": along, "title": title, "colours": looks}
        return sweep(values, at, label=label, **how)

    left = [f"{points[i][1] / CLASSES:g}" for i in far], "distance D", f"m = {MANY}"
    here = [f"{points[i][0]}" for i in many], "samples m", f"D = {FAR / CLASSES:g}"
    return drawn(panel(far, *left), panel(many, *here), caption=caption)


def facts(points: Sequence[Point], two: np.ndarray) -> Facts:
    """Gains of training together, and whether it helps few samples, harms many."""
    gain = two[:, 1] - two[:, 0]
    rows = []
    for i in dict.fromkeys(by_samples(points) + by_distance(points)):
        m, classes = points[i]
        sign = None if classes != FAR else 1 if m < MANY else -1
        name = f"D = {classes / CLASSES:g}, m = {m}"
        rows.append(Row(name, gain[:, i], sign=sign))
    return {"rows": rows, "unit": "points over alone"}


def _named(
    y: np.ndarray, held: Sequence[np.ndarray], names: Sequence[np.ndarray]
) -> np.ndarray:
    """The labels of all clients in turn, as each calls them."""
    return np.concatenate([n[y[i]] for i, n in zip(held, names, strict=True)])


def _in_turn(held: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Places of all clients' samples, once they lie one after the other."""
    ends = np.cumsum([0] + [len(i) for i in held])
    return tuple(np.arange(a, b) for a, b in itertools.pairwise(ends))

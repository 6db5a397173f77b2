"""Ten clinics, two of them big: three ways to count them, and all images pooled.

    places = {TWO: dealt(bench, counts), EVERY: dealt(bench, others)}
    found = bench.compare(places, ways, {TWO: 40, EVERY: 20})
    one = dealt(bench, counts.sum(0, keepdims=True))
    pooled = bench.compare({TWO: one}, {POOLED: ways[SIZE]}, 20)
    finding("...", **two_letters(found, pooled))

Numbers are seed by seed, in percent or points; rounds count from one.
"""

from dataclasses import replace

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place, side
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, course
from fedlab_core.partition.designs import designed
from fedlab_core.rounds.records import Round

SIZE, EQUAL, DISCO = "by size", "equal", "FedDisco"
POOLED = "pooled, with everybody's steps"
TWO, EVERY = "two letters", "all ten"
EARLY, END, LATE = (2, 4), (16, 20), (36, 40)  # rounds, first and last
KNOWN = 4  # the first letters, which the big ones know between them
GUESSES = {
    "By size": "The two big ones have most of the say, and know four letters of ten.",
    "Equal, clearly above FedDisco": "FedDisco weighs the mix, too. But its weights "
    "are nearly equal here, as you will see.",
    "FedDisco, clearly above equal": "It hears whoever has an even mix. But here these "
    "are the small ones, and to count equally is to hear them, too.",
    "Equal and FedDisco, alike": "Both quieten the two big ones, and between them we "
    "see no difference of a point.",
}
_LOOKS = {SIZE: "FedAvg", EQUAL: "Equal", DISCO: "FedDisco", POOLED: "Centralised"}


def dealt(bench: Bench, counts: np.ndarray) -> Place:
    """Clinics with so many of each letter, drawn anew for every seed."""

    def made(seed: int) -> fl.Scenario:
        data = bench.task(seed)
        return fl.Scenario(data, designed(data.y_train, counts, seed=seed))

    return bench.place(made)


def by_letter(now: Round) -> dict[str, list[float]]:
    """Accuracy on each letter."""
    return {"letters": now.scores.per_class[0].tolist()} if now.scores else {}


def on_letters(found: Comparison, which: slice) -> np.ndarray:
    """Points that equal weights are ahead of size at the end, on some letters."""
    first, last = END
    equal, size = (
        found.curves(arm, TWO, "letters")[:, first - 1 : last, which].mean(axis=(1, 2))
        for arm in (EQUAL, SIZE)
    )
    return 100 * (equal - size)


def read(
    found: Comparison, arm: str, where: str, rounds: tuple[int, int]
) -> np.ndarray:
    """Accuracy on average over some rounds."""
    first, last = rounds
    return 100 * found.curves(arm, where)[:, first - 1 : last].mean(axis=1)


def ahead(
    found: Comparison, arm: str, where: str, rounds: tuple[int, int], over: str = SIZE
) -> np.ndarray:
    """Points that one way to count is ahead of another."""
    return read(found, arm, where, rounds) - read(found, over, where, rounds)


def called(rounds: tuple[int, int]) -> str:
    """Rounds as a row names them."""
    return f"rounds {rounds[0]} to {rounds[1]}"


def two_letters(found: Comparison, pooled: Comparison) -> Facts:
    """Arguments of `finding`: where the big ones know two letters each."""
    one = read(pooled, POOLED, TWO, END)
    early, end, late = (ahead(found, EQUAL, TWO, t) for t in (EARLY, END, LATE))
    few, many = (on_letters(found, s) for s in (slice(KNOWN), slice(KNOWN, None)))
    disco, apart = (ahead(found, DISCO, TWO, END, over) for over in (SIZE, EQUAL))
    over = {arm: one - read(found, arm, TWO, END) for arm in (SIZE, EQUAL)}
    rows = [
        Row(f"equal, {called(EARLY)}", early, sign=-1),
        Row(f"equal, {called(END)}", end, sign=1),
        Row("the same, on the four letters of the big", few, sign=-1),
        Row("the same, on the other six", many, sign=1),
        Row(f"equal, {called(LATE)}", late, sign=1),
        Row(f"FedDisco, {called(END)}", disco, sign=1),
        Row(f"pooled, {called(END)}", over[SIZE], sign=1),
        Row("pooled, over equal", over[EQUAL], sign=0),
        Row("FedDisco, over equal", apart, within=1),
    ]
    return {"rows": rows, "holds": rows[-1].near and side(end - late) == 1}


def right(found: Comparison) -> str:
    """Answer to who reads most at the end, as far as the intervals say."""
    size, equal, disco, both = GUESSES
    pairs = ((EQUAL, SIZE), (DISCO, SIZE), (EQUAL, DISCO))
    sides = [side(ahead(found, a, TWO, END, b)) for a, b in pairs]
    if 1 not in sides[:2]:
        return size
    if Row("", ahead(found, EQUAL, TWO, END, DISCO), within=1).near:
        return both
    return {1: equal, -1: disco, 0: both}[sides[2]]


def by_round(found: Comparison, pooled: Comparison) -> tuple[Panel, Panel]:
    """Accuracy of all ways for twenty rounds; the gain of equal weights for all."""
    curves = {
        arm: 100 * found.curves(arm, TWO)[:, : END[1]] for arm in (SIZE, EQUAL, DISCO)
    }
    curves[POOLED] = 100 * pooled.curves(POOLED, TWO)[:, : END[1]]
    gain = 100 * (found.curves(EQUAL, TWO) - found.curves(SIZE, TWO))
    title = "equal minus size"
    less = course({title: gain}, label="points", title=title, zero=True)
    read = course(curves, label="accuracy (%)", title="accuracy", colours=_LOOKS)
    return read, replace(less, names=None)

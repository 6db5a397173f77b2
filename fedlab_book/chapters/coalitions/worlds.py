"""Ten clinics in two worlds of letters, and what each reads of its own.

The first five hold five letters, the other five five others, fewer of each. Within a
world two kinds share three of their four letters.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.display import HTML

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place, pm
from fedlab_book.findings import Row, finding
from fedlab_book.panels import bars, drawn, sweep
from fedlab_browser.playground.observers import own_letters
from fedlab_browser.playground.task import divided
from fedlab_core.errors import require
from fedlab_core.methods.clustering import parameter_distances
from fedlab_core.rounds.records import Round

CLINICS, LARGE, SMALL = 10, slice(0, 5), slice(5, 10)
ALONE, SIZE, EQUAL = "alone", "all ten, by size", "all ten, equally"
TUNED, NOVA = "equally, fine-tuned", "FedNova"
KINDS, SPLIT, WORLDS = "four kinds", "A, B, small ones", "two worlds"
ONE, TWO = "small ones and one large", "small ones and two large"
ONE_EQUAL = "one large, equally"
ROUNDS, EVERY, LAST = 20, 2, 3  # judged every so many rounds; so many last ones count
GUESSES = {
    "They gain most: they had least": "The others' letters are not theirs. A model "
    "averaged by size hardly ever names a letter that only the small ones have.",
    "They gain a little, less than the large ones": "They would, if all held the same "
    "letters. The large ones do gain.",
    "They lose a little: the large ones dominate": "They dominate indeed, and in every "
    "round: what the small ones teach the model is gone in its next average.",
    "Their model fails on nearly every image": "The small ones hold less than a fifth "
    "of the letters, the others none of these. The model hardly ever says one of them.",
}


def dealt(ratio: float) -> np.ndarray:
    """Letters of each kind that each clinic holds, as in the playground."""
    return divided("worlds", CLINICS, ratio, 0).counts


def place(bench: Bench, held: np.ndarray) -> Place:
    """Each seed's letters, dealt out like that."""

    def made(seed: int) -> fl.Scenario:
        data = bench.task(seed)
        return fl.Scenario(data, fl.designed(data.y_train, held, seed=seed))

    return bench.place(made)


def seen(now: Round) -> dict[str, list]:
    """Own letters that each reads, in the last rounds judged; distances in round 1."""
    if now.number == 1:
        return {"far": parameter_distances(now.trained.states).tolist()}
    last = now.number > ROUNDS - EVERY * LAST and now.number % EVERY == 0
    return {"own": own_letters(now)} if last else {}


def trap(found: Comparison) -> str:
    """How far models that trained alone for a round are apart, small and large ones."""
    far = found.curves(ALONE, what="far")[:, 0]
    small, large = far[:, 5:7, 7:].mean((1, 2)), far[:, 0, 1]
    require(bool((small < large).all()), "small ones of two kinds are not nearer")
    return (
        f"After one round alone, two small clinics of *different* kinds are "
        f"{pm(small, 2, '')} apart by their parameters, two large ones of the *same* "
        f"kind {pm(large, 2, '')}."
    )


def read(found: Comparison, arm: str, who: slice = slice(None)) -> np.ndarray:
    """Percent of their own letters that some clinics read, on average: one a seed."""
    return 100 * found.curves(arm, what="own")[..., who].mean((1, 2))


def more(found: Comparison, arm: str, over: str, who: slice = SMALL) -> np.ndarray:
    """Points that some clinics have more in one arm than in another."""
    return read(found, arm, who) - read(found, over, who)


def right(found: Comparison) -> str:
    """The guess on the small clinics in one model by size that the runs bear out."""
    most, little, less, fails = GUESSES
    change = more(found, SIZE, ALONE).mean()
    if change > 0:
        return most if change > more(found, SIZE, ALONE, LARGE).mean() else little
    return fails if read(found, SIZE, SMALL).mean() < 10 else less


def each(found: Comparison, arms: Sequence[str], caption: str) -> HTML:
    """Bars of what every clinic reads of its own letters."""
    values = {a: 100 * found.curves(a, what="own").mean((0, 1)) for a in arms}
    colours = dict(zip(arms, ("rose", "blue", "orange"), strict=False))
    names = [str(k + 1) for k in range(CLINICS)]
    label, along = "own letters read (%)", "clinic (6 to 10 are small)"
    shown = bars(values, names, label=label, along=along, colours=colours)
    return drawn(shown, caption=caption)


def blame(found: Comparison, sentence: str, **how: Any) -> HTML:
    """The small clinics' loss in one model, and how much of it was the weights'."""
    rows = [
        (SIZE, ALONE, -1),
        (EQUAL, SIZE, 1),
        (EQUAL, ALONE, -1),
        (NOVA, EQUAL, None),
        (TUNED, ALONE, None),
        (WORLDS, ALONE, 1),
    ]
    every = [(*row, SMALL) for row in rows]
    return _finding(found, sentence, every, **how)


def stranger(found: Comparison, sentence: str, **how: Any) -> HTML:
    """The gain of the small ones' coalition, and what one large clinic does to it."""
    rows = [
        (WORLDS, KINDS, 1, SMALL),
        (ONE, WORLDS, -1, SMALL),
        (ONE, ALONE, -1, SMALL),
        (ONE_EQUAL, WORLDS, -1, SMALL),
        (ONE_EQUAL, ONE, 1, SMALL),
        (WORLDS, ALONE, 1, LARGE),
        (SPLIT, WORLDS, None, LARGE),
    ]
    return _finding(found, sentence, rows, **how)


def strangers(found: Comparison, caption: str) -> HTML:
    """Own letters that the five small ones read, by how many large ones join them."""
    arms = {"0": WORLDS, "1": ONE, "2": TWO, "5": SIZE}
    values = {
        "the five small ones": np.stack(
            [read(found, arm, SMALL) for arm in arms.values()], 1
        ),
        ALONE: np.repeat(read(found, ALONE, SMALL)[:, None], len(arms), 1),
    }
    label, along = "own letters read (%)", "large clinics that join them"
    looks = {"the five small ones": "blue", ALONE: "rose"}
    return drawn(
        sweep(values, [*arms], label=label, along=along, colours=looks), caption=caption
    )


def _finding(
    found: Comparison,
    sentence: str,
    rows: Sequence[tuple[str, str, int | None, slice]],
    **how: Any,
) -> HTML:
    facts = []
    for arm, over, sign, who in rows:
        name = f"{arm}, minus {over}" + " (the large)" * (who == LARGE)
        facts.append(Row(name, more(found, arm, over, who), sign=sign))
    return finding(sentence, facts, note="Of the small, unless it says large.", **how)

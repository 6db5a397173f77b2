"""Ten networks that trained alone, and their average: from one start, and from ten.

walked = bench.each(lambda seed: averaged(bench, alike, seed, 400))
predict("...", GUESSES, right=right(walked))
drawn(picture(walked))
"""

from collections.abc import Sequence

import numpy as np
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Place, pm, side
from fedlab_book.panels import Panel, bars
from fedlab_core import tree
from fedlab_core.engine import Client
from fedlab_core.metrics import evaluate
from fedlab_core.models import initial_state

Walked = dict[str, np.ndarray]  # by start: what each clinic reads, and the average last
ONE, TEN = "one common start", "ten different starts"
GUESSES = {
    "Less than each of them: networks are not linear": "So it is if they started from "
    "ten different networks. From a common one they stay close enough.",
    "As much as a typical one: nobody saw more letters": "No single one did. But what "
    "ten have learnt goes into the average.",
    "More than the best of them": "What they agree on stays, and where they err each "
    "in a way of its own it partly cancels.",
}


def averaged(bench: Bench, place: Place, seed: int, steps: int) -> Walked:
    """Percent that each clinic reads after so many steps alone, and their average."""
    world = place(seed)
    make, held = bench.network(bench.task(seed)), world.partition.indices
    ten = range(len(held))
    clients = [Client(torch.as_tensor(held[k]), (seed, 0, k)) for k in ten]
    training = fl.Training(lr=0.1, batch_size=16, iterations=steps)
    shares = world.counts.sum(1) / world.counts.sum()

    def walked(starts: list[tree.Tree]) -> np.ndarray:
        given = fl.ClientInput(tree.stack(starts))
        ends = fl.train(world.model, world.x, world.y, clients, given, training).states
        mean = tree.stack([tree.weighted_sum(ends, shares.float())])
        return np.concatenate([_read(world, states) for states in (ends, mean)])

    first = [initial_state(make, 100 * seed + k) for k in ten]
    return {ONE: walked([first[0]] * len(held)), TEN: walked(first)}


def _read(world: fl.World, states: tree.Tree) -> np.ndarray:
    classes = world.counts.shape[1]
    scores = evaluate(world.model, states, world.x_test, world.y_test, classes)
    return 100 * scores.accuracy.cpu().numpy()


def right(found: Sequence[Walked]) -> str:
    """Answer to what the average from one start reads, as far as intervals say."""
    less, same, more = GUESSES
    ends = [one[ONE] for one in found]
    if side([e[-1] - e[:-1].max() for e in ends]) == 1:
        return more
    return less if side([e[-1] - e[:-1].min() for e in ends]) < 1 else same


def picture(found: Sequence[Walked]) -> Panel:
    """Bars of the ten, the best of them and their average, for both starts."""

    def means(of: int | slice, best: bool = False) -> list[float]:
        each = ([np.atleast_1d(one[s][of]) for one in found] for s in (ONE, TEN))
        return [np.mean([e.max() if best else e.mean() for e in s]) for s in each]

    values = {
        "each of the ten, mean": means(slice(-1)),
        "the best of the ten": means(slice(-1), best=True),
        "their average": means(-1),
    }
    colours = dict(zip(values, ("rose", "orange", "blue"), strict=True))
    label, along = "letters read (%)", "trained from"
    return bars(values, [ONE, TEN], label=label, along=along, colours=colours)


def told(found: Sequence[Walked]) -> str:
    """Numbers of the picture, in a sentence."""
    one, ten = (pm([e[s][-1] for e in found], sign="") for s in (ONE, TEN))
    return f"The average from one start reads {one} %; from ten starts {ten} %."

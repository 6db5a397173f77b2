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
    "As much as a typical one: nobody saw more images": "No single one did. But what "
    "ten have learnt goes into the average.",
    "More than the best of them": "What they agree on stays, and where they err each "
    "in a way of its own it partly cancels.",
}


def averaged(bench: Bench, place: Place, seed: int, steps: int) -> Walked:
    """Percent that each clinic reads after so many steps alone, and their average."""
    world = place(seed)
    make, held = bench.network(bench.task(seed)), world.partition.indices
    clients = [Client(torch.as_tensor(i), (seed, 0, k)) for k, i in enumerate(held)]
    training = fl.Training(lr=0.1, batch_size=16, iterations=steps)
    shares = world.counts.sum(1) / world.counts.sum()

    first = [initial_state(make, 100 * seed + k) for k in range(len(held))]
    given = fl.ClientInput(tree.stack([first[0]] * len(held) + first))
    put = (world.model, world.x, world.y, clients * 2, given, training)
    ends = fl.train(*put).states  # both at once

    def read(states: tree.Tree) -> np.ndarray:
        mean = tree.stack([tree.weighted_sum(states, shares.float())])
        return np.concatenate([_read(world, some) for some in (states, mean)])

    half = len(held)
    return {
        ONE: read(tree.take(ends, slice(None, half))),
        TEN: read(tree.take(ends, slice(half, None))),
    }


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

    def means(of: int | slice, best: bool = False) -> np.ndarray:
        each = ([np.atleast_1d(one[s][of]) for one in found] for s in (ONE, TEN))
        read = [[e.max() if best else e.mean() for e in s] for s in each]
        return np.mean(read, axis=1)

    values = {
        "each of the ten, mean": means(slice(-1)),
        "the best of the ten": means(slice(-1), best=True),
        "their average": means(-1),
    }
    colours = dict(zip(values, ("rose", "orange", "blue"), strict=True))
    label, along = "accuracy (%)", "trained from"
    return bars(values, [ONE, TEN], label=label, along=along, colours=colours)


def told(found: Sequence[Walked]) -> str:
    """Numbers of the picture, in a sentence."""
    one, ten = (pm([e[s][-1] for e in found], sign="") for s in (ONE, TEN))
    return f"The average from one start reads {one} %; from ten starts {ten} %."

"""Cases for server rules: a round's end, and the server's mini-batches."""

from dataclasses import replace
from typing import Any

import torch

from fedlab_core import Training, World, tree
from fedlab_core.engine import Client, batch_order
from fedlab_core.methods.server_steps import SERVER
from fedlab_core.models import initial_state
from tests.methods.gathering import gathered
from tests.methods.plainly import SEED, Setting
from tests.methods.test_fedavg import one_pixel_world

FEW: dict[str, Any] = {"server_epochs": 4, "batch": 16}


def at_the_server(w: World, models=None, weights=None, before=None, key=(0, 0, 0)):
    """A round's end in w; without models, three drawn at random."""
    drawn = [initial_state(w.make, seed) for seed in range(4)]
    models = models or tree.stack(drawn[1:])
    weights = torch.tensor([0.5, 0.3, 0.2]).double() if weights is None else weights
    return gathered(models, weights, before or drawn[0], view=w.view, key=key)


def signed(*slopes: float) -> tree.Tree:
    """Softmax regressions on one pixel with weights (s, -s) and no shift."""
    s = torch.tensor(slopes, dtype=torch.float32)
    return {
        "head.weight": torch.stack([s, -s], 1)[..., None],
        "head.bias": torch.zeros(len(slopes), 2),
    }


def three_of_four() -> World:
    """A proxy of four images x = 1, three of class 0.

    With weights (s, -s) the logits differ by 2 s: the loss is least where class 0 has
    the probability 3/4, that is 2 s = log 3.
    """
    w = one_pixel_world([1, 1], [0, 1], [[0], [1]])
    return replace(w, proxy=(torch.ones(4, 1, 1, 1), torch.tensor([0, 0, 0, 1])))


def arguments_of(s: Setting) -> tuple[Any, ...]:
    """First arguments of every plain version here."""
    return (*s.start, *s.sgd, s.by_size)


def server_batches(w: World, t: int, epochs: int, batch: int, seed: int = SEED):
    """The server's mini-batches of round t, over all its epochs."""
    n = len(w.view.proxy_set("test")[0])
    everything = Client(torch.arange(n), (seed, t, SERVER))
    return batch_order(everything, Training(epochs=epochs, batch_size=batch))


def server_epochs(w: World, t: int, epochs: int, batch: int):
    """The same, one list an epoch."""
    flat = server_batches(w, t, epochs, batch)
    each = len(flat) // epochs
    return [flat[e * each : (e + 1) * each] for e in range(epochs)]

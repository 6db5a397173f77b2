"""A guesser of whose sample it is looking at, as the core's distances begin with it."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_core.methods.collab_distance import first_discriminator


def shown(world: fl.World, samples: Tensor) -> Tensor:
    """Samples as a guesser sees them: pixels, the label loudly, and two constants."""
    classes = len(world.classes)
    loud = 2 * classes / math.sqrt(classes - 1)
    label = loud * F.one_hot(world.y[samples], classes)
    ones = torch.ones(len(samples), 1)
    return torch.cat([world.x[samples].flatten(1), label, ones, 2 * ones], 1)


def guesser(world: fl.World, hidden: int, seed: int) -> nn.Module:
    """A network of one hidden layer, with the start that all pairs share."""
    width, classes = world.x[0].numel(), len(world.classes)
    start = first_discriminator(width, classes, hidden, seed)
    shifts = [start[f"{part}.bias"][:, None] for part in ("of_x", "of_y")]
    whole = [start["of_x.weight"], start["of_y.weight"], *shifts]
    first = nn.Linear(width + classes + 2, hidden, bias=False)
    net = nn.Sequential(first, nn.ReLU(), nn.Linear(hidden, 1))
    last = {"2.weight": start["out.weight"], "2.bias": start["out.bias"]}
    net.load_state_dict({"0.weight": torch.cat(whole, 1), **last})
    return net

"""The papers' networks, each split into features and head.

Built by functions of a sample's shape and the number of classes; run by `network`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from fedlab_core.arguments import Seed, checked
from fedlab_core.errors import require
from fedlab_core.models.deep import alexnet, vgg9
from fedlab_core.models.dense import densenet121
from fedlab_core.models.plain import (
    disco_cnn,
    lenet,
    mcmahan_cnn,
    mlp,
    mlp_200,
    simple_cnn,
)
from fedlab_core.models.residual import (
    Residual,
    law_resnet,
    resnet,
    resnet18,
    resnet50,
    wrn56_4,
)
from fedlab_core.models.split import (
    Point,
    Shape,
    Split,
    Width,
    empty_sample,
    made_by,
    point,
)
from fedlab_core.models.text import lstm, textcnn
from fedlab_core.tree import Tree

MODELS: dict[str, Callable[..., Split]] = {
    "mlp": mlp,
    "disco_cnn": disco_cnn,
    "resnet": resnet,
    "mlp_200": mlp_200,
    "simple_cnn": simple_cnn,
    "collab_cnn": simple_cnn,
    "mcmahan_cnn": mcmahan_cnn,
    "lenet": lenet,
    "alexnet": alexnet,
    "vgg9": vgg9,
    "law_resnet": law_resnet,
    "wrn56_4": wrn56_4,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "densenet121": densenet121,
    "textcnn": textcnn,
    "lstm": lstm,
}


@checked
@dataclass(frozen=True)
class Description:
    """Size of a network, and the points where it may be cut."""

    name: str
    parameters: int
    features: int
    points: dict[str, int]  # the size of the features at each split point


@checked
def build(name: str, shape: Shape, classes: Width, **options) -> Callable[[], Split]:
    """A function that makes the named network; each call draws new parameters.

    Its option `split` says where the features end: a point's name, or its number.
    """
    known = ", ".join(MODELS)
    require(name in MODELS, f"unknown model {name!r}: choose from {known}")
    with torch.device("meta"):  # takes no memory, but refuses what cannot be made
        MODELS[name](shape, classes, **options)
    return partial(MODELS[name], shape, classes, **options)


@checked
def describe(
    name: str, shape: Shape, classes: Width, split: Point = None, **options
) -> Description:
    """Size of the named network, found by sending an empty sample through it."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        net = build(name, shape, classes, **options)().eval()
        x, sizes, begin = empty_sample(shape, net), {}, 0
        for at, end in net.points.items():
            for layer in list(net.features.children())[begin:end]:
                x = layer(x)
            sizes[at], begin = x[0].numel(), end
    parameters = sum(w.numel() for w in net.parameters())
    return Description(name, parameters, sizes[point(sizes, split)], sizes)


@checked
def initial_state(make: Callable[[], nn.Module], seed: Seed) -> Tree:
    """Freshly drawn parameters and buffers, without touching the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = made_by(make)
    return {name: x.detach().clone() for name, x in model.state_dict().items()}

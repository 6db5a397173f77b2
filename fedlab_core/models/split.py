"""A network as features and head, cut at any of its points.

A builder lists its layers as stages, in order; every stage ends in a point where the
features may end. All layers are drawn before the network is cut, so a seed gives the
same numbers wherever that is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Within, checked
from fedlab_core.errors import require

Width = Annotated[int, Within(1, 2**16)]  # of a layer, a kernel, an image
Shape = tuple[Width, ...]  # channels, height, width; or the length of a text
Stages = Mapping[str, Sequence[nn.Module]]
Point = int | str | None  # a stage's number, from 0, or its name; None: the last


@checked
class Split(nn.Module):
    """A network as features followed by a head."""

    def __init__(
        self, features: nn.Module, head: nn.Module, points: dict[str, int] | None = None
    ):
        super().__init__()
        self.features, self.head = features, head
        self.points = points or {}  # where it may be cut, and the layers before that

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def cut(shape: Shape, stages: Stages, last: nn.Module, split: Point = None) -> Split:
    """The stages and a last layer, with features that end, flat, at a point.

    Where the features are a map, the head begins by giving them its shape back.
    """
    layers, points = [], {}
    for name, stage in stages.items():
        layers += stage
        points[name] = len(layers)
    end = points[point(points, split)]
    before, after = nn.Sequential(*layers[:end]), layers[end:]
    if not after:
        return Split(before, last, points)
    with torch.no_grad():
        here = tuple(before.eval()(empty_sample(shape, before)).shape[1:])
    before.train()
    if len(here) > 1:
        before.append(nn.Flatten())
        after = [nn.Unflatten(1, here), *after]
    return Split(before, nn.Sequential(*after, last), points)


@checked
def point(points: Mapping[str, int], split: Point) -> str:
    """The name of a split point, given by name or number."""
    names = list(points)
    require(bool(names), "points: this network cannot be cut anywhere")
    if split is None:
        return names[-1]
    known = split in names if isinstance(split, str) else 0 <= split < len(names)
    choices = ", ".join(f"{name} ({i})" for i, name in enumerate(names))
    require(known, f"no split point {split!r}: choose from {choices}")
    return split if isinstance(split, str) else names[split]


@checked
def empty_sample(shape: Shape, net: nn.Module | None = None) -> Tensor:
    """One empty sample: numbers, or padding for a network that looks words up."""
    parts = () if net is None else net.modules()
    ready = nn.Embedding, nn.EmbeddingBag
    words = any(isinstance(m, ready) or hasattr(m, "looks_up") for m in parts)
    return torch.zeros(1, *shape, dtype=torch.int64 if words else None)


def flat(shape: Shape, stages: Stages) -> int:
    """Numbers left of an image after convolutions and poolings."""
    channels, *sizes = shape
    for layer in (layer for stage in stages.values() for layer in stage):
        if isinstance(layer, nn.Conv2d):
            channels, p = layer.out_channels, int(layer.padding[0])
            k, step = layer.kernel_size[0], layer.stride[0]
            sizes = [(n + 2 * p - k) // step + 1 for n in sizes]
        elif isinstance(layer, nn.MaxPool2d):
            sizes = [n // 2 for n in sizes]
    return channels * sizes[0] * sizes[1]


def needs(name: str, shape: Shape, least: int) -> None:
    """Require images of at least that size."""
    image = len(shape) == 3
    require(image, f"{name} needs (channels, height, width), not {shape}")
    large = min(shape[1:]) >= least
    require(large, f"{name} needs images of {least} x {least}, not {shape}")


@checked
def made_by(make: Callable[[], nn.Module]) -> nn.Module:
    """The module that `make()` returns; anything else is refused."""
    require(not isinstance(make, nn.Module), "make must make a network, not be one")
    model = make()
    good = isinstance(model, nn.Module)
    require(good, f"a torch.nn.Module must be made, not {type(model).__name__}")
    return model

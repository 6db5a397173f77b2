"""The small networks: fully connected, and two or three convolutions.

They may be cut after every layer; point 0 is the bare input. They pool before ReLU:
the largest of four numbers is found first, and then one is cut instead of four. That is
the same output and the same gradient, to the bit.
"""

from collections.abc import Sequence
from math import prod

from torch import nn

from fedlab_core.arguments import Fading, checked
from fedlab_core.errors import require
from fedlab_core.models.layers import BatchNorm, Dropout
from fedlab_core.models.split import Point, Shape, Split, Width, cut, flat, needs


@checked
def mlp(
    shape: Shape,
    classes: Width,
    hidden: Sequence[Width] = (128, 128),
    dropout: Fading = 0.0,
    batch_norm: bool = False,
    split: Point = None,
) -> Split:
    """Fully connected ReLU network; the features are its last hidden layer."""
    require(len(shape) > 0, "mlp needs a sample with an axis, not a single number")
    stages: dict[str, list[nn.Module]] = {"input": [nn.Flatten()]}
    inside = prod(shape)
    for depth, units in enumerate(hidden, start=1):
        layers: list[nn.Module] = [nn.Linear(inside, units)]
        if batch_norm:
            layers.append(BatchNorm(units))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(Dropout(dropout, salt=depth))
        stages[f"hidden{depth}"] = layers
        inside = units
    return cut(shape, stages, nn.Linear(inside, classes), split)


@checked
def mlp_200(shape: Shape, classes: Width, **options) -> Split:
    """Two hidden layers of 200 units: FedCollab's and FedLAW's network for FMNIST.

    Paper: FedLAW App. D.3.
    """
    return mlp(shape, classes, (200, 200), **options)


@checked
def disco_cnn(shape: Shape, classes: Width, split: Point = None) -> Split:
    """FedDisco's simple CNN: two 5 x 5 convolutions (6, 16), then 120 and 84 units.

    Paper: FedDisco App. B.1.4; the second pooling is in the authors' code only.
    """
    needs("disco_cnn", shape, 16)
    stages: dict[str, list[nn.Module]] = {
        "input": [],
        "conv1": [nn.Conv2d(shape[0], 6, 5), nn.MaxPool2d(2), nn.ReLU()],
        "conv2": [nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten()],
    }
    stages["hidden1"] = [nn.Linear(flat(shape, stages), 120), nn.ReLU()]
    stages["hidden2"] = [nn.Linear(120, 84), nn.ReLU()]
    return cut(shape, stages, nn.Linear(84, classes), split)


@checked
def simple_cnn(
    shape: Shape,
    classes: Width,
    channels: tuple[Width, Width, Width] = (32, 64, 64),
    hidden: Width = 64,
    split: Point = None,
) -> Split:
    """Three 3 x 3 convolutions without padding, two poolings, 64 units.

    FedLAW's SimpleCNN and FedCollab's network for CIFAR-10. Paper: FedLAW App. D.3;
    the second pooling follows from its sizes.
    """
    needs("simple_cnn", shape, 18)
    a, b, c = channels
    stages: dict[str, list[nn.Module]] = {
        "input": [],
        "conv1": [nn.Conv2d(shape[0], a, 3), nn.MaxPool2d(2), nn.ReLU()],
        "conv2": [nn.Conv2d(a, b, 3), nn.MaxPool2d(2), nn.ReLU()],
        "conv3": [nn.Conv2d(b, c, 3), nn.ReLU(), nn.Flatten()],
    }
    stages["hidden1"] = [nn.Linear(flat(shape, stages), hidden), nn.ReLU()]
    return cut(shape, stages, nn.Linear(hidden, classes), split)


@checked
def mcmahan_cnn(
    shape: Shape,
    classes: Width,
    channels: tuple[Width, Width] = (32, 64),
    hidden: Width = 512,
    split: Point = None,
) -> Split:
    """FedAvg's CNN: two padded 5 x 5 convolutions, each pooled, and 512 units.

    rFedAvg's network for images; its features are the 512 units after ReLU.
    """
    stages = _padded("mcmahan_cnn", shape, channels)
    stages["hidden1"] = [nn.Linear(flat(shape, stages), hidden), nn.ReLU()]
    return cut(shape, stages, nn.Linear(hidden, classes), split)


@checked
def lenet(
    shape: Shape,
    classes: Width,
    channels: tuple[Width, Width] = (16, 32),
    split: Point = None,
) -> Split:
    """LeNet as in FedLAW's code: two padded 5 x 5 convolutions, each pooled."""
    stages = _padded("lenet", shape, channels)
    return cut(shape, stages, nn.Linear(flat(shape, stages), classes), split)


def _padded(
    name: str, shape: Shape, channels: tuple[int, int]
) -> dict[str, list[nn.Module]]:
    needs(name, shape, 4)
    a, b = channels
    return {
        "input": [],
        "conv1": [nn.Conv2d(shape[0], a, 5, padding=2), nn.MaxPool2d(2), nn.ReLU()],
        "conv2": [
            nn.Conv2d(a, b, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        ],
    }  # fmt: skip

"""Deep convolutional networks without shortcuts: AlexNet and VGG-9.

They may be cut after every convolution or block and after every hidden layer; point 0
is the bare input.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from fedlab_core.arguments import Fading, checked
from fedlab_core.models.layers import Dropout
from fedlab_core.models.split import Point, Shape, Split, Width, cut, flat, needs


class DropChannels(nn.Module):
    """Drop whole channels of a map, as `Dropout` drops single activations."""

    def __init__(self, p: float, salt: int | None = None):
        super().__init__()
        self.drop = Dropout(p, salt)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drop(x.new_ones(x.shape[:2]))[..., None, None]


@checked
def alexnet(
    shape: Shape,
    classes: Width,
    base: Width = 64,
    hidden: Sequence[Width] = (),
    dropout: Fading = 0.5,
    split: Point = None,
) -> Split:
    """AlexNet's five convolutions, pooled by 2 as small images need it.

    The kernels and channels are torchvision's. On 32 x 32 pixels one place is left of
    the map, and a linear layer reads it; hidden layers come with dropout before them.
    FedLAW names an AlexNet without saying which: this is the usual one for CIFAR.
    """
    needs("alexnet", shape, 29)
    a, b, c, d = (m * base for m in (1, 3, 6, 4))
    stages: dict[str, list[nn.Module]] = {
        "input": [],
        "conv1": [
            nn.Conv2d(shape[0], a, 11, stride=4, padding=5),
            nn.MaxPool2d(2),
            nn.ReLU(),
        ],
        "conv2": [nn.Conv2d(a, b, 5, padding=2), nn.MaxPool2d(2), nn.ReLU()],
        "conv3": [nn.Conv2d(b, c, 3, padding=1), nn.ReLU()],
        "conv4": [nn.Conv2d(c, d, 3, padding=1), nn.ReLU()],
        "conv5": [
            nn.Conv2d(d, d, 3, padding=1),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
        ],
    }
    inside = flat(shape, stages)
    for k, units in enumerate(hidden, start=1):
        stages[f"hidden{k}"] = [
            Dropout(dropout, salt=k),
            nn.Linear(inside, units),
            nn.ReLU(),
        ]
        inside = units
    return cut(shape, stages, nn.Linear(inside, classes), split)


@checked
def vgg9(
    shape: Shape,
    classes: Width,
    base: Width = 32,
    hidden: tuple[Width, Width] = (512, 512),
    dropout: Fading = 0.1,
    channel_dropout: Fading = 0.05,
    split: Point = None,
) -> Split:
    """Three blocks of two 3 x 3 convolutions, each block pooled, then twice 512 units.

    FedImpro's VGG-9. Paper: FedImpro App. F.4 names it; the sizes and the dropout are
    those of the authors' code, whose features end after the third block.
    """
    needs("vgg9", shape, 8)
    stages: dict[str, list[nn.Module]] = {"input": []}
    inside = shape[0]
    for k, widths in enumerate([(1, 2), (4, 4), (8, 8)], start=1):
        layers: list[nn.Module] = []
        for wide in widths:
            layers += [nn.Conv2d(inside, wide * base, 3, padding=1), nn.ReLU()]
            inside = wide * base
        layers.insert(-1, nn.MaxPool2d(2))
        stages[f"block{k}"] = layers
    stages["block2"].append(DropChannels(channel_dropout, salt=1))
    stages["block3"].append(nn.Flatten())
    first, second = hidden
    stages["hidden1"] = [
        Dropout(dropout, salt=2),
        nn.Linear(flat(shape, stages), first),
        nn.ReLU(),
    ]
    stages["hidden2"] = [nn.Linear(first, second), nn.ReLU(), Dropout(dropout, salt=3)]
    return cut(shape, stages, nn.Linear(second, classes), split)

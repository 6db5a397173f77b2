"""DenseNet-121 for small images.

It may be cut after the stem (point 0) and after every dense block with the transition
that follows it; the last block ends with the mean over the map.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedlab_core.arguments import checked
from fedlab_core.errors import require
from fedlab_core.models.layers import BatchNorm
from fedlab_core.models.split import Point, Shape, Split, Width, cut, needs


class Dense(nn.Module):
    """Puts `growth` new channels, computed from all others, behind them."""

    def __init__(self, inside: int, growth: int):
        super().__init__()
        self.body = nn.Sequential(
            BatchNorm(inside),
            nn.ReLU(),
            nn.Conv2d(inside, 4 * growth, 1, bias=False),
            BatchNorm(4 * growth),
            nn.ReLU(),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], 1)


@checked
def densenet121(
    shape: Shape,
    classes: Width,
    growth: Width = 32,
    blocks: Sequence[Width] = (6, 12, 24, 16),
    stem_norm: bool = False,
    split: Point = None,
) -> Split:
    """DenseNet-121 as in torchvision, with a 3 x 3 convolution as stem.

    FedLAW's code leaves out the stem's norm and ReLU, and so does this unless
    `stem_norm` asks for them.
    """
    require(len(blocks) > 0, "densenet121: blocks must name one block or more")
    needs("densenet121", shape, 1 << (len(blocks) - 1))
    wide = 2 * growth
    stem: list[nn.Module] = [nn.Conv2d(shape[0], wide, 3, padding=1, bias=False)]
    if stem_norm:
        stem += [BatchNorm(wide), nn.ReLU()]
    stages: dict[str, list[nn.Module]] = {"stem": stem}
    for k, count in enumerate(blocks, start=1):
        layers: list[nn.Module] = []
        for _ in range(count):
            layers.append(Dense(wide, growth))
            wide += growth
        layers += [BatchNorm(wide), nn.ReLU()]
        if k < len(blocks):
            layers += [nn.Conv2d(wide, wide // 2, 1, bias=False), nn.AvgPool2d(2)]
            wide //= 2
        else:
            layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        stages[f"block{k}"] = layers
    return cut(shape, stages, nn.Linear(wide, classes), split)

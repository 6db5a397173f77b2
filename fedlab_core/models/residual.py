"""Residual networks: the CIFAR family, and ResNet-18 and -50.

They may be cut after the stem (point 0) and after every stage; the last stage ends with
the mean over the map.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Within, checked
from fedlab_core.errors import require
from fedlab_core.models.layers import BatchNorm
from fedlab_core.models.split import Point, Shape, Split, Width, cut, made_by, needs

Norm = Callable[[int], nn.Module]
Depth = Annotated[int, Within(8, 1202)]


@checked
class Residual(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut.

    Where the width grows, the map is halved. The shortcut then skips every other pixel
    and pads the new channels with zeros (option A), or, to `project`, is a 1 x 1
    convolution and a norm (option B). Paper: ResNet Sec. 4.2.
    """

    def __init__(
        self,
        inside: Width,
        outside: Width,
        project: bool = False,
        norm: Norm = BatchNorm,
    ):
        super().__init__()
        wider = f"outside={outside} is below inside={inside}: project must be True"
        require(project or outside >= inside, wider)
        stride = 1 if inside == outside else 2
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False),
            made_by(partial(norm, outside)),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, padding=1, bias=False),
            norm(outside),
        )
        self.short: nn.Module = nn.Identity()
        if inside != outside:
            pad = _Pad(outside - inside)
            self.short = _project(inside, outside, 2, norm) if project else pad

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


class Bottleneck(nn.Module):
    """A 1 x 1, a 3 x 3 and a 1 x 1 convolution, four times as wide, beside a shortcut.

    The 3 x 3 convolution is the one that halves the map, as in torchvision.
    """

    def __init__(self, inside: int, width: int, stride: int, norm: Norm = BatchNorm):
        super().__init__()
        outside = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False),
            norm(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            norm(width),
            nn.ReLU(),
            nn.Conv2d(width, outside, 1, bias=False),
            norm(outside),
        )
        self.short: nn.Module = nn.Identity()
        if inside != outside or stride > 1:
            self.short = _project(inside, outside, stride, norm)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


class _Pad(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.channels = channels

    def extra_repr(self) -> str:
        return str(self.channels)

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[..., ::2, ::2], (0, 0, 0, 0, 0, self.channels))


def _project(inside: int, outside: int, stride: int, norm: Norm) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 1, stride, bias=False), norm(outside)
    )


@checked
def resnet(
    shape: Shape,
    classes: Width,
    depth: Depth = 20,
    base: Width = 16,
    project: bool = False,
    stem_bias: bool = False,
    split: Point = None,
) -> Split:
    """CIFAR ResNet of 6 n + 2 layers, 16 to 64 wide. Paper: ResNet Sec. 4.2."""
    n, rest = divmod(depth - 2, 6)
    sound = rest == 0 and n >= 1
    require(sound, f"a CIFAR ResNet has 6 n + 2 layers (8, 14, 20, ...), not {depth}")
    needs("resnet", shape, 1)
    stem = nn.Conv2d(shape[0], base, 3, padding=1, bias=stem_bias)
    stages: dict[str, list[nn.Module]] = {"stem": [stem, BatchNorm(base), nn.ReLU()]}
    inside = base
    for k in range(3):
        stages[f"stage{k + 1}"] = []
        for _ in range(n):
            stages[f"stage{k + 1}"].append(Residual(inside, base << k, project))
            inside = base << k
    stages["stage3"] += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return cut(shape, stages, nn.Linear(inside, classes), split)


@checked
def law_resnet(shape: Shape, classes: Width, depth: Depth = 20, **options) -> Split:
    """FedLAW's CIFAR ResNet: its shortcuts have parameters, in the authors' code."""
    return resnet(shape, classes, depth, project=True, **options)


@checked
def wrn56_4(
    shape: Shape, classes: Width, depth: Depth = 56, base: Width = 64, **options
) -> Split:
    """FedLAW's CIFAR ResNet of 56 layers, four times as wide throughout.

    Paper: FedLAW App. D.3.
    """
    return law_resnet(shape, classes, depth, base=base, **options)


@checked
def resnet18(
    shape: Shape,
    classes: Width,
    norm: Literal["batch", "group"] = "batch",
    groups: Width = 2,
    stem: Literal["cifar", "imagenet"] = "cifar",
    base: Width = 64,
    blocks: Sequence[Width] = (2, 2, 2, 2),
    split: Point = None,
    *,
    bottleneck: bool = False,
) -> Split:
    """ResNet-18 as in torchvision, with a stem for small images.

    FedImpro's cut is after a stage; FedDisco's norm is "group", of 2 groups, and
    FedCollab's stem "imagenet". Paper: FedDisco App. B.1.4.
    """
    even = norm == "batch" or base % groups == 0
    require(even, f"resnet18: groups={groups} must divide base={base}")
    normed = BatchNorm if norm == "batch" else partial(nn.GroupNorm, groups)
    grows = 4 if bottleneck else 1
    block = partial(Bottleneck, norm=normed)
    if not bottleneck:
        block = lambda a, b, stride: Residual(a, b, True, normed)  # noqa: E731
    stages, wide = _stages(shape, stem, base, blocks, block, grows, normed)
    return cut(shape, stages, nn.Linear(wide, classes), split)


@checked
def resnet50(
    shape: Shape, classes: Width, *, blocks: Sequence[Width] = (3, 4, 6, 3), **options
) -> Split:
    """ResNet-50 as in torchvision; `options` are those of `resnet18`."""
    return resnet18(shape, classes, blocks=blocks, bottleneck=True, **options)


def _stages(
    shape: Shape,
    stem: str,
    base: int,
    blocks: Sequence[int],
    block: Callable[[int, int, int], nn.Module],
    grows: int,
    norm: Norm,
) -> tuple[dict[str, list[nn.Module]], int]:
    """The stages and their final width; all but the first halve the map."""
    require(len(blocks) > 0, "a ResNet: blocks must name one block or more")
    needs("a ResNet", shape, 1)
    first = nn.Conv2d(shape[0], base, 3, padding=1, bias=False)
    if stem == "imagenet":
        first = nn.Conv2d(shape[0], base, 7, 2, padding=3, bias=False)
    stages: dict[str, list[nn.Module]] = {"stem": [first, norm(base), nn.ReLU()]}
    if stem == "imagenet":
        stages["stem"].append(nn.MaxPool2d(3, 2, padding=1))
    inside = base
    for k, count in enumerate(blocks):
        layers = stages[f"stage{k + 1}"] = []
        for b in range(count):
            layers.append(block(inside, base << k, 2 if k and not b else 1))
            inside = grows * (base << k)
    stages[f"stage{len(blocks)}"] += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    for layer in (m for stage in stages.values() for s in stage for m in s.modules()):
        if isinstance(layer, nn.Conv2d) and not layer.weight.is_meta:
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return stages, inside

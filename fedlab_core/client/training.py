"""How a client steps, whatever it minimises: the numbers of SGD, RMSProp and Adam."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Count, Fading, NotNegative, Positive, Whole, checked
from fedlab_core.errors import require

Range = Whole | tuple[Whole, Whole]
_LATER = {"later": True}  # at its default, a field is no part of a run's identity


@checked
@dataclass(frozen=True)
class Training:
    """SGD for some epochs: a step, how large it is, and how many there are.

    A step is PyTorch's SGD: the gradient is corrected, clipped, g + weight_decay * w,
    then v = momentum * v + g, then w - lr * v. Unless `drop_last`, a short last
    mini-batch counts by its own size.

    With `adam=(0.9, 0.999)` it is PyTorch's Adam, and with `decoupled` its AdamW, each
    client with moments and a count of its own. A rule that corrects gradients, as
    SCAFFOLD, or adds to the loss, as FedProx, corrects what the moments are made of;
    a `push`, as SCAFFOLD's with `after=True`, is added after them, not rescaled.
    """

    lr: Positive = 0.1
    epochs: Whole = 1
    batch_size: Count = 32
    momentum: Fading = 0.0
    weight_decay: NotNegative = 0.0
    drop_last: bool = False
    iterations: Range | None = None  # steps instead of epochs; a pair: drawn from it
    cap: Range | None = None  # no client takes more steps; a pair: drawn from it
    clip: Positive | None = None  # the largest norm of a step's gradient
    schedule: Callable[[Tensor], Tensor] | None = None  # times lr; rounds in a tensor
    augment: Callable[[Tensor, Tensor], Tensor] | None = None
    keep_velocity: bool = False  # momentum, or moments, go on from the last round's
    statistics: Literal["average", "local"] = "average"  # whose BatchNorm statistics
    rmsprop: Fading | None = None  # RMSProp instead of SGD, with this smoothing
    adam: tuple[Fading, Fading] | None = field(default=None, metadata=_LATER)  # betas
    decoupled: bool = field(default=False, metadata=_LATER)  # AdamW's weight decay

    def __post_init__(self) -> None:
        for name in ("iterations", "cap"):
            value = getattr(self, name)
            low, high = bounds(value) if value is not None else (0, 0)
            require(low <= high, f"{name}: from {low} to {high} there is no number")
        require(not (self.rmsprop and self.momentum), "rmsprop goes without momentum")
        adam = self.adam is not None
        alone = not self.momentum and self.rmsprop is None
        require(alone or not adam, "adam goes without momentum and without rmsprop")
        apart = adam or not self.decoupled
        require(apart, "decoupled needs adam, and makes AdamW of it")
        kept = not self.keep_velocity or adam or not alone
        require(kept, "keep_velocity needs momentum above 0, rmsprop or adam")

    @property
    def remembers(self) -> bool:
        """Whether a client keeps something of its steps for the next round."""
        return self.keep_velocity or self.statistics == "local"


def bounds(value: Range) -> tuple[int, int]:
    """The lowest and highest number of a range; a number alone is both."""
    return value if isinstance(value, tuple) else (value, value)


@checked
@dataclass(frozen=True)
class Decay:
    """A learning rate that shrinks by a factor every round."""

    factor: Positive

    def __call__(self, time: Tensor) -> Tensor:
        return self.factor ** time.floor()


@checked
@dataclass(frozen=True)
class Cosine:
    """A learning rate that falls to zero along half a cosine over some rounds."""

    rounds: Count

    def __call__(self, time: Tensor) -> Tensor:
        return (1 + torch.cos(math.pi * (time / self.rounds).clamp(max=1))) / 2

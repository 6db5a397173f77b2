"""How a client steps, whatever it minimises: the numbers of SGD."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Count, Fading, NotNegative, Positive, Whole, checked
from fedlab_core.errors import require

Range = Whole | tuple[Whole, Whole]


@checked
@dataclass(frozen=True)
class Training:
    """SGD for some epochs: a step, how large it is, and how many there are.

    A step is PyTorch's SGD: the gradient is corrected, clipped, g + weight_decay * w,
    then v = momentum * v + g, then w - lr * v. Unless `drop_last`, a short last
    mini-batch counts by its own size.
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
    schedule: Callable[[Tensor], Tensor] | None = None  # times lr; time in rounds
    augment: Callable[[Tensor, Tensor], Tensor] | None = None
    keep_velocity: bool = False  # momentum goes on where the last round left it
    statistics: Literal["average", "local"] = "average"  # whose BatchNorm statistics
    rmsprop: Fading | None = None  # RMSProp instead of SGD, with this smoothing

    def __post_init__(self) -> None:
        for name in ("iterations", "cap"):
            value = getattr(self, name)
            low, high = bounds(value) if value is not None else (0, 0)
            require(low <= high, f"{name}: from {low} to {high} there is no number")
        require(not (self.rmsprop and self.momentum), "rmsprop goes without momentum")
        kept = not self.keep_velocity or self.momentum > 0 or self.rmsprop is not None
        require(kept, "keep_velocity needs momentum above 0, or rmsprop")

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

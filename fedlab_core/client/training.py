"""How a client steps, whatever it minimises: the numbers of SGD."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.errors import require

Range = int | tuple[int, int]


@dataclass(frozen=True)
class Training:
    """SGD for some epochs: a step, how large it is, and how many there are.

    A step is PyTorch's SGD: the gradient is corrected, clipped, g + weight_decay * w,
    then v = momentum * v + g, then w - lr * v. Unless `drop_last`, a short last
    mini-batch counts by its own size.
    """

    lr: float = 0.1
    epochs: int = 1
    batch_size: int = 32
    momentum: float = 0.0
    weight_decay: float = 0.0
    drop_last: bool = False
    iterations: Range | None = None  # steps instead of epochs; a pair: drawn from it
    cap: Range | None = None  # no client takes more steps; a pair: drawn from it
    clip: float | None = None  # the largest norm of a step's gradient
    schedule: Callable[[Tensor], Tensor] | None = None  # times lr; time in rounds
    augment: Callable[[Tensor, Tensor], Tensor] | None = None
    keep_velocity: bool = False  # momentum goes on where the last round left it
    statistics: Literal["average", "local"] = "average"  # whose BatchNorm statistics
    rmsprop: float | None = None  # RMSProp instead of SGD, with this smoothing

    def __post_init__(self) -> None:
        for name in ("lr", "clip"):
            value = getattr(self, name)
            sound = value is None or (math.isfinite(value) and value > 0)
            require(sound, f"{name} must be a finite number above 0, not {value}")
        require(0 <= self.momentum < 1, f"momentum must be in [0, 1): {self.momentum}")
        decay = math.isfinite(self.weight_decay) and self.weight_decay >= 0
        require(decay, f"weight_decay must be 0 or more, not {self.weight_decay}")
        require(self.epochs >= 0, f"epochs must be 0 or more, not {self.epochs}")
        require(
            self.batch_size >= 1, f"batch_size must be 1 or more: {self.batch_size}"
        )
        for name in ("iterations", "cap"):
            value = getattr(self, name)
            low, high = bounds(value) if value is not None else (0, 0)
            fits = 0 <= low <= high
            require(fits, f"{name} must be a number or (low, high), not {value}")
        known = self.statistics in ("average", "local")
        require(known, f"statistics must be average or local, not {self.statistics!r}")
        sound = self.rmsprop is None or 0 <= self.rmsprop < 1
        require(sound, f"rmsprop must be in [0, 1), not {self.rmsprop}")
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


@dataclass(frozen=True)
class Decay:
    """A learning rate that shrinks by a factor every round."""

    factor: float

    def __call__(self, time: Tensor) -> Tensor:
        return self.factor ** time.floor()


@dataclass(frozen=True)
class Cosine:
    """A learning rate that falls to zero along half a cosine over some rounds."""

    rounds: int

    def __call__(self, time: Tensor) -> Tensor:
        return (1 + torch.cos(math.pi * (time / self.rounds).clamp(max=1))) / 2

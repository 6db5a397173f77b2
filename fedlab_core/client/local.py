"""What a client does in a round: a rule written for one client.

`Local` says how a client steps; its four functions say what it minimises (`loss`), how
it corrects a gradient (`gradient`), what it remembers before it first takes part
(`memory`) and what it remembers afterwards (`finish`). They see one client's tensors
and no client axis; the engine runs them for a whole cohort.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.errors import require
from fedlab_core.keys import uniform
from fedlab_core.tree import Tree, take


@dataclass(frozen=True)
class Batch:
    """One client's mini-batch; `weight` sums to one and is zero on padding."""

    x: Tensor
    y: Tensor
    weight: Tensor
    key: Tensor  # for what a rule draws: its own in every step

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the batch's samples of one value a sample."""
        return (self.weight * values).sum()


@dataclass(frozen=True)
class ClientInput:
    """What a client knows besides its data."""

    start: Tree  # parameters and buffers it began the round from
    state: Tree  # what it kept for itself, by name
    broadcast: Tree  # what the server sent besides the model, by name

    def of(self, rows) -> "ClientInput":
        """Some clients' of a cohort's, or, of an integer, one client's."""
        return ClientInput(
            *(take(t, rows) for t in (self.start, self.state, self.broadcast))
        )


class Net(Protocol):
    """The network as a function of parameters, whole or in its two parts.

    A BatchNorm's running statistics follow the calls with the client's own parameters.
    `weight` says how much each row counts there, if the rows are not the batch's.
    """

    def __call__(self, params: Tree, x: Tensor) -> Tensor: ...

    def features(self, params: Tree, x: Tensor) -> Tensor:
        """What comes before the head."""
        ...

    def head(self, params: Tree, h: Tensor, weight: Tensor | None = None) -> Tensor:
        """The head alone, on features."""
        ...


class Loss(Protocol):
    """What a client minimises: a number, and perhaps what changes in its memory."""

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor | tuple[Tensor, Tree]: ...


class Gradient(Protocol):
    """What a client makes of a step's gradient before it follows it."""

    def __call__(self, grads: Tree, params: Tree, given: ClientInput) -> Tree: ...


class Push(Protocol):
    """What is added to a step's direction after momentum and weight decay."""

    def __call__(self, params: Tree, given: ClientInput) -> Tree: ...


class Finish(Protocol):
    """What changes in a client's memory after its last step.

    `steps` is how many it took, `lr_sum` the sum of their learning rates.
    """

    def __call__(
        self, params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
    ) -> Tree: ...


def entropies(logits: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy of every sample.

    To the last bit that of PyTorch, whose own takes a way through Python under vmap.
    """
    return -F.log_softmax(logits, -1).gather(-1, y[..., None])[..., 0]


def cross_entropy(net: Net, params: Tree, batch: Batch, given: ClientInput) -> Tensor:
    """Mean cross-entropy over the mini-batch: FedAvg's local loss."""
    logits = net(params, batch.x)
    return batch.mean(entropies(logits, batch.y))


def losses(net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree:
    """The cross-entropy of every sample, to be asked of clients before a round."""
    return {"loss": entropies(net(params, x), y)}


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


@dataclass(frozen=True)
class CropFlip:
    """Augmentation: a random crop of the padded image, mirrored half of the time.

    `fill` is what surrounds the image, one number a channel or one for all; black, in a
    normalised image, is (0 - mean) / std.
    """

    pad: int = 4
    flip: bool = True
    fill: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        require(self.pad >= 0, f"pad must be 0 or more, not {self.pad}")

    def __call__(self, x: Tensor, key: Tensor) -> Tensor:
        """Augment (..., batch, channels, height, width), one key for each batch."""
        images = x.flatten(0, -4)
        fills, held = len(self.fill), images.shape[1]
        fits = fills in (1, held)
        require(fits, f"fill has {fills} numbers, the images {held} channels")
        n, channels, height, width = images.shape
        draw = uniform(key, 3 * x.shape[-4]).reshape(n, 3)
        top, left = (draw[:, :2] * (2 * self.pad + 1)).long().unsqueeze(-1).unbind(1)
        rows = top + torch.arange(height, device=x.device)
        across = torch.arange(width, device=x.device)
        mirrored = (draw[:, 2:] < 0.5) & self.flip
        cols = left + torch.where(mirrored, width - 1 - across, across)
        wide = self._surround(images)
        wide = wide.gather(
            2, rows[:, None, :, None].expand(-1, channels, -1, wide.shape[3])
        )
        cols = cols[:, None, None, :].expand(-1, channels, height, -1)
        return wide.gather(3, cols).view_as(x)

    def _surround(self, images: Tensor) -> Tensor:
        around = (self.pad,) * 4
        if len(self.fill) == 1:
            return F.pad(images, around, value=self.fill[0])
        parts = images.split(1, dim=1)
        return torch.cat(
            [F.pad(x, around, value=f) for x, f in zip(parts, self.fill, strict=True)],
            dim=1,
        )


class Quantity(Protocol):
    """One value a sample, by name: (samples, ...) each."""

    def __call__(self, net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree: ...


class Share(Protocol):
    """What each of `ids` is sent, rows, from the means known of `who`, rows."""

    def __call__(self, known: Tree, who: list[int], ids: list[int]) -> Tree: ...


@dataclass(frozen=True)
class Exchange:
    """Means over clients' samples that go to the server besides the models.

    Taken "before" training, with the model a client was sent, or "after", with its own.
    What `share` makes of the means of a group is sent to its participants: of means
    taken before at once, of those taken after in later rounds.
    """

    of: Quantity
    when: Literal["before", "after"] = "before"
    share: Share | None = None
    batch: int | None = None  # of so many of a client's samples, drawn; else of all
    noise: float = 0.0  # standard deviation of what a client adds to each number

    def __post_init__(self) -> None:
        require(self.noise >= 0, f"noise must be 0 or more, not {self.noise}")


Range = int | tuple[int, int]


@dataclass(frozen=True)
class Local:
    """How a client trains: SGD on `loss` for some epochs.

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
    loss: Loss = cross_entropy
    gradient: Gradient | None = None
    push: Push | None = None
    memory: Callable[[Tree, Tree], Tree] | None = None  # of (start, sent)
    finish: Finish | None = None
    forget: bool = False  # memory begins anew in every round
    uploads: tuple[str, ...] = ()  # of memory and answers, by first parts of names
    listens: tuple[str, ...] = ()  # what it must be sent, likewise
    exchange: Exchange | None = None
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
        require(bool(self.memory) or not self.finish, "finish needs memory to write to")

    @property
    def remembers(self) -> bool:
        """Whether a client has a memory, for the round or for longer."""
        return bool(self.memory or self.keep_velocity or self.statistics == "local")


def bounds(value: Range) -> tuple[int, int]:
    """The lowest and highest number of a range; a number alone is both."""
    return value if isinstance(value, tuple) else (value, value)

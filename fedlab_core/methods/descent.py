"""Steps of descent that rules and servers take themselves.

`Sgd` and `Adam` are PyTorch's to the last bit, for one tensor each; PyTorch's own
classes load its compiler, which takes longer than a server's round.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from fedlab_core.tree import Tree


class Sgd:
    """With momentum and weight decay, from the velocity that it had, if any."""

    def __init__(
        self, x: Tensor, momentum: float, decay: float, velocity: Tensor | None = None
    ):
        self.x, self.momentum, self.decay = x, momentum, decay
        self.velocity = None if velocity is None else velocity.clone()

    def step(self, slope: Tensor, lr: float) -> None:
        if self.decay:
            slope = slope.add(self.x, alpha=self.decay)
        if self.momentum:
            if self.velocity is None:
                self.velocity = slope.clone()
            else:
                self.velocity.mul_(self.momentum).add_(slope)
            slope = self.velocity
        self.x.add_(slope, alpha=-lr)


class Adam:
    """With its bias correction, and PyTorch's epsilon of 1e-8."""

    def __init__(self, x: Tensor, betas: tuple[float, float]):
        self.x, self.betas, self.steps = x, betas, 0
        self.mean, self.square = torch.zeros_like(x), torch.zeros_like(x)

    def step(self, slope: Tensor, lr: float) -> None:
        self.steps += 1
        rate, root = pace(lr, self.betas, self.steps)
        adapt(self.x, self.mean, self.square, slope, self.betas, rate, root)


def pace(lr: float, betas: tuple[float, float], step: int) -> tuple[float, float]:
    """What of Adam's step, counted from 1, no gradient changes.

    Its learning rate, and what the root of the mean square is divided by.
    """
    return lr / (1 - betas[0] ** step), math.sqrt(1 - betas[1] ** step)


def adapt(
    x: Tensor,
    mean: Tensor,
    square: Tensor,
    slope: Tensor,
    betas: tuple[float, float],
    rate: Tensor | float,
    root: Tensor | float,
) -> None:
    """One step of Adam, in place; `rate` and `root` are a `pace`."""
    mean.lerp_(slope, 1 - betas[0])
    square.mul_(betas[1]).addcmul_(slope, slope, value=1 - betas[1])
    below = (square.sqrt() / root).add_(1e-8)
    if isinstance(rate, Tensor):  # as a program is handed it
        x.sub_(rate * mean / below)
    else:
        x.addcdiv_(mean, below, value=-rate)


def follow(of: Callable[[Tree], Tensor], params: Tree, lr: float, steps: int) -> Tree:
    """Parameters after some plain gradient steps, as constants."""
    now = {n: w.detach() for n, w in params.items()}
    for _ in range(steps):
        grads = torch.func.grad(of)(now)
        now = {n: (w - lr * grads[n]).detach() for n, w in now.items()}
    return now

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
        (a, b), self.steps = self.betas, self.steps + 1
        self.mean.lerp_(slope, 1 - a)
        self.square.mul_(b).addcmul_(slope, slope, value=1 - b)
        root = self.square.sqrt() / math.sqrt(1 - b**self.steps)
        self.x.addcdiv_(self.mean, root.add_(1e-8), value=-lr / (1 - a**self.steps))


def follow(of: Callable[[Tree], Tensor], params: Tree, lr: float, steps: int) -> Tree:
    """Parameters after some plain gradient steps, as constants."""
    now = {n: w.detach() for n, w in params.items()}
    for _ in range(steps):
        grads = torch.func.grad(of)(now)
        now = {n: (w - lr * grads[n]).detach() for n, w in now.items()}
    return now

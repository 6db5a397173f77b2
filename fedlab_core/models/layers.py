"""Two layers of our own, where PyTorch's cannot serve.

PyTorch's cannot train many clients at once and give the same numbers as one alone:

- `Dropout` draws its mask from a key, so from (seed, round, client, step) alone;
- `BatchNorm` weighs the samples of a mini-batch, so that padding does not count, and
  hands its new running statistics back instead of writing them in place.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Fading, checked
from fedlab_core.keys import fold, uniform
from fedlab_core.tree import Tree


@checked
class Dropout(nn.Module):
    """Drop activations with probability p, by a key and a salt (usually its place)."""

    key: Tensor

    def __init__(self, p: Fading, salt: int | None = None):
        super().__init__()
        self.p, self.salt = p, salt
        self.register_buffer("key", torch.zeros((), dtype=torch.int64), False)

    def extra_repr(self) -> str:
        return f"{self.p}, salt={self.salt}"

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        drawn = uniform(fold(self.key, self.salt or 0), x.numel()).reshape(x.shape)
        return x * (drawn >= self.p) / (1 - self.p)


class BatchNorm(nn.Module):
    """Batch normalisation over (batch, channels, ...) with weighted samples.

    In training it leaves its new running statistics in `fresh`; whoever runs the
    network decides what becomes of them. `sample_weight` sums to one; empty: every
    sample counts alike, and PyTorch's own fused kernel does the work.
    """

    running_mean: Tensor
    running_var: Tensor
    sample_weight: Tensor

    def __init__(self, channels: int, momentum: float = 0.1, eps: float = 1e-5):
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("sample_weight", torch.zeros(0), persistent=False)
        self.fresh: Tree = {}

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, momentum={self.momentum}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.weight.dtype)  # a convolution before it may give shorter numbers
        mean, var = self.running_mean, self.running_var
        if not self.training:
            return F.batch_norm(x, mean, var, self.weight, self.bias, eps=self.eps)
        if not self.sample_weight.numel() and x[:, 0].numel() > 1:
            mean, var = mean.clone(), var.clone()
            self.fresh = {"running_mean": mean, "running_var": var}
            return F.batch_norm(
                x, mean, var, self.weight, self.bias, True, self.momentum, self.eps
            )
        mean, var = self._statistics(x)
        shape = (1, -1) + (1,) * (x.ndim - 2)
        scale = self.weight * torch.rsqrt(var + self.eps)
        bias = self.bias.reshape(shape)
        return (x - mean.reshape(shape)) * scale.reshape(shape) + bias

    def take_fresh(self) -> Tree:
        """Hand over the new running statistics, once."""
        fresh, self.fresh = self.fresh, {}
        return fresh

    def _statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        places = tuple(range(2, x.ndim))
        w = self.sample_weight
        w = w if w.numel() else x.new_full((len(x),), 1 / len(x))
        per_sample = x.mean(places) if places else x
        mean = (w[:, None] * per_sample).sum(0)
        centred = (x - mean.reshape((1, -1) + (1,) * len(places))) ** 2
        var = (w[:, None] * (centred.mean(places) if places else centred)).sum(0)
        n = (w > 0).sum() * (x[0, 0].numel())
        unbiased = var.detach() * n / (n - 1).clamp(min=1)
        m = self.momentum
        self.fresh = {
            "running_mean": (1 - m) * self.running_mean + m * mean.detach(),
            "running_var": (1 - m) * self.running_var + m * unbiased,
        }
        return mean, var

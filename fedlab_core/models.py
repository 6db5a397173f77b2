"""The papers' networks, each split into features and head.

A network is built by a function of the image shape and the number of classes. Two
layers are our own, because PyTorch's cannot train many clients at once and give the
same numbers as one client alone:

- `Dropout` draws its mask from a key and the position (a counter-based generator), so
  that it depends on (seed, round, client, step) and on nothing else;
- `BatchNorm` weighs the samples of a mini-batch, so that padding does not count, and
  hands its new running statistics back instead of writing them in place.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from fedlab_core.errors import require
from fedlab_core.tree import Tree

Shape = tuple[int, int, int]


class Split(nn.Module):
    """A network as features followed by a head."""

    def __init__(self, features: nn.Module, head: nn.Module):
        super().__init__()
        self.features, self.head = features, head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >> 63 else constant


def random_bits(key: Tensor, n: int) -> Tensor:
    """n well-mixed 64-bit integers from one key: position i always gives the same.

    The finaliser of the SplitMix64 generator; integer overflow wraps, as it should.
    """
    z = key + _signed(0x9E3779B97F4A7C15) * torch.arange(1, n + 1, device=key.device)
    z = (z ^ ((z >> 30) & (2**34 - 1))) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ ((z >> 27) & (2**37 - 1))) * _signed(0x94D049BB133111EB)
    return z ^ ((z >> 31) & (2**33 - 1))


class Dropout(nn.Module):
    """Drop each activation with probability p, by a key set from outside."""

    key: Tensor

    def __init__(self, p: float, salt: int = 0):
        super().__init__()
        self.p, self.salt = p, salt
        self.register_buffer("key", torch.zeros((), dtype=torch.int64), False)

    def extra_repr(self) -> str:
        return f"{self.p}, salt={self.salt}"

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        bits = random_bits(
            self.key + _signed(0xD1B54A32D192ED03) * self.salt, x.numel()
        )
        uniform = ((bits >> 40) & (2**24 - 1)).to(x.dtype) / 2**24
        return x * (uniform.reshape(x.shape) >= self.p) / (1 - self.p)


class BatchNorm(nn.Module):
    """Batch normalisation over (batch, channels, ...) with weighted samples.

    In training it leaves its new running statistics in `fresh`; whoever runs the
    network decides what becomes of them. `sample_weight` sums to one; empty: equal.
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
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = self._statistics(x)
        shape = (1, -1) + (1,) * (x.ndim - 2)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return (x - mean.reshape(shape)) * scale.reshape(shape) + self.bias.reshape(
            shape
        )

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


def mlp(
    shape: Shape,
    classes: int,
    hidden: Sequence[int] = (128, 128),
    dropout: float = 0.0,
    batch_norm: bool = False,
) -> Split:
    """Fully connected ReLU network; the features are its last hidden layer."""
    layers: list[nn.Module] = [nn.Flatten()]
    width = shape[0] * shape[1] * shape[2]
    for depth, units in enumerate(hidden):
        layers.append(nn.Linear(width, units))
        if batch_norm:
            layers.append(BatchNorm(units))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(Dropout(dropout, salt=depth + 1))
        width = units
    return Split(nn.Sequential(*layers), nn.Linear(width, classes))


def disco_cnn(shape: Shape, classes: int) -> Split:
    """FedDisco's simple CNN: two 5 x 5 convolutions (6, 16), then 120 and 84 units.

    Paper: FedDisco App. B.1.4; the second pooling is in the authors' code only.
    """
    channels, height, width = shape
    require(min(height, width) >= 16, f"disco_cnn needs images of 16 x 16, not {shape}")
    flat = 16 * (((height - 4) // 2 - 4) // 2) * (((width - 4) // 2 - 4) // 2)
    features = nn.Sequential(
        nn.Conv2d(channels, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
    )
    return Split(features, nn.Linear(84, classes))


MODELS: dict[str, Callable[..., Split]] = {"mlp": mlp, "disco_cnn": disco_cnn}


def build(name: str, shape: Shape, classes: int, **options) -> Callable[[], Split]:
    """A function that makes the named network; each call draws new parameters."""
    known = ", ".join(MODELS)
    require(name in MODELS, f"unknown model {name!r}: choose from {known}")
    return partial(MODELS[name], shape, classes, **options)


def initial_state(make: Callable[[], nn.Module], seed: int) -> Tree:
    """Freshly drawn parameters and buffers, without touching the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = make()
    return {name: x.detach().clone() for name, x in model.state_dict().items()}

"""Twenty networks for letters, ten usual ones and ten odd ones: which are taken?

Each entry makes a network of features and a head for images of 1 x 14 x 14 in ten
classes. The usual ones are trained as a plain loop would train them; the odd ones would
be trained as something else, and are refused when the world is made.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from fedlab_core.models import Split

WIDTH, PIXELS = 16, 196
FAR = 1e-5  # a network that ends so far from the plain loop's is another
Make = Callable[[], nn.Module]


class _Rows(nn.Module):
    """An image as a sequence of its rows, read by a layer."""

    def __init__(self, read: nn.Module):
        super().__init__()
        self.read = read

    def forward(self, x: Tensor) -> Tensor:
        return self.read(x[:, 0])


class _Attention(nn.Module):
    """Rows that look at each other."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.MultiheadAttention(14, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(x, x, x, need_weights=False)[0].mean(1)


class _Recurrent(nn.Module):
    """Rows one after another, of which the last answer counts."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(14, WIDTH, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.gru(x)[0][:, -1]


class _Residual(nn.Module):
    """A layer beside a way around it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layer(x).tanh()


class _Words(nn.Module):
    """Pixels as one of eight words each, which are embedded and averaged."""

    def __init__(self) -> None:
        super().__init__()
        self.of = nn.Embedding(8, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.of((x.flatten(1) * 2).clamp(0, 7).long()).mean(1)


class _Odd(nn.Module):
    """A linear layer that does something besides."""

    calls: Tensor

    def __init__(self, how: str):
        super().__init__()
        self.layer, self.how = nn.Linear(PIXELS, WIDTH), how
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if self.how == "counts its calls":
            self.calls += 1
        if self.how == "asks a tensor" and x.mean() > 0:
            x = -x
        return self.layer(x)


def _from(*layers: nn.Module, width: int = WIDTH) -> Split:
    return Split(nn.Sequential(*layers), nn.Linear(width, 10))


def _flat(*rest: nn.Module) -> Split:
    return _from(nn.Flatten(), nn.Linear(PIXELS, WIDTH), *rest)


def _tied() -> Split:
    net = _flat(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))
    layers = net.get_submodule("features")
    layers.get_submodule("3").weight = layers.get_submodule("2").weight
    return net


def _shared() -> Split:
    twice = nn.Linear(WIDTH, WIDTH)
    return _flat(twice, nn.ReLU(), twice)


def _frozen() -> Split:
    net = _flat(nn.ReLU())
    net.get_parameter("features.1.weight").requires_grad_(False)
    return net


def _convolutions() -> Split:
    layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return _from(*layers, width=144)


USUAL: dict[str, Make] = {
    "linear": lambda: Split(nn.Flatten(), nn.Linear(PIXELS, 10)),
    "tanh, two layers": lambda: _flat(nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()),
    "convolutions": _convolutions,
    "convolution along rows": lambda: _from(
        _Rows(nn.Conv1d(14, 8, 3)), nn.GELU(), nn.Flatten(), width=96
    ),
    "layer norm": lambda: _flat(nn.LayerNorm(WIDTH), nn.ReLU()),
    "group norm": lambda: _from(
        nn.Conv2d(1, 4, 3, stride=2),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.Flatten(),
        width=144,
    ),
    "PReLU": lambda: _flat(nn.PReLU()),
    "residual": lambda: _flat(nn.ReLU(), _Residual()),
    "attention": lambda: _from(_Rows(_Attention()), width=14),
    "embedding": lambda: _from(_Words()),
}

ODD: dict[str, Make] = {
    "tied weights": _tied,
    "a layer used twice": _shared,
    "a frozen layer": _frozen,
    "PyTorch's Dropout": lambda: _flat(nn.Dropout(0.5)),
    "PyTorch's BatchNorm": lambda: _flat(nn.BatchNorm1d(WIDTH)),
    "GRU": lambda: _from(_Rows(_Recurrent())),
    "an `if` on a tensor": lambda: _from(_Odd("asks a tensor")),
    "a buffer that counts calls": lambda: _from(_Odd("counts its calls")),
    "spectral norm": lambda: _from(
        nn.Flatten(), spectral_norm(nn.Linear(PIXELS, WIDTH))
    ),
    "half precision": lambda: _flat(nn.ReLU()).half(),
}


def measured() -> pd.DataFrame:
    """How far each usual network's model ends from a plain loop's, method by method.

    Of `results/networks.csv`, of this folder or of one above it.
    """
    name = Path("results") / "networks.csv"
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / name).is_file():
            found = pd.read_csv(folder / name, index_col="network")
            if list(found.index) != list(USUAL) or found.to_numpy().max() >= FAR:
                raise ValueError(f"{name} is not of these networks, or not near")
            return found
    raise FileNotFoundError(f"no {name} in {Path.cwd()} or above: it is in a clone")

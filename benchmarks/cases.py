"""Cases to train: a network, a number of clients, and how each of them trains.

Every way of training, ours and the peers', reads its case here. The peers run in
environments of their own, so this file needs torch and two rooms of the core alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from fedlab_core.client.augment import CropFlip
from fedlab_core.models import (
    Shape,
    Split,
    disco_cnn,
    mcmahan_cnn,
    mlp,
    mlp_200,
    resnet,
    simple_cnn,
)


def small_cnn(shape: Shape, classes: int, width: int = 8) -> Split:
    """Two 3 x 3 convolutions with a pooling between, for 12 x 12 images."""
    features = nn.Sequential(
        nn.Conv2d(shape[0], width, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3),
        nn.ReLU(),
        nn.Flatten(),
    )
    side = (shape[1] - 2) // 2 - 2
    return Split(features, nn.Linear(2 * width * side * side, classes))


def wide_cnn(shape: Shape, classes: int) -> Split:
    """The 1.6 million parameters of pfl-research's CIFAR-10 benchmark, no dropout."""
    side = (shape[1] - 4) // 2
    features = nn.Sequential(
        nn.Conv2d(shape[0], 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side * side, 128),
        nn.ReLU(),
    )
    return Split(features, nn.Linear(128, classes))


@dataclass(frozen=True)
class Case:
    """`clients` that hold `samples` each train by SGD, one epoch unless said."""

    name: str
    network: Callable[..., nn.Module]
    shape: Shape
    clients: int
    samples: int
    batch_size: int
    lr: float = 0.01
    epochs: int = 1
    momentum: float = 0.0
    weight_decay: float = 0.0
    drop_last: bool = False
    augment: CropFlip | None = None
    classes: int = 10
    few: int | None = None  # clients enough for a quick look

    def make(self) -> nn.Module:
        """A new network with freshly drawn parameters."""
        return self.network(self.shape, self.classes)

    @property
    def total(self) -> int:
        """How many samples the clients hold together."""
        return self.clients * self.samples

    @property
    def steps(self) -> int:
        """How many steps a round takes, all clients together."""
        whole, rest = divmod(self.samples, self.batch_size)
        batches = whole + bool(rest and not self.drop_last)
        return self.clients * self.epochs * batches

    def operations(self) -> float:
        """Multiplications and additions of a sample, its gradient included."""
        few = replace(self, clients=1, samples=self.batch_size)
        model, (x, y) = few.make(), few.data()
        with FlopCounterMode(display=False) as counted:
            functional.cross_entropy(model(x), y).backward()
        return counted.get_total_flops() / len(x)

    def data(self, seed: int = 0, device: str = "cpu") -> tuple[Tensor, Tensor]:
        """Random images and labels; client k holds the k-th run of `samples`."""
        g = torch.Generator().manual_seed(seed)
        x = torch.randn(self.total, *self.shape, generator=g)
        y = torch.randint(self.classes, (self.total,), generator=g)
        return x.to(device), y.to(device)


def _mlp(*hidden: int) -> Callable[..., nn.Module]:
    return lambda shape, classes: mlp(shape, classes, hidden)


CASES = (
    Case("mlp 144-64-64", _mlp(64, 64), (1, 12, 12), 100, 128, 16),
    Case("mlp 196-128-128", _mlp(128, 128), (1, 14, 14), 10, 1200, 32),
    Case("small cnn 12x12", small_cnn, (1, 12, 12), 20, 192, 16),
    Case("disco cnn 28x28", disco_cnn, (1, 28, 28), 10, 512, 64),
    Case("disco cnn 32x32", disco_cnn, (3, 32, 32), 10, 512, 64),
    Case("resnet-20", resnet, (3, 32, 32), 20, 64, 32, few=6),
    Case("pfl cifar-10", wide_cnn, (3, 32, 32), 50, 50, 10, lr=0.1, few=6),
)

# The papers' small networks, as their clients train them.
NETWORKS = (
    Case("MLP 200-200, 28x28", mlp_200, (1, 28, 28), 10, 640, 64, momentum=0.9),
    Case("FedDisco's CNN, 28x28", disco_cnn, (1, 28, 28), 10, 512, 64, momentum=0.9),
    Case(
        "FedDisco's CNN, 32x32, cropped", disco_cnn, (3, 32, 32), 10, 512, 64,
        momentum=0.9, augment=CropFlip(),
    ),
    Case("simple CNN, 32x32", simple_cnn, (3, 32, 32), 4, 256, 64),
    Case("rFedAvg's CNN, 28x28", mcmahan_cnn, (1, 28, 28), 4, 128, 32),
)  # fmt: skip

# FedDisco's own round on CIFAR-10: an hour on a small CPU.
GPU_CASES = (
    Case(
        "disco cifar-10 round", disco_cnn, (3, 32, 32), 10, 5000, 64,
        epochs=10, momentum=0.9, weight_decay=1e-5, drop_last=True, augment=CropFlip(),
    ),
)  # fmt: skip


def _growth() -> list[tuple[str, int, Case]]:
    """How far one number grows, which one, and the case."""
    grown = []
    for clients in (1, 10, 100, 1000):
        mlp_ = Case("mlp 144-64-64", _mlp(64, 64), (1, 12, 12), clients, 128, 16)
        cnn = Case("disco cnn 28x28", disco_cnn, (1, 28, 28), clients, 64, 32)
        grown += [("clients", clients, mlp_), ("clients", clients, cnn)]
    for width in (16, 64, 256, 1024):
        net = _mlp(width, width)
        grown.append(("width", width, Case("mlp", net, (1, 12, 12), 20, 128, 16)))
    for width in (4, 8, 16, 32, 64):
        net = partial(small_cnn, width=width)
        case = Case("small cnn 12x12", net, (1, 12, 12), 20, 64, 16)
        grown.append(("width", width, case))
    return sorted(grown, key=lambda g: (g[0], g[2].name))


GROWTH = _growth()

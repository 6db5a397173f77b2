"""A world: data, who holds what, and a kind of model, on a device."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_core.data import Dataset
from fedlab_core.partition import Partition


@dataclass(frozen=True, eq=False)
class World:
    """What a method is played in; `world` makes one."""

    model: nn.Module
    make: Callable[[], nn.Module]
    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    partition: Partition
    counts: Tensor  # samples per client and class
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.partition)


def world(
    data: Dataset,
    partition: Partition,
    make: Callable[[], nn.Module],
    device: str | torch.device = "cpu",
) -> World:
    """Put data, split and model together; worlds on the same data share its tensors."""
    counts = torch.from_numpy(partition.counts(data.y_train, len(data.classes)))
    tensors = _tensors(data, str(device))
    with torch.random.fork_rng(devices=[]):  # what it draws is not used
        model = make().to(device)
    return World(model, make, *tensors, partition, counts, data.classes)


@lru_cache(maxsize=16)
def _tensors(data: Dataset, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Both sets on the device: images move as bytes and are normalised there."""
    scale = (torch.tensor(v, device=device) for v in (data.mean, data.std))
    mean, std = (v.view(-1, 1, 1) for v in scale)

    def images(x: np.ndarray) -> Tensor:
        pixels = torch.from_numpy(x).to(device)
        pixels = pixels.unsqueeze(1) if x.ndim == 3 else pixels.permute(0, 3, 1, 2)
        return ((pixels.float() / 255 - mean) / std).contiguous()

    y, y_test = (torch.from_numpy(v).to(device) for v in (data.y_train, data.y_test))
    return images(data.x_train), y, images(data.x_test), y_test

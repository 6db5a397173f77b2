"""Augmentation of a client's mini-batches, drawn from keys."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.arguments import Whole, checked
from fedlab_core.errors import require
from fedlab_core.keys import uniform


@checked
@dataclass(frozen=True)
class CropFlip:
    """Augmentation: a random crop of the padded image, mirrored half of the time.

    `fill` is what surrounds the image, one number a channel or one for all; black, in a
    normalised image, is (0 - mean) / std.
    """

    pad: Whole = 4
    flip: bool = True
    fill: tuple[float, ...] = (0.0,)

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

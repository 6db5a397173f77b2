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
        return self.moved(x, self.drawn(key, x.shape[-4]))

    def drawn(self, key: Tensor, n: int) -> Tensor:
        """How n images of each key are moved: down, right, and -1 to be mirrored."""
        draw = uniform(key, 3 * n).unflatten(-1, (n, 3))
        by = (draw[..., :2] * (2 * self.pad + 1)).floor() - self.pad
        mirrored = (draw[..., 2:] < 0.5) & self.flip
        return torch.cat([by, 1 - 2 * mirrored.to(by.dtype)], -1)

    def moved(self, x: Tensor, drawn: Tensor) -> Tensor:
        """The images, each moved as drawn; what comes from outside is `fill`."""
        require(x.ndim > 3, "CropFlip moves images, not rows or texts")
        images = x.flatten(0, -4)
        fills, held = len(self.fill), images.shape[1]
        fits = fills in (1, held)
        require(fits, f"fill has {fills} numbers, the images {held} channels")
        *_, height, width = images.shape
        top, left, turn = drawn.flatten(0, -2).to(x.dtype)[..., None].unbind(1)
        rows = _centres(height, x) + 2 * top / height
        cols = _centres(width, x) * turn + 2 * left / width
        places = torch.broadcast_tensors(cols[:, None], rows[:, :, None])
        out = F.grid_sample(
            images, torch.stack(places, -1), mode="nearest", align_corners=False
        )  # which looks every pixel up where it came from, as it is
        if any(self.fill):
            inside = (rows.abs() < 1)[:, :, None] & (cols.abs() < 1)[:, None]
            fill = out.new_tensor(self.fill)[:, None, None]
            out = torch.where(inside[:, None], out, fill)
        return out.view_as(x)


def _centres(size: int, like: Tensor) -> Tensor:
    """Positions of a row's pixel centres, from -1 to 1."""
    at = torch.arange(1, 2 * size, 2, device=like.device, dtype=like.dtype)
    return at / size - 1

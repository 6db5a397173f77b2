"""Parts of a data set, and other sizes of its images: for tasks that take minutes."""

from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F

from fedlab_core.data.dataset import Dataset
from fedlab_core.errors import require


def thinned(data: Dataset, n: int) -> Dataset:
    """Fewer training samples, drawn once and for all, of all classes alike."""
    y, rng = data.y_train, np.random.default_rng(0x7417)
    short = f"sample={n}: {data.name} has {len(y)} training samples"
    require(n <= len(y), short)
    order = rng.permutation(len(y))
    rank = np.empty(len(y))
    for c in np.unique(y):
        mine = order[y[order] == c]
        rank[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return kept(data, "train", np.sort(np.argsort(rank, kind="stable")[:n]))


def kept(data: Dataset, part: str, which: np.ndarray) -> Dataset:
    """Only some samples of a part, "train" or "test"."""
    known = [f"{name}_{part}" for name in ("x", "y", "owners", "targets")]
    had = {name: getattr(data, name) for name in known}
    return replace(data, **{k: v[which] for k, v in had.items() if v is not None})


def resized(data: Dataset, side: int) -> Dataset:
    """Images of another size, as bytes, interpolated without aliasing."""
    both = {n: _resized(getattr(data, n), side) for n in ("x_train", "x_test")}
    return replace(data, **both)


def _resized(x: np.ndarray, side: int) -> np.ndarray:
    """Images as bytes at another size, interpolated without aliasing."""
    grey = x.ndim == 3
    parts = []
    for part in np.array_split(x, max(1, len(x) // 4096)):
        t = torch.from_numpy(part[..., None] if grey else part).permute(0, 3, 1, 2)
        small = F.interpolate(t.float(), (side, side), mode="bilinear", antialias=True)
        parts.append(small.round().clamp(0, 255).byte().permute(0, 2, 3, 1).numpy())
    whole = np.concatenate(parts)
    return np.ascontiguousarray(whole[..., 0] if grey else whole)

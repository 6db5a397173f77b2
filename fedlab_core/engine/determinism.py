"""One arithmetic for everything in a run, whatever the process was set to."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def exact(short: bool = False) -> Iterator[None]:
    """The same bits for the same seed, and no shortcut; if `short`, TF32 is one.

    Without it, a CUDA device rounds convolutions to TF32, and libraries may choose
    kernels that add up in any order.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if short else "highest")
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=short
        ):
            yield
    finally:
        torch.set_float32_matmul_precision(before)

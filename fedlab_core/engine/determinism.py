"""One arithmetic for everything in a run, whatever the process was set to."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_TURN = threading.RLock()  # of the process's threads, whose settings are the same
if hasattr(os, "register_at_fork"):  # not on Windows; a child begins between two runs
    os.register_at_fork(
        before=_TURN.acquire,
        after_in_parent=_TURN.release,
        after_in_child=_TURN.release,
    )


@contextmanager
def exact(short: bool = False) -> Iterator[None]:
    """The same bits for the same seed, and no shortcut; if `short`, TF32 is one.

    Without it, a CUDA device rounds convolutions to TF32, and libraries may choose
    kernels that add up in any order. Settings are the process's: threads take turns.
    """
    with _TURN:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if short else "highest")
        try:
            with (
                torch.autocast("cpu", enabled=False),
                torch.autocast("cuda", enabled=False),
                torch.backends.cudnn.flags(
                    enabled=True, benchmark=False, deterministic=True, allow_tf32=short
                ),
            ):
                yield
        finally:
            torch.set_float32_matmul_precision(before)

"""A cohort in parts that fit in memory."""

import gc
import warnings
from collections.abc import Callable, Hashable
from typing import TypeVar

import torch

from fedlab_core.errors import InputError

Result = TypeVar("Result")


def in_parts(
    play: Callable[[list[int]], Result],
    rows: list[int],
    largest: int,
    kept: dict,
    key: Hashable,
) -> list[Result]:
    """Play the rows in parts of at most `largest`, or what fitted for this `key`.

    A part that does not fit in memory is split in two and tried once more, without what
    was kept for later.
    """
    results, largest = [], min(largest, kept.get(key, largest))
    for first in range(0, len(rows), largest):
        part = rows[first : first + largest]
        try:
            results.append(play(part))
            continue
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        kept.clear()
        gc.collect()  # the failed try may hold itself in a circle
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        results += _halves(play, part)
        kept[key] = -(-len(part) // 2)
    return results


def _halves(play: Callable[[list[int]], Result], part: list[int]) -> list[Result]:
    if len(part) == 1:
        raise InputError("one client does not fit in memory: use smaller mini-batches")
    half = -(-len(part) // 2)
    warnings.warn(
        f"{len(part)} clients do not fit in memory at once: trying {half} at a time",
        RuntimeWarning,
        stacklevel=2,
    )
    try:
        return [play(part[:half]), play(part[half:])]
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(
            f"{half} clients do not fit in memory either: use smaller mini-batches, "
            "a smaller network or fewer participants"
        ) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory has run out, on a device or on the host, then or just before.

    What ends a capture that ran out of memory complains of the capture.
    """
    kinds, now = (torch.OutOfMemoryError, MemoryError), error
    while now is not None:
        if isinstance(now, kinds) or "can't allocate memory" in str(now):
            return True
        now = now.__cause__ or now.__context__
    return False

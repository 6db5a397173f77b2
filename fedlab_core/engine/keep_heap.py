"""Memory that one round gives back and the next one needs is kept by the process.

The C library returns the free end of its heap to the system as soon as that is longer
than twice the largest block that it ever took from the system by itself and got back,
up to 32 MB. With models of a few MB a round then gave its memory back and fetched it
again, page by page: 4,000 page faults, a fifth of the round. A block of 31 MB taken and
given back once, untouched, ends that. Elsewhere than with glibc it does nothing.
"""

import torch

_BLOCK = 31 << 20  # bytes; what the library counts stops at 32 MB


def keep() -> None:
    """Let the process keep up to 62 MB that are free for what comes next."""
    torch.empty(_BLOCK, dtype=torch.uint8)

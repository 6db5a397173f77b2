"""Sums of summands that the server does not see.

A toy to show the idea. Nothing here keeps a secret against a real opponent: the masks
come from one generator, and no privacy budget is counted.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.errors import require

STEP = 2.0**-24  # what is sent is a whole number of these
LIMIT = 2.0**28  # of a sum of values


@dataclass(frozen=True, eq=False)
class Masked:
    """Messages that the clients send, and the sum that the server learns."""

    sent: Tensor  # (clients, ...) 64-bit integers that look random
    total: Tensor  # (...) the sum of what the clients hold


def secure_sum(values: Tensor, generator: torch.Generator) -> Masked:
    """The sum over clients, from messages that each say nothing by themselves.

    Every two clients agree on a mask; one adds it and the other takes it off, so that
    all masks cancel in the sum. Values are rounded to multiples of 2^-24 and masked as
    integers modulo 2^64, so that they cancel exactly.

    Paper: FedDisco App. A.3.
    """
    clients = len(values)
    require(clients >= 2, f"a sum hides nothing for {clients} clients: 2 or more")
    wide = values.double()
    fits = bool(torch.isfinite(wide).all() and (wide.abs().sum(0) < LIMIT).all())
    require(fits, f"values must be finite and sum to less than {LIMIT:.0f}")
    sent = torch.round(wide / STEP).to(torch.int64)
    for i in range(clients):
        for j in range(i + 1, clients):
            mask = _mask(values.shape[1:], generator).to(sent.device)
            sent[i] += mask
            sent[j] -= mask
    return Masked(sent, sent.sum(0).double() * STEP)


def _mask(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Uniform over all 64-bit integers: two halves, as one draw leaves out the top."""
    where = generator.device
    high, low = (
        torch.randint(2**32, shape, generator=generator, device=where) for _ in range(2)
    )
    return (high << 32) | low

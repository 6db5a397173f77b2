"""Random numbers from keys: the same key gives the same number everywhere.

A key is a 64-bit integer, made of a few words: (seed, round, client), then what the
number is for. Nothing has a state, so that a draw does not depend on the device, on
what was drawn before, or on what else is running. The mixing is the finaliser of the
SplitMix64 generator; integer overflow wraps, as it should.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from fedlab_core.errors import require


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >> 63 else constant


GOLDEN = _signed(0x9E3779B97F4A7C15)
_ROUNDS = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)))


def _mix(z: Tensor) -> Tensor:
    """The input stays; what is made of it is changed in place, for speed."""
    for shift, factor in _ROUNDS:
        z = _shifted(z, shift).bitwise_xor_(z).mul_(factor)
    return _shifted(z, 31).bitwise_xor_(z)


def _shifted(z: Tensor, by: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (z >> by).bitwise_and_(2 ** (64 - by) - 1)


def fold(key: Tensor, word: Tensor | int) -> Tensor:
    """The key with one more word: a key of its own for every word."""
    if isinstance(word, int):
        return _mix(_mix(key) + _signed(GOLDEN * (word + 1) % 2**64))
    return _mix(_mix(key) + GOLDEN * (word + 1))


def keys_of(words: Tensor) -> Tensor:
    """One key from each row of integers: (..., words) -> (...)."""
    key = torch.zeros_like(words[..., 0])
    for word in words.unbind(-1):
        key = fold(key, word)
    return key


def random_bits(key: Tensor, n: int) -> Tensor:
    """n well-mixed 64-bit integers from each key: (...) -> (..., n)."""
    return bits_at(key[..., None], torch.arange(n, device=key.device))


def bits_at(key: Tensor, position: Tensor) -> Tensor:
    """The number at a position of a key's sequence."""
    return _mix(key + GOLDEN * (position + 1))


def uniform(key: Tensor, n: int) -> Tensor:
    """n numbers in [0, 1) from each key, multiples of 2^-24: (...) -> (..., n)."""
    return _shifted(random_bits(key, n), 40).float().div_(2**24)


def normal(key: Tensor, n: int) -> Tensor:
    """n standard normal numbers from each key, by Box and Muller: (...) -> (..., n)."""
    u = uniform(key, 2 * n)
    radius = (-u[..., :n]).log1p_().mul_(-2).sqrt_()
    return (2 * math.pi * u[..., n:]).cos_().mul_(radius)


def derive_seed(*key: int) -> int:
    """A 63-bit seed from a few integers, for generators that want one."""
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    return (int(words[0]) << 32 | int(words[1])) >> 1


@contextmanager
def undrawn(who: str, device: torch.device, instead: str) -> Iterator[None]:
    """Refuse draws from PyTorch's own generators, which the seed of a run leaves."""
    before = _generators(device)
    yield
    same = all(map(torch.equal, before, _generators(device)))
    says = f"{who} draws from PyTorch's generator, so that a seed would not fix a run"
    require(same, f"{says}: use {instead}")


def _generators(device: torch.device) -> list[Tensor]:
    own = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *own]

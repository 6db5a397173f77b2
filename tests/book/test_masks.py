"""Masks that cancel, clipping, and the size of the noise."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_book.masks import STEP, secure_sum
from fedlab_core.errors import InputError


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@given(
    counts=st.lists(
        st.lists(st.integers(0, 10_000), min_size=3, max_size=3), min_size=2, max_size=6
    ),
    seed=st.integers(0, 99),
)
def test_whole_numbers_add_up_exactly(counts, seed):
    got = secure_sum(torch.tensor(counts), generator(seed))
    assert got.total.tolist() == [sum(column) for column in zip(*counts, strict=True)]
    assert got.sent.shape == (len(counts), 3)


def test_shares_add_up_to_rounding():
    shares = torch.rand(5, 10, generator=generator(), dtype=torch.float64)
    got = secure_sum(shares, generator()).total
    torch.testing.assert_close(got, shares.sum(0), rtol=0, atol=5 * STEP)


def test_a_message_is_the_same_noise_whatever_it_carries():
    """Two clients: the messages less the values are the one mask, + and -."""
    zero = secure_sum(torch.zeros(2, 4), generator()).sent
    held = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    got = secure_sum(held, generator()).sent
    assert torch.equal(got - (held / STEP).to(torch.int64), zero)
    assert torch.equal(zero[0], -zero[1]) and zero.all()


def test_messages_say_nothing_of_small_values():
    """Mask bits are fair coins: over 4,000 entries each bit is set in half of them,
    to within five standard deviations (.04)."""
    sent = secure_sum(torch.zeros(3, 4000), generator()).sent
    for bit in (0, 1, 31, 32, 33, 62, 63):
        for client in sent:
            share = float(((client >> bit) & 1).double().mean())
            assert share == pytest.approx(0.5, abs=0.04)


def test_misuse():
    with pytest.raises(InputError, match="hides nothing for 1 clients: 2 or more"):
        secure_sum(torch.zeros(1, 3), generator())
    with pytest.raises(InputError, match="must be finite and sum to less than"):
        secure_sum(torch.full((2, 1), 2.0**28), generator())
    with pytest.raises(InputError, match="must be finite"):
        secure_sum(torch.tensor([[math.nan], [0.0]]), generator())

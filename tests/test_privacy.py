"""Masks that cancel, clipping, and the size of the noise."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core.analysis.privacy import STEP, noisy, noisy_mean, secure_sum
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


def test_the_mean_of_clipped_rows():
    """(3, 4) is cut from 5 to 1: (.6, .8); (.3, 0) is left: the mean is (.45, .4)."""
    rows = torch.tensor([[3.0, 4.0], [0.3, 0.0]])
    got = noisy_mean(rows, clip=1, sigma=0, generator=generator())
    assert got.tolist() == pytest.approx([0.45, 0.4])
    assert torch.equal(rows, torch.tensor([[3.0, 4.0], [0.3, 0.0]]))
    whole = noisy_mean(rows, clip=10, sigma=0, generator=generator())
    assert whole.tolist() == pytest.approx([1.65, 2.0])


def test_one_row_moves_the_mean_by_at_most_what_is_clipped():
    rows = torch.randn(8, 5, generator=generator())
    other = rows.clone()
    other[3] = -100 * rows[3]
    a, b = (noisy_mean(v, 0.5, 0, generator()) for v in (rows, other))
    assert float((a - b).norm()) <= 2 * 0.5 / 8 + 1e-6


@pytest.mark.parametrize("rows, clip, sigma", [(1, 1.0, 2.0), (10, 3.0, 5.0)])
def test_the_noise_of_the_mean(rows, clip, sigma):
    """sigma * clip / rows, estimated from 20,000 entries to 3 %."""
    zeros = torch.zeros(rows, 20_000)
    got = noisy_mean(zeros, clip, sigma, generator())
    want = sigma * clip / rows
    assert float(got.std()) == pytest.approx(want, rel=0.03)
    assert abs(float(got.mean())) < 5 * want / math.sqrt(20_000)
    assert torch.equal(got, noisy_mean(zeros, clip, sigma, generator()))
    assert not torch.equal(got, noisy_mean(zeros, clip, sigma, generator(1)))


def test_noise_on_statistics():
    given = {"mean": torch.ones(100, 50), "std": torch.full((100, 50), 0.1).double()}
    got = noisy(given, 0.3, generator())
    for name, v in given.items():
        moved = got[name] - v
        assert got[name].dtype == v.dtype
        assert float(moved.std()) == pytest.approx(0.3, rel=0.05)
    drawn = [(got[n] - given[n]).double() for n in given]
    assert not torch.allclose(drawn[0], drawn[1])  # each its own noise
    still = noisy(given, 0.0, generator())
    assert all(torch.equal(still[n], v) for n, v in given.items())


def test_misuse():
    with pytest.raises(InputError, match="hides nothing for 1 clients: 2 or more"):
        secure_sum(torch.zeros(1, 3), generator())
    with pytest.raises(InputError, match="must be finite and sum to less than"):
        secure_sum(torch.full((2, 1), 2.0**28), generator())
    with pytest.raises(InputError, match="must be finite"):
        secure_sum(torch.tensor([[math.nan], [0.0]]), generator())
    with pytest.raises(InputError, match="clip must be above 0, not 0"):
        noisy_mean(torch.zeros(1, 1), 0, 1, generator())
    with pytest.raises(InputError, match="sigma must be 0 or more, not -1"):
        noisy_mean(torch.zeros(1, 1), 1, -1, generator())
    with pytest.raises(InputError, match="sigma must be 0 or more, not -1"):
        noisy({}, -1, generator())
    with pytest.raises(InputError, match="features must be one row a sample"):
        noisy_mean(torch.zeros(3), 1, 1, generator())

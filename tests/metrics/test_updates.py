"""Agreement of updates: by hand, as double loops, and as one squared norm."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import metrics
from fedlab_core.errors import InputError

HALF = torch.tensor([0.5, 0.5])


@pytest.fixture
def cohort():
    g = torch.Generator().manual_seed(3)
    states = {
        "w": torch.randn(4, 3, 2, generator=g, dtype=torch.float64),
        "b": torch.randn(4, 2, generator=g, dtype=torch.float64),
    }
    start = {
        n: torch.randn(v.shape[1:], generator=g).double() for n, v in states.items()
    }
    return states, start, torch.tensor([0.1, 0.2, 0.3, 0.4])


@given(st.floats(0.1, 1.5), st.floats(0.1, 2))
def test_the_balance_is_of_the_two_parts_of_the_step(gamma, server_lr):
    """w' = gamma (w - server_lr g) moves by the sum of the two pseudo-gradients."""
    start = {"w": torch.tensor([3.0, 4.0], dtype=torch.float64)}  # of length 5
    states = {"w": torch.tensor([[3.0, 2.0], [1.0, 4.0]], dtype=torch.float64)}
    got = metrics.shrinking(states, start, HALF, gamma, server_lr)
    assert got.step == pytest.approx(gamma * server_lr * math.sqrt(2))  # g = (1, 1)
    assert got.shrink == pytest.approx(abs(1 - gamma) * 5)
    moved = start["w"] - gamma * (start["w"] - server_lr * torch.ones(2))
    assert float(moved.norm()) <= got.step + got.shrink + 1e-9
    if got.shrink:
        assert got.ratio * got.shrink == pytest.approx(got.step)


def test_without_shrinking_the_ratio_is_infinite(cohort):
    states, start, weights = cohort
    assert metrics.shrinking(states, start, weights, gamma=1.0).ratio == math.inf


def test_weights_of_another_length_are_refused(cohort):
    states, start, _ = cohort
    with pytest.raises(
        InputError, match="weights must be a Tensor of shape \\(clients\\) with numbers"
    ):
        metrics.shrinking(states, start, HALF, 0.9)

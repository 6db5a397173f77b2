"""Agreement of updates: by hand, as double loops, and as one squared norm."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import analysis, metrics, tree
from fedlab_core.errors import InputError
from fedlab_core.metrics import critical_round

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


def test_cohort_coherence_by_hand():
    """Two clients at 60 degrees: (1/2) (2 * 1/2 * 1/2 * 1/2) = 1/8, whatever the
    lengths; at a right angle 0; opposite (1/2) (2 * 1/4 * -1) = -1/4."""
    start = {"w": torch.zeros(2)}
    for angle, want in (60, 0.125), (90, 0.0), (180, -0.25):
        turn = math.radians(angle)
        ends = {"w": torch.tensor([[3, 0], [math.cos(turn), math.sin(turn)]])}
        got = metrics.cohort_coherence(ends, start, HALF)
        assert float(got) == pytest.approx(want, abs=1e-7)


def test_cohort_coherence_is_the_double_sum(cohort):
    states, start, weights = cohort
    cosine = metrics.coherence(states, start)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    want = sum(weights[i] * weights[j] * cosine[i, j] for i, j in pairs) / 4
    got = metrics.cohort_coherence(states, start, weights)
    assert float(got) == pytest.approx(float(want))


@pytest.mark.parametrize(
    "values, want",
    [
        ([0.4, 0.1, -0.1, 0.2, -0.3], 2),
        ([0.0, -1e-9], 1),
        ([-0.1, -0.2], None),  # never came from above
        ([-0.1, 0.2, -0.3], 2),
        ([0.4, 0.0, 0.1], None),
        ([], None),
    ],
)
def test_the_critical_round(values, want):
    assert critical_round(values) == want
    assert critical_round(torch.tensor(values)) == want


def test_the_decrease_by_hand():
    """g = (1, 0) and (0, 2), half each, at a right angle: own 1/4 + 1, cross 0.

    With the second turned onto the first, cross is 2 * 1/2 * 1/2 * 1 * 2 = 1.
    """
    start = {"w": torch.zeros(2)}
    found = metrics.taylor_decrease(
        {"w": torch.tensor([[-1.0, 0], [0, -2]])}, start, HALF, lr=0.1
    )
    assert (float(found.own), float(found.cross)) == pytest.approx((-0.125, 0))
    found = metrics.taylor_decrease(
        {"w": torch.tensor([[-1.0, 0], [-2, 0]])}, start, HALF, lr=0.1
    )
    assert (float(found.own), float(found.cross)) == pytest.approx((-0.125, -0.1))


def test_the_decrease_is_cosines_times_lengths(cohort):
    states, start, weights = cohort
    found = metrics.taylor_decrease(states, start, weights, lr=0.3)
    cosine = metrics.coherence(states, start)
    length = analysis.divergence(states, start)
    cross = sum(
        weights[i] * weights[j] * cosine[i, j] * length[i] * length[j]
        for i in range(4)
        for j in range(4)
        if i != j
    )
    assert float(found.cross) == pytest.approx(-0.3 * float(cross))
    mean = tree.add(tree.weighted_sum(states, weights), start, -1)
    assert float(found.total) == pytest.approx(-0.3 * float(tree.norm(mean)) ** 2)


def test_the_decrease_is_first_order():
    """F(w) = |w|^2 / 2 and g_i = c_i w with sum_i weights_i c_i = 1, so that g is the
    gradient: for a small lr, F(w - lr g) - F(w) = -lr |w|^2 + lr^2 |w|^2 / 2."""
    w = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)
    pull = torch.tensor([0.5, 1.5], dtype=torch.float64)
    states = {"w": w - pull[:, None] * w}
    lr = 1e-4
    found = metrics.taylor_decrease(states, {"w": w}, HALF, lr)
    true = ((w - lr * w) @ (w - lr * w) - w @ w) / 2
    assert float(found.total) == pytest.approx(float(true), rel=lr)


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


@pytest.mark.parametrize("measure", ["cohort_coherence", "taylor_decrease"])
def test_weights_of_another_length_are_refused(cohort, measure):
    states, start, _ = cohort
    with pytest.raises(InputError, match="one number for each of 4 clients"):
        getattr(metrics, measure)(states, start, HALF)
    with pytest.raises(InputError, match="one number for each of 4 clients"):
        metrics.shrinking(states, start, HALF, 0.9)

"""Wasserstein distances: closed forms, SciPy, and each solver against another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedlab_core.errors import InputError
from fedlab_use.analysis import conditional_wasserstein, transport, wasserstein

seeds = st.integers(0, 10_000)


def points(seed, n, width=2):
    return np.random.default_rng(seed).normal(size=(n, width))


def test_on_a_line_by_hand():
    """(0, 4) to (1, 2, 6): quantiles 0|1, 0|2, 4|2, 4|6 at 0, 1/3, 1/2, 2/3: the work
    is 1/3 * 1 + 1/6 * 2 + 1/6 * 2 + 1/3 * 2 = 5/3."""
    assert wasserstein(np.array([0, 4]), np.array([1, 2, 6])) == pytest.approx(5 / 3)


@given(seed=seeds, shift=st.floats(-5, 5), n=st.integers(1, 7))
def test_a_shift_costs_its_length(seed, shift, n):
    a = points(seed, n)
    move = shift * np.array([0.6, 0.8])
    assert wasserstein(a, a + move) == pytest.approx(abs(shift), abs=1e-9)
    assert wasserstein(a[:, :1], a[:, :1] + shift) == pytest.approx(abs(shift))


@given(seed=seeds, n=st.integers(1, 6), m=st.integers(1, 6))
def test_any_sizes_in_the_plane_are_scipys(seed, n, m):
    a, b = points(seed, n), points(seed + 1, m)
    want = stats.wasserstein_distance_nd(a, b)
    assert wasserstein(a, b) == pytest.approx(want, abs=1e-7)
    assert wasserstein(b, a) == pytest.approx(want, abs=1e-7)


def test_a_line_in_the_plane_is_a_line():
    a, b = points(0, 5, 1), points(1, 5, 1)
    on_line = wasserstein(np.hstack([a, 0 * a]), np.hstack([b, 0 * b]))
    assert on_line == pytest.approx(wasserstein(a, b))
    a, b = points(0, 4, 1), points(1, 6, 1)
    on_line = wasserstein(np.hstack([a, 0 * a]), np.hstack([b, 0 * b]))
    assert on_line == pytest.approx(wasserstein(a, b), abs=1e-8)


def test_conditional_by_hand():
    """Class 0 moves by 1, class 1 by 3. a holds both alike, (1 + 3) / 2 = 2; b holds
    three times as much of class 1, (1 + 9) / 4 = 2.5. The mean of the two is 2.25."""
    x_a, y_a = np.array([0.0, 0, 10, 10]), np.array([0, 0, 1, 1])
    x_b, y_b = np.array([1.0, 7, 7, 7]), np.array([0, 1, 1, 1])
    got = conditional_wasserstein(x_a, y_a, x_b, y_b)
    assert got == pytest.approx(2.25)
    assert conditional_wasserstein(x_b, y_b, x_a, y_a) == pytest.approx(2.25)


@given(seed=seeds)
def test_label_skew_alone_costs_nothing(seed):
    """The same points of each class, in other proportions: conditionals agree, although
    the distance of the whole samples does not vanish."""
    x, y = np.array([0.0, 1, 10, 11]), np.array([0, 0, 1, 1])
    k = 2 + seed % 4
    more = np.concatenate([x, np.tile(x[:2], k)]), np.concatenate([y, [0, 0] * k])
    assert conditional_wasserstein(x, y, *more) == pytest.approx(0, abs=1e-12)
    assert wasserstein(x, more[0]) > 1


def test_a_class_on_one_side_only():
    x, y = np.array([0.0, 5]), np.array([0, 1])
    with pytest.raises(InputError, match="only one side holds class 1: "):
        conditional_wasserstein(x, y, x[:1] + 2, y[:1])
    got = conditional_wasserstein(x, y, x[:1] + 2, y[:1], shared_only=True)
    assert got == pytest.approx(2)
    with pytest.raises(InputError, match="share no class"):
        conditional_wasserstein(x[:1], y[:1], x[1:], y[1:], shared_only=True)


def test_misuse(monkeypatch):
    with pytest.raises(InputError, match="without points"):
        wasserstein(np.zeros((0, 2)), np.zeros((1, 2)))
    with pytest.raises(InputError, match="width 2 and 3"):
        wasserstein(np.zeros((1, 2)), np.zeros((1, 3)))
    with pytest.raises(InputError, match="y_a must be an array of shape \\(a\\)"):
        conditional_wasserstein(np.zeros(2), np.zeros(1), np.zeros(1), np.zeros(1))
    monkeypatch.setattr(transport, "LARGEST", 5)
    with pytest.raises(InputError, match="6 pairs are too many: 5 or fewer"):
        wasserstein(np.zeros((2, 2)), np.zeros((3, 2)))

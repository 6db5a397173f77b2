"""Label distributions of cohorts, by hand and against SciPy. See also test_metrics."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import spatial
from scipy import stats as scipy_stats

from fedlab_core.errors import InputError
from fedlab_core.metrics import (
    heterogeneity_coherence,
    heterogeneity_degree,
    weight_correlations,
)

COUNTS = torch.tensor([[6, 0, 0], [0, 2, 0], [0, 0, 4]])


def test_sizes_as_weights_give_full_coherence():
    """sum_i (m_i / m) D_i is the distribution of all data."""
    share = COUNTS.sum(1) / COUNTS.sum()
    assert float(heterogeneity_coherence(COUNTS, share)) == pytest.approx(1)


def test_a_cohort_of_one_by_hand():
    """D = (1/2, 1/6, 1/3), |D|^2 = 14/36. Client 0 is (1, 0, 0): the cosine is
    (1/2) / sqrt(14/36) = 3 / sqrt(14); a half each of 0 and 2 is (1/2, 0, 1/2):
    (1/4 + 1/6) / (sqrt(1/2) sqrt(14)/6) = 2.5 / sqrt(7)."""
    one = heterogeneity_coherence(COUNTS, torch.ones(1), [0])
    assert float(one) == pytest.approx(3 / math.sqrt(14))
    two = heterogeneity_coherence(COUNTS, torch.tensor([0.5, 0.5]), [0, 2])
    assert float(two) == pytest.approx(2.5 / math.sqrt(7))


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_coherence_is_scipys_cosine_of_the_mixture(weights):
    counts = torch.tensor([[5, 1, 0, 2], [1, 1, 1, 1], [0, 9, 3, 0]])
    p = np.array(weights) / sum(weights)
    local = counts.numpy() / counts.numpy().sum(1, keepdims=True)
    want = 1 - spatial.distance.cosine(p @ local, counts.numpy().sum(0))
    got = heterogeneity_coherence(counts, torch.from_numpy(p))
    assert float(got) == pytest.approx(want)


def test_degree_by_hand():
    """(1/2, 1/2, 0, 0) has mean 1/4 and variance 1/16; (1, 0, 0, 0) has 3/16."""
    counts = torch.tensor([[3, 3, 0, 0], [7, 0, 0, 0], [2, 2, 2, 2]])
    got = heterogeneity_degree(counts).tolist()
    assert got == [pytest.approx(16), pytest.approx(16 / 3), math.inf]


def test_correlations_are_scipys():
    rng = np.random.default_rng(0)
    counts, weights = rng.integers(0, 30, (8, 5)), rng.random(8)
    got = weight_correlations(torch.from_numpy(weights), torch.from_numpy(counts))
    size = counts.sum(1)
    degree = 1 / (counts / size[:, None]).var(1)
    for name, factor in ("size", size), ("degree", degree), ("product", size * degree):
        assert got[name] == pytest.approx(scipy_stats.pearsonr(weights, factor)[0])


def test_no_correlation_without_variation():
    got = weight_correlations(torch.tensor([0.1, 0.9]), torch.tensor([[2, 1], [1, 2]]))
    assert math.isnan(got["size"])


def test_weights_of_another_length_are_refused():
    with pytest.raises(InputError, match="weights: 3 numbers for 2 members"):
        heterogeneity_coherence(COUNTS, torch.ones(3), [0, 1])
    with pytest.raises(InputError, match="one of shape .3, 3., as clients is 2 here"):
        weight_correlations(torch.ones(2), COUNTS)

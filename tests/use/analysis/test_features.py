"""Mean features and their discrepancy: plain loops, by hand, and invariances."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform

from fedlab_core.errors import InputError
from fedlab_use.analysis import mmd, regulariser, spread

CORNERS = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]])


def test_the_discrepancy_by_hand():
    """Squared sides of a 3-4-5 triangle: 25, 16 and 9."""
    assert mmd(CORNERS).tolist() == [[0, 25, 16], [25, 0, 9], [16, 9, 0]]
    assert regulariser(CORNERS).tolist() == [20.5, 17, 12.5]
    assert float(spread(CORNERS)) == 50
    assert float(spread(CORNERS, normalise=True)) == pytest.approx(50 / (41 / 3))


def test_the_discrepancy_is_scipys_even_far_from_the_origin():
    g = torch.Generator().manual_seed(1)
    delta = torch.randn(6, 40, generator=g) + 1000
    want = squareform(pdist(delta.double().numpy(), "sqeuclidean"))
    np.testing.assert_allclose(mmd(delta), want, rtol=1e-4)
    assert torch.equal(mmd(delta), mmd(delta).T)


def test_the_spread_moves_with_nothing_but_the_features():
    """Not with a shift; with the square of a scale, which normalising takes out."""
    moved = spread(CORNERS + 7)
    assert float(moved) == pytest.approx(50)
    assert float(spread(3 * CORNERS)) == pytest.approx(450)
    both = (spread(3 * CORNERS, normalise=True), spread(CORNERS, normalise=True))
    assert float(both[0]) == pytest.approx(float(both[1]))


def test_distance_to_the_mean_of_the_others_plus_their_spread():
    """mean_j |d - d_j|^2 = |d - mean|^2 + mean_j |d_j - mean|^2, j over the others."""
    for k in range(3):
        others = CORNERS[[j for j in range(3) if j != k]]
        centre = others.mean(0)
        want = ((CORNERS[k] - centre) ** 2).sum() + ((others - centre) ** 2).sum() / 2
        assert float(regulariser(CORNERS)[k]) == pytest.approx(float(want))


def test_misuse():
    with pytest.raises(InputError, match="delta: 2 clients or more"):
        mmd(CORNERS[:1])

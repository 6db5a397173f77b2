"""Fairness: by hand, against the statistics module, and on published accuracies."""

import math
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core.errors import InputError
from fedlab_use import analysis

accuracies = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_gains_by_hand():
    """Gains .2, 0, -.1, .3: two of four are above 0 (a tie is none). Their mean is .1,
    the squared deviations .01, .01, .04, .04, so that RSD = sqrt(.1 / 4)."""
    together, alone = [0.7, 0.5, 0.4, 0.8], [0.5, 0.5, 0.5, 0.5]
    assert analysis.ipr(together, alone) == 0.5
    assert analysis.rsd(together, alone) == pytest.approx(math.sqrt(0.025))
    assert analysis.ipr(torch.tensor(together), np.array(alone)) == 0.5


# Final accuracy of each of 20 clients in the authors' own run (label shift).
LOCAL = [.940, .929, .923, .946, .940, .917, .911, .880, .914, .906, .811, .777, .720,
         .760, .734, .909, .703, .886, .894, .760]  # fmt: skip
GLOBAL = [.943, .946, .934, .957, .937, .923, .926, .920, .926, .931, 0, 0, 0, 0, 0, 0,
          .003, .003, 0, 0]  # fmt: skip
COLLAB = [.971, .960, .949, .963, .946, .934, .917, .937, .931, .934, .897, .906, .880,
          .877, .874, .937, .909, .911, .920, .940]  # fmt: skip


@pytest.mark.parametrize(
    "ours, ipr, rsd", [(GLOBAL, 0.45, 0.4076), (COLLAB, 1, 0.0626)]
)
def test_the_published_run(ours, ipr, rsd):
    """To the three decimals that the accuracies are given with."""
    assert analysis.ipr(ours, LOCAL) == pytest.approx(ipr)
    assert analysis.rsd(ours, LOCAL) == pytest.approx(rsd, abs=2e-4)


@given(accuracies)
def test_variance_is_the_statistics_modules(values):
    assert analysis.client_variance(values) == pytest.approx(
        statistics.pvariance(values)
    )


def test_head_middle_and_tail_of_ten_classes():
    """Classes 0-3, 4-6 and 7-9, by falling frequency; here given in reverse order."""
    accuracy = np.arange(10) / 10
    counts = np.arange(10, 0, -1)
    got = analysis.head_middle_tail(accuracy, counts)
    assert (got.head, got.middle, got.tail) == pytest.approx((0.15, 0.5, 0.8))
    got = analysis.head_middle_tail(accuracy, counts[::-1].copy())
    assert (got.head, got.middle, got.tail) == pytest.approx((0.75, 0.4, 0.1))
    got = analysis.head_middle_tail(accuracy, np.ones(10))  # ties keep their order
    assert (got.head, got.tail) == pytest.approx((0.15, 0.8))


def test_classes_without_accuracy_are_left_out():
    accuracy = torch.tensor([0.5, math.nan, 0.7, 0.1])
    got = analysis.head_middle_tail(accuracy, [4, 3, 2, 1], head=0.5, tail=0.25)
    assert got.head == pytest.approx(0.5)
    got = analysis.head_middle_tail([math.nan, 0.2, 0.3], [3, 2, 1])
    assert math.isnan(got.head) and got.tail == pytest.approx(0.3)


def test_misuse():
    with pytest.raises(InputError, match="acc_local must be .*, as clients is 2 here"):
        analysis.ipr([0.1, 0.2], [0.1])
    with pytest.raises(InputError, match="accuracies must be one number a client"):
        analysis.client_variance([])
    with pytest.raises(InputError, match="each of 3 or more classes"):
        analysis.head_middle_tail([0.1, 0.2], [1, 2])
    with pytest.raises(InputError, match="leave a group empty"):
        analysis.head_middle_tail([0.1] * 10, [1] * 10, head=0.9, tail=0.1)

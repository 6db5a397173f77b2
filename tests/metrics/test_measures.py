"""R2 and AUC, against scikit-learn's, and where they are no number."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score

import fedlab_core as fl

FEW = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30)


@given(FEW)
def test_an_area_is_scikit_learns_with_ties_and_all(pairs):
    z, y = (torch.tensor(v, dtype=torch.float32) for v in zip(*pairs, strict=True))
    got = fl.auc(z[:, None], y)
    if len(set(y.tolist())) == 1:
        assert math.isnan(got)
    else:
        assert got == pytest.approx(roc_auc_score(y, z))


def test_columns_count_alike_and_one_without_both_labels_does_not():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(50, 4)), rng.integers(0, 2, (50, 4)).astype(float)
    y[:, 3] = 1
    want = roc_auc_score(y[:, :3], z[:, :3], average="macro")
    assert fl.auc(torch.tensor(z), torch.tensor(y)) == pytest.approx(want)
    wanted = r2_score(y[:, :3], z[:, :3])
    got = fl.r2(torch.tensor(z[:, :3]), torch.tensor(y[:, :3]))
    assert got == pytest.approx(wanted)


def test_r2_of_what_is_exact_of_the_mean_and_of_what_does_not_vary():
    y = torch.tensor([1.0, 2.0, 6.0])
    assert fl.r2(y[:, None], y) == 1
    assert fl.r2(torch.full((3, 1), 3.0), y) == pytest.approx(0)
    assert math.isnan(fl.r2(y, torch.ones(3)))


@pytest.mark.parametrize("metric", [fl.r2, fl.auc])
def test_outputs_that_are_not_one_a_label_are_refused(metric):
    with pytest.raises(fl.InputError, match="outputs must be one for each label, not"):
        metric(torch.zeros(3, 2), torch.zeros(3))

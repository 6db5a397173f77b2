"""Client gradient variance, and what shared synthetic features do to it."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedlab_core.errors import InputError
from fedlab_core.models import Split
from fedlab_use.analysis import Synthetic, gradient_variance

HEADS = {
    "linear": lambda: nn.Linear(5, 3),
    "mlp": lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)),
}
INDICES = [list(range(4)), list(range(4, 16)), list(range(16, 24))]


@pytest.fixture(params=HEADS)
def case(request):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        low = nn.Sequential(nn.Linear(6, 5), nn.ReLU())
        model = Split(low, HEADS[request.param]()).double()
        x, h = torch.randn(24, 6).double(), torch.randn(10, 5).double()
        y, y_h = torch.randint(3, (24,)), torch.randint(3, (10,))
    state = {n: v.detach().clone() for n, v in model.state_dict().items()}
    return model, state, x, y, h, y_h


def gradients(model, x, y, part=""):
    """By autograd in the module itself: one row of a part's parameters."""
    params = list(model.get_submodule(part).parameters())
    found = torch.autograd.grad(F.cross_entropy(model(x), y), params)
    return torch.cat([g.flatten() for g in found])


def variance(rows):
    share = torch.tensor([len(i) for i in INDICES]) / 24
    centre = sum(p * row for p, row in zip(share, rows, strict=True))
    each = [(row - centre).square().sum() for row in rows]
    return float(sum(p * v for p, v in zip(share, each, strict=True)))


def test_the_two_parts_are_those_of_autograd(case):
    model, state, x, y, *_ = case
    got = gradient_variance(model, state, x, y, INDICES)
    for part, found in ("features", got.low), ("head", got.high):
        rows = [gradients(model, x[i], y[i], part) for i in INDICES]
        assert found == pytest.approx(variance(rows), rel=1e-6)
    assert got.low > 0 and got.total == got.low + got.high


@pytest.mark.parametrize("ratio", [0.5, 1, 2, 4])
def test_shared_features_shrink_the_high_part_exactly(case, ratio):
    model, state, x, y, h, y_h = case
    alone = gradient_variance(model, state, x, y, INDICES)
    mixed = gradient_variance(model, state, x, y, INDICES, Synthetic(h, y_h, ratio))
    assert mixed.high == pytest.approx(alone.high / (1 + ratio) ** 2, rel=1e-12)
    assert mixed.low == alone.low


def test_mixing_is_training_on_both_kinds_of_features(case):
    """Here client m holds 2, 6 or 4 copies of two features for 4, 12, 8 real samples:
    N_hat / N = 1, every client in that proportion."""
    model, state, x, y, h, y_h = case
    rows = []
    for held in INDICES:
        copies = len(held) // 2
        both = torch.cat([model.features(x[held]).detach(), h[:2].repeat(copies, 1)])
        truth = torch.cat([y[held], y_h[:2].repeat(copies)])
        rows.append(gradients(model.head, both, truth))
    got = gradient_variance(model, state, x, y, INDICES, Synthetic(h[:2], y_h[:2], 1))
    assert got.high == pytest.approx(variance(rows), rel=1e-6)


def test_equal_clients_do_not_differ(case):
    model, state, x, y, *_ = case
    got = gradient_variance(model, state, x, y, [range(9), range(9)])
    assert got.total == pytest.approx(0, abs=1e-25)


def test_ratio_zero_changes_nothing(case):
    model, state, x, y, h, y_h = case
    alone = gradient_variance(model, state, x, y, INDICES)
    assert gradient_variance(model, state, x, y, INDICES, Synthetic(h, y_h, 0)) == alone


def test_slices_do_not_count(case, monkeypatch):
    model, state, x, y, h, y_h = case
    whole = gradient_variance(model, state, x, y, INDICES, Synthetic(h, y_h, 1))
    monkeypatch.setattr("fedlab_use.analysis.variance.SAMPLES_AT_ONCE", 3)
    parts = gradient_variance(model, state, x, y, INDICES, Synthetic(h, y_h, 1))
    assert parts.low == pytest.approx(whole.low)
    assert parts.high == pytest.approx(whole.high)


def test_misuse(case):
    model, state, x, y, h, y_h = case
    with pytest.raises(InputError, match="one sample or more to every client"):
        gradient_variance(model, state, x, y, [[0], []])
    with pytest.raises(
        InputError, match="ratio must be a number of 0 or more, not -1.0"
    ):
        Synthetic(h, y_h, -1)
    with pytest.raises(
        InputError, match="y must .*one of shape .9,., as samples is 10"
    ):
        Synthetic(h, y_h[:9], 1)
    plain = nn.Linear(6, 3).double()
    with pytest.raises(InputError, match="made of features and head"):
        gradient_variance(plain, dict(plain.state_dict()), x, y, INDICES)

"""Every point of a landscape is a model: its loss is that of the model alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fedlab_core import build, tree
from fedlab_core.errors import InputError
from fedlab_core.metrics import logits
from fedlab_core.models import initial_state
from fedlab_ledger.model import landscape

GRID = (np.linspace(-1, 1, 5), np.linspace(0, 2, 3))


@pytest.fixture(params=[False, True], ids=["plain", "batch norm"])
def around(request):
    make = build("mlp", (1, 2, 2), 3, hidden=(4,), batch_norm=request.param)
    states = [initial_state(make, s) for s in range(3)]
    for k, state in enumerate(states):  # running statistics that differ
        for name in state:
            if "running" in name:
                state[name] += k
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(30, 1, 2, 2, generator=g), torch.arange(30) % 3
    return make(), states, x, y


def alone(model, state, x, y):
    out = logits(model, state, x).detach()
    return float(F.cross_entropy(out, y)), float((out.argmax(1) == y).double().mean())


def test_the_line_between_two_models(around):
    model, (a, b, _), x, y = around
    got = landscape.between(model, a, b, x, y, [0, 0.25, 1, 1.5])
    for r, loss, accuracy in zip(got.at, got.loss, got.accuracy, strict=True):
        want = alone(model, tree.mix(a, b, r), x, y)
        assert (loss, accuracy) == pytest.approx(want, rel=1e-4)
    assert len(landscape.between(model, a, b, x, y).at) == 21


def test_rescaling_leaves_buffers_alone(around):
    model, (a, *_), x, y = around
    got = landscape.rescaled(model, a, [0.9, 1.0, 1.1], x, y)
    learnt = dict(model.named_parameters())
    for factor, loss in zip(got.at, got.loss, strict=True):
        state = {n: v * factor if n in learnt else v for n, v in a.items()}
        assert loss == pytest.approx(alone(model, state, x, y)[0], rel=1e-4)


def test_slices_do_not_count(around, monkeypatch):
    model, states, x, y = around
    whole = landscape.simplex(model, tree.stack(states), x, y, steps=3)
    for numbers in (1, 100):  # one model at a time, and two
        monkeypatch.setattr(landscape, "NUMBERS_AT_ONCE", numbers)
        parts = landscape.simplex(model, tree.stack(states), x, y, steps=3)
        np.testing.assert_allclose(parts.loss, whole.loss, rtol=1e-5)


def test_the_simplex_of_three_clients(around):
    model, states, x, y = around
    got = landscape.simplex(model, tree.stack(states), x, y, steps=3)
    assert got.weights.shape == (10, 3)
    np.testing.assert_allclose(got.weights.sum(1), 1)
    assert len({tuple(w) for w in got.weights}) == 10
    for weights, loss, accuracy in zip(
        got.weights, got.loss, got.accuracy, strict=True
    ):
        mixed = tree.weighted_sum(tree.stack(states), torch.from_numpy(weights))
        want = alone(model, mixed, x, y)
        assert (loss, accuracy) == pytest.approx(want, rel=1e-4)
    assert got.best.tolist() == got.weights[got.loss.argmin()].tolist()


def test_the_triangle_is_equilateral(around):
    model, states, x, y = around
    got = landscape.simplex(model, tree.stack(states), x, y, steps=2)
    at = {tuple(w): (a, b) for w, a, b in zip(got.weights, got.x, got.y, strict=True)}
    corners = [np.array(at[c]) for c in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]]
    assert corners[0].tolist() == [0, 0] and corners[1].tolist() == [1, 0]
    for i, j in (0, 1), (0, 2), (1, 2):
        assert np.linalg.norm(corners[i] - corners[j]) == pytest.approx(1)
    np.testing.assert_allclose(at[(0, 0.5, 0.5)], (corners[1] + corners[2]) / 2)


def test_misuse(around):
    model, (a, b, c), x, y = around
    with pytest.raises(InputError, match="three models are needed, not 2"):
        landscape.simplex(model, tree.stack([a, b]), x, y)
    with pytest.raises(InputError, match="the state has no strange: other model"):
        landscape.along(model, a, {"strange": torch.ones(1)}, [0], x, y)
    with pytest.raises(InputError, match="steps must be 1 or more, not 0"):
        landscape.simplex(model, tree.stack([a, b, c]), x, y, steps=0)

"""Every point of a landscape is a model: its loss is that of the model alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fedlab_core import build, tree
from fedlab_core.analysis import landscape
from fedlab_core.errors import InputError
from fedlab_core.metrics import logits
from fedlab_core.models import initial_state

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


def test_a_grid_in_two_directions(around):
    model, (a, b, c), x, y = around
    got = landscape.around(model, a, (b, c), GRID, x, y)
    assert got.loss.shape == got.accuracy.shape == (3, 5)
    for i, down in enumerate(GRID[1]):
        for j, right in enumerate(GRID[0]):
            state = tree.add(tree.add(a, b, right), c, down)
            want = alone(model, state, x, y)
            if np.isfinite(want[0]):  # a negative variance has no root
                assert (got.loss[i, j], got.accuracy[i, j]) == pytest.approx(want, 1e-4)


def test_slices_do_not_count(around, monkeypatch):
    model, (a, b, c), x, y = around
    whole = landscape.around(model, a, (b, c), GRID, x, y)
    for numbers in (1, 100):  # one model at a time, and two
        monkeypatch.setattr(landscape, "NUMBERS_AT_ONCE", numbers)
        parts = landscape.around(model, a, (b, c), GRID, x, y)
        np.testing.assert_allclose(parts.loss, whole.loss, rtol=1e-5)


def test_the_plane_holds_its_three_models(around):
    """A grid that ends at the models: corners at (0, 0), (l, 0) and (s, h)."""
    model, states, x, y = around
    got = landscape.plane(model, states, x, y, points=5, margin=0)
    assert got.models[0].tolist() == [0, 0] and got.models[1, 1] == 0
    assert got.loss[0, list(got.x).index(0.0)] == pytest.approx(
        alone(model, states[0], x, y)[0], rel=1e-4
    )
    for i, j in (0, 1), (0, 2), (1, 2):
        apart = float(tree.norm(tree.add(states[i], states[j], -1)))
        drawn = np.linalg.norm(got.models[i] - got.models[j])
        assert drawn == pytest.approx(apart, rel=1e-4)


def test_the_plane_by_hand():
    """One pixel, two classes, weights (w0, w1), no bias that differs: models at (0, 0),
    (2, 0) and (1, 1). The loss on x = 1 of class 0 is log(1 + exp(w1 - w0))."""
    make = build("mlp", (1, 1, 1), 2, hidden=())
    places = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]]
    corners = [
        {"head.weight": torch.tensor([[w[0]], [w[1]]]), "head.bias": torch.zeros(2)}
        for w in places
    ]
    x, y = torch.ones(1, 1, 1, 1), torch.zeros(1, dtype=torch.long)
    got = landscape.plane(make(), corners, x, y, points=3, margin=0.5)
    np.testing.assert_allclose(got.models, places, atol=1e-6)
    np.testing.assert_allclose(got.x, [-1, 1, 3], atol=1e-6)
    np.testing.assert_allclose(got.y, [-0.5, 0.5, 1.5], atol=1e-6)
    want = np.log1p(np.exp(got.y[:, None] - got.x[None]))
    np.testing.assert_allclose(got.loss, want, rtol=1e-5)
    assert got.accuracy.tolist() == (want < np.log(2)).astype(float).tolist()


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
        landscape.plane(model, [a, b], x, y)
    with pytest.raises(InputError, match="three models are needed, not 2"):
        landscape.simplex(model, tree.stack([a, b]), x, y)
    with pytest.raises(InputError, match="the three models lie on a line"):
        landscape.plane(model, [a, b, tree.mix(a, b, 0.5)], x, y)
    with pytest.raises(InputError, match="the state has no strange: other model"):
        landscape.along(model, a, {"strange": torch.ones(1)}, [0], x, y)
    with pytest.raises(InputError, match="steps must be 1 or more, not 0"):
        landscape.simplex(model, tree.stack([a, b, c]), x, y, steps=0)
    with pytest.raises(InputError, match="points must be 2 or more, not 1"):
        landscape.plane(model, [a, b, c], x, y, points=1)

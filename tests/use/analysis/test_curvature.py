"""The top of the spectrum against an explicit Hessian, and against a known matrix."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call
from torch.nn import functional as F

from fedlab_core import build, tree
from fedlab_core.errors import InputError
from fedlab_core.models import initial_state
from fedlab_use.analysis.curvature import (
    hessian_product,
    lanczos,
    parameters,
    top_curvature,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def network():
    """39 parameters in double precision, with normalisation and dropout at rest."""
    make = build("mlp", (1, 1, 3), 3, hidden=(4,), batch_norm=True, dropout=0.5)
    state = {n: v.double() for n, v in initial_state(make, 1).items()}
    x = torch.randn(20, 1, 1, 3, generator=generator()).double()
    y = torch.randint(3, (20,), generator=generator())
    return make(), state, x, y


def explicit(model, state, x, y):
    params = parameters(model, state)

    def loss(flat):
        net = model.eval()
        return F.cross_entropy(
            functional_call(net, state | tree.as_tree(flat, params), x), y
        )

    found = torch.autograd.functional.hessian(loss, tree.flatten(params))
    assert isinstance(found, torch.Tensor)
    return found


def known(values, seed=0):
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    turn, _ = torch.linalg.qr(torch.randn(n, n, generator=generator(seed)).double())
    return turn @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ turn.T


@pytest.mark.parametrize("slice_x", [1024, 7])
def test_products_are_those_of_the_explicit_hessian(network, slice_x):
    hessian, product = explicit(*network), hessian_product(*network, slice_x=slice_x)
    assert hessian.shape == (39, 39)
    for seed in range(3):
        v = torch.randn(39, generator=generator(seed)).double()
        torch.testing.assert_close(product(v), hessian @ v)


def test_the_spectrum_is_that_of_the_explicit_hessian(network):
    want = torch.linalg.eigvalsh(explicit(*network)).flip(0)
    model, state, x, y = network
    got = top_curvature(model, state, x, y, generator(), k=5, steps=39)
    torch.testing.assert_close(got.values, want[:5])
    assert got.top == pytest.approx(float(want[0]))
    assert got.ratio == pytest.approx(float(want[0] / want[4]))
    v = tree.flatten(got.vector)
    torch.testing.assert_close(explicit(*network) @ v, got.top * v)
    assert float(v.norm()) == pytest.approx(1)
    assert got.vector.keys() == dict(network[0].named_parameters()).keys()


@given(
    values=st.lists(st.integers(-4, 9), min_size=1, max_size=8), seed=st.integers(0, 9)
)
def test_lanczos_finds_a_whole_spectrum(values, seed):
    """Repeated and zero eigenvalues included: it goes on when a space is used up."""
    matrix = known([float(v) for v in values], seed)
    like = torch.zeros(0, dtype=torch.float64)
    got, vectors = lanczos(
        lambda v: matrix @ v, len(values), len(values), generator(seed), like
    )
    assert got.tolist() == pytest.approx(sorted(values, reverse=True), abs=1e-8)
    torch.testing.assert_close(vectors @ matrix, got[:, None] * vectors)
    torch.testing.assert_close(vectors @ vectors.T, torch.eye(len(values)).double())


@pytest.mark.parametrize("factor", [0.0, 2.0])
def test_lanczos_goes_on_where_every_vector_is_an_eigenvector(factor):
    like = torch.zeros(0, dtype=torch.float64)
    got, vectors = lanczos(lambda v: factor * v, 4, 3, generator(), like)
    assert got.tolist() == pytest.approx([factor] * 3)
    torch.testing.assert_close(vectors @ vectors.T, torch.eye(3).double())


def test_a_few_steps_find_the_top_of_a_large_matrix():
    """300 rows, five large eigenvalues above a crowd in [0, 1]."""
    values = [50.0, 40.0, 30.0, 20.0, 10.0, *torch.linspace(0, 1, 295).tolist()]
    matrix = known(values)
    got, vectors = lanczos(lambda v: matrix @ v, 300, 25, generator(), matrix[:0, 0])
    assert got[:5].tolist() == pytest.approx(values[:5], rel=1e-8)
    torch.testing.assert_close(matrix @ vectors[0], 50 * vectors[0])
    gram = vectors @ vectors.T
    assert float((gram - torch.eye(25)).abs().max()) < 1e-12


def test_a_convolutional_network_in_single_precision():
    make = build("disco_cnn", (1, 16, 16), 3)
    x = torch.randn(8, 1, 16, 16, generator=generator())
    got = top_curvature(
        make(), initial_state(make, 0), x, torch.arange(8) % 3, generator(), steps=20
    )
    product = hessian_product(make(), initial_state(make, 0), x, torch.arange(8) % 3)
    v = tree.flatten(got.vector)
    assert float((product(v) - got.top * v).norm()) < 1e-3 * got.top
    assert (got.values.diff() <= 0).all()


def test_a_vector_as_a_tree_and_back():
    like = {"a": torch.zeros(2, 3), "b": torch.zeros(()), "c": torch.zeros(2)}
    v = torch.arange(9.0)
    assert torch.equal(tree.flatten(tree.as_tree(v, like)), v)
    assert tree.as_tree(v, like)["a"].shape == (2, 3)


def test_misuse(network):
    model, state, x, y = network
    with pytest.raises(InputError, match="k must be from 1 to 39 parameters, not 40"):
        top_curvature(model, state, x, y, generator(), k=40)
    with pytest.raises(InputError, match="steps must be from 1 to 3, not 4"):
        lanczos(lambda v: v, 3, 4, generator(), torch.zeros(0))
    with pytest.raises(InputError, match="x holds no sample"):
        hessian_product(model, state, x[:0], y[:0])
    with pytest.raises(InputError, match="slice_x must be 1 or more"):
        hessian_product(model, state, x, y, 0)

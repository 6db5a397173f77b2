"""FedDisco's bound: the plain version, finite differences, SciPy, and the descent."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from fedlab_book.chapters import disco_bounds as theory
from fedlab_book.chapters.disco_bounds import Constants, Problem
from fedlab_core import dirichlet
from fedlab_core.errors import InputError
from fedlab_core.metrics import discrepancy
from tests.reference import feddisco as plain

seeds = st.integers(0, 10_000)


def problem(seed, K=10, **given):
    """Ten clients of a Dirichlet(0.5) split of ten classes, with their KL."""
    labels = np.arange(2000) % 10
    counts = torch.from_numpy(dirichlet(labels, K, 0.5, seed=seed).counts(labels, 10))
    n = (counts.sum(1) / counts.sum()).double().numpy()
    return Problem(n / n.sum(), discrepancy(counts).numpy(), **given)


def weights(seed, K=10):
    return np.random.default_rng(seed).dirichlet(np.full(K, 3.0))


def plainly(c):
    return plain.Constants(
        c.tau, c.eta, c.rounds, c.smoothness, c.dissimilarity, c.sigma, c.gap
    )


def test_the_constants_as_given():
    assert Constants().drift == pytest.approx(0.1)
    assert Constants(tau=1, eta=0.5).drift == 0


@given(seed=seeds, tau=st.integers(1, 20), part=st.floats(0.05, 1), lam=st.floats(0, 1))
def test_values_are_the_plain_versions(seed, tau, part, lam):
    c = Constants(tau=tau, eta=part / (2 * tau * 3), smoothness=3.0)
    task, p = problem(seed % 5, constants=c, lam=lam), weights(seed)
    given = (p.tolist(), task.n.tolist(), task.d.tolist(), plainly(c))
    T_0, above = plain.terms(*given)
    assert theory.terms(task, p)[0] == pytest.approx(T_0)
    assert theory.terms(task, p)[1:].sum() == pytest.approx(above)
    assert theory.bound(task, p) == pytest.approx(plain.bound(*given))
    assert theory.surrogate(task, p) == pytest.approx(plain.surrogate(*given, lam))


@pytest.mark.parametrize("proof", [True, False])
@given(seed=seeds)
def test_the_gradient_is_finite_differences(proof, seed):
    """J is quadratic: central differences are exact up to rounding."""
    task, p = problem(seed % 5, proof=proof), weights(seed)
    got = theory.surrogate_gradient(task, p)
    for k in range(10):
        step = 1e-3 * np.eye(10)[k]
        up, down = theory.surrogate(task, p + step), theory.surrogate(task, p - step)
        assert got[k] == pytest.approx((up - down) / 2e-3, abs=1e-9)


@pytest.mark.parametrize("proof", [True, False])
@pytest.mark.parametrize("lam, B", [(0.05, 0.1), (0.001, 5.0), (0.0, 0.3)])
def test_the_closed_form_is_scipys_minimiser(proof, lam, B):
    """For various pulls and prices."""
    c = Constants(dissimilarity=B, sigma=1.0)
    task = problem(1, constants=c, lam=lam, proof=proof)
    found = optimize.minimize(
        lambda p: theory.surrogate(task, p),
        task.n,
        jac=lambda p: theory.surrogate_gradient(task, p),
        bounds=[(0, 1)] * 10,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    got = theory.stationary(task)
    np.testing.assert_allclose(got.p, found.x, atol=1e-5)
    assert theory.surrogate(task, got.p) <= found.fun + 1e-12


@given(seed=seeds)
def test_the_closed_form_is_the_plain_versions(seed):
    """And proportional to n - a d + b, which is where the method has its form from."""
    task = problem(seed % 50)
    got = theory.stationary(task)
    p, a, b = plain.surrogate_minimiser(
        task.n.tolist(), task.d.tolist(), plainly(task.constants), task.lam
    )
    assert (got.a, got.b) == pytest.approx((a, b))
    if min(p) > 0:
        assert got.p.tolist() == pytest.approx(p)
        raw = task.n - got.a * task.d + got.b
        np.testing.assert_allclose(raw / raw.sum(), got.p)


def test_clients_by_hand():
    """n = 1/3 each and d = (0, 0, 9), sigma = lam = 0: B cancels in a = 2 A / (4 K
    (1 - A) mean(d)) = .2 / (12 * .9 * 3) = 1/162, and b = a * 3. So p = 1/3 + 3/162 =
    19/54 twice, and 1/3 - 6/162 = 16/54. A client without samples would get
    0 - 6/162 < 0: it gets nothing."""
    c = Constants(dissimilarity=60, sigma=0.0)
    d = np.array([0, 0, 9.0])
    got = theory.stationary(Problem(np.full(3, 1 / 3), d, c, lam=0))
    assert (got.a, got.b) == pytest.approx((1 / 162, 3 / 162))
    np.testing.assert_allclose(got.p, [19 / 54, 19 / 54, 16 / 54])
    got = theory.stationary(Problem(np.array([0.5, 0.5, 0.0]), d, c, lam=0))
    np.testing.assert_allclose(got.p, [0.5, 0.5, 0])


@pytest.mark.parametrize("seed", range(3))
def test_the_descent_lowers_both(seed):
    """As in Table 6: 400 steps, and the bound follows the surrogate down."""
    got = theory.descend(problem(seed))
    assert got.p.shape == (401, 10) and got.bound.shape == (401,)
    assert got.p[0].tolist() == pytest.approx([0.1] * 10)
    kept = [0, 100, 200, 300, 400]
    assert (np.diff(got.surrogate[kept]) < 0).all()
    assert (np.diff(got.bound[kept]) < 0).all()
    np.testing.assert_allclose(got.p.sum(1), 1)
    assert (got.p >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_from_the_shares_there_is_little_to_gain(seed):
    """And the bound, past its least, goes up again by less than it came down."""
    task = problem(seed)
    got = theory.descend(task, task.n)
    assert got.surrogate[-1] < got.surrogate[0] and got.bound[-1] < got.bound[0]
    assert got.bound[-1] > 0.999 * got.bound[0]


@pytest.mark.parametrize("seed", range(3))
def test_lam_at_the_least_bound_makes_the_two_one(seed):
    """J = T_0 (bound - lam): where lam is the bound of J's own minimiser, J is 0 there
    and above 0 elsewhere, so that nothing has a smaller bound. Repeating lam = bound
    gets there, as in fractional programming."""
    task = problem(seed)
    for _ in range(20):
        p = theory.stationary(task).p
        task = replace(task, lam=theory.bound(task, p))
    p = theory.stationary(task).p
    assert theory.surrogate(task, p) == pytest.approx(0, abs=1e-15)
    least = theory.bound(task, p)
    for q in range(50):
        near = theory.project(p + 0.02 * (weights(q) - p))
        assert theory.bound(task, near) > least


def test_the_descent_ends_at_the_closed_form():
    task = problem(0)
    got = theory.descend(task, weights(3), rate=0.1).p[-1]
    want = theory.stationary(task).p
    np.testing.assert_allclose(got, want, atol=1e-12)
    gradient = theory.surrogate_gradient(task, got)
    np.testing.assert_allclose(gradient, gradient.mean(), atol=1e-9)  # the multiplier


@given(seed=seeds, lam=st.floats(0, 5))
def test_the_surrogate_is_never_above_the_bound(seed, lam):
    """T_0 <= 1, so T_0 * bound - lam * T_0 <= bound. Table 6 has it the other way
    round: its two rows cannot both be what they are called."""
    task, p = problem(seed % 5, lam=lam), weights(seed)
    assert theory.surrogate(task, p) <= theory.bound(task, p)


def test_weights_are_shares_where_nothing_else_counts():
    """No drift, no noise: p = n. No pull at all: every p is as good as another."""
    c = Constants(tau=1, eta=0.1, sigma=0.0)
    task = problem(0, constants=c)
    np.testing.assert_allclose(theory.stationary(task).p, task.n)
    idle = Problem(task.n, np.zeros(10), c, lam=0)
    with pytest.raises(InputError, match="nothing holds p to n"):
        theory.stationary(idle)
    with pytest.raises(InputError, match="J is flat"):
        theory.descend(idle)


def test_the_bound_says_nothing_far_from_the_shares():
    task = problem(0)
    assert theory.bound(task, np.eye(10)[0]) == float("inf")
    assert theory.bound(replace(task, proof=False), weights(0)) < float("inf")


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_the_projection_is_the_nearest_point(v):
    """p is nearest iff (v - p)(q - p) <= 0 for every corner q of the simplex."""
    v = np.array(v)
    p = theory.project(v)
    assert (p >= 0).all() and p.sum() == pytest.approx(1)
    for corner in np.eye(len(v)):
        assert (v - p) @ (corner - p) <= 1e-9


def test_misuse():
    n = np.array([0.5, 0.5])
    with pytest.raises(
        InputError, match=r"0 < eta \* smoothness <= 1 / \(2 tau\) = 0.05"
    ):
        Constants(tau=10, eta=0.1)
    with pytest.raises(
        InputError, match="tau must be a whole number of 1 or more, not 0"
    ):
        Constants(tau=0)
    with pytest.raises(
        InputError, match="rounds must be a whole number of 1 or more, not 0"
    ):
        Constants(rounds=0)
    with pytest.raises(InputError, match="d must be .*, as clients is 2 here"):
        Problem(n, np.ones(3))
    with pytest.raises(InputError, match="shares that sum to 1, not to 2"):
        Problem(2 * n, np.ones(2))
    with pytest.raises(InputError, match="d must be .* with numbers of 0 or more"):
        Problem(n, -n)
    with pytest.raises(InputError, match="lam must be .* 0 or more"):
        Problem(n, n, lam=-1)
    with pytest.raises(InputError, match="steps must be .* from 0 to 1000000"):
        theory.descend(Problem(n, n), steps=-1)
    with pytest.raises(InputError, match="rate must be a number above 0 and at most 1"):
        theory.descend(Problem(n, n), rate=2)


def test_the_statement_of_the_theorem_lacks_the_number_of_clients():
    """n = (1, 0) and p = (1/2, 1/2): sum (n - p)^2 = 1/2, so W_D = 2 in the proof and 1
    in the statement. With A = 0 and mean(d) = 3, T_0 = 1 - W_D and T_2 = .3 W_D."""
    c = Constants(tau=1, eta=0.1)
    task, p = Problem(np.array([1.0, 0.0]), np.array([2.0, 4.0]), c), np.full(2, 0.5)
    assert theory.terms(task, p)[[0, 2]].tolist() == pytest.approx([-1, 0.6])
    stated = replace(task, proof=False)
    assert theory.terms(stated, p)[[0, 2]].tolist() == pytest.approx([0, 0.3])

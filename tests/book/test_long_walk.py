"""Chapter 3: valleys, walks of a network, FedDisco's bound beside the plain one."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import fedlab_core as fl
from fedlab_book.bench import Comparison
from fedlab_book.chapters.long_walk import bound, pace, valleys
from fedlab_book.chapters.long_walk.bound import Constants
from fedlab_book.findings import finding
from fedlab_book.panels import picture
from tests.figure_cases import drawn, made
from tests.reference import feddisco as plain

seeds = st.integers(0, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("tau", valleys.TAUS)
def test_the_average_rests_where_rounds_lead(tau):
    """From 0.5, until nothing moves; and with the best weight on the floor."""
    for weight in (0.2, valleys.best(tau, 0.2)):
        p, w = np.array([1 - weight, weight]), 0.5
        for _ in range(2000):
            ends = np.full(2, w)
            for _ in range(tau):
                ends -= 0.2 * valleys.BENDS * (ends - valleys.LOWEST)
            w = float(p @ ends)
        assert valleys.rest(weight, tau, 0.2) == pytest.approx(w)
    assert w == pytest.approx(valleys.FLOOR)


def test_sizes_are_right_for_one_step_and_less_so_for_more():
    """By hand: after many steps both stand in their lowest points, so that the weights
    are as the curvatures, 1 and .2: a sixth for B."""
    assert [valleys.best(1, eta) for eta in (0.05, 0.2, 0.9)] == pytest.approx(
        [0.5] * 3
    )
    bests = [valleys.best(tau, 0.2) for tau in valleys.TAUS]
    assert bests == sorted(bests, reverse=True)
    assert valleys.best(10_000, 0.2) == pytest.approx(1 / 6)
    assert valleys.right() == [*valleys.GUESSES][0]


def test_a_valley_says_where_the_average_rests():
    _, alt = None, drawn(valleys.valley(20, 0.2, 0.5))
    assert (
        "20 steps of 0.2" in alt and "rests at 0.36" in alt and "floor is 0.26" in alt
    )


def ended(
    equal: Mapping[int, float], disco: float = 0.0, uneven: float = 0.0
) -> Comparison:
    """Size reads one half, equal weights so many points more, FedDisco's still more."""
    seen = {}
    for steps in pace.STEPS:
        gains = {
            "by size": 0.0,
            "equal": equal[steps],
            "FedDisco": equal[steps] + disco,
        }
        for way, more in gains.items():
            seen[pace.BIG, pace.named(way, steps)] = {"accuracy": [0.5 + more / 100]}
        for way, more in {"by size": 0.0, "equal": uneven}.items():
            seen[pace.UNEVEN, pace.named(way, steps)] = {"accuracy": [0.5 + more / 100]}
    return made(seen)


GROWS = {5: 1.0, 20: 4.0, 50: 8.0}


def test_a_gain_that_grows_with_the_walk_carries_the_sentence():
    found = ended(GROWS)
    assert np.allclose(pace.gain(found, "equal", 50), 8)
    facts = pace.facts(found)
    assert "So." in str(finding("So.", **facts).data)
    assert facts["rows"][3].name == "equal, 50 steps minus 5"
    assert pace.right(found).startswith("More when they meet seldom")
    _, alt = picture(pace.by_pace(found))
    assert "by steps between meetings" in alt and "58.1" in alt


@pytest.mark.parametrize(
    "found",
    [
        ended({5: 8.0, 20: 4.0, 50: 1.0}),
        ended(GROWS, disco=3),
        ended(GROWS, uneven=2),
        ended(dict.fromkeys(pace.STEPS, -1.0)),
    ],
)
def test_other_runs_do_not(found):
    with pytest.raises(Exception, match="do not carry"):
        finding("So.", **pace.facts(found))


def test_the_answer_is_that_of_the_runs():
    same, seldom, often, nothing = pace.GUESSES
    for gains, answer in (
        (GROWS, seldom),
        ({5: 8.0, 20: 4.0, 50: 1.0}, often),
        (dict.fromkeys(pace.STEPS, 0.0), nothing),
    ):
        assert pace.right(ended(gains)) == answer
    assert same not in (seldom, often, nothing)


def weights(seed):
    return np.random.default_rng(seed).dirichlet(np.full(10, 3.0))


def plainly(c):
    return plain.Constants(
        c.tau, c.eta, c.rounds, c.smoothness, c.dissimilarity, c.sigma, c.gap
    )


def test_the_constants_as_given():
    assert Constants().drift == pytest.approx(0.1)
    assert Constants(tau=1, eta=0.5).drift == 0


@given(seed=seeds, tau=st.integers(1, 20), part=st.floats(0.05, 1), lam=st.floats(0, 1))
def test_values_are_the_plain_versions(seed, tau, part, lam):
    c = Constants(tau=tau, eta=part / (2 * tau * 3), smoothness=3.0, lam=lam)
    (n, d, _), p = bound.clients(seed % 5), weights(seed)
    given = (p.tolist(), n.tolist(), d.tolist(), plainly(c))
    T_0, above = plain.terms(*given)
    assert bound.terms(p, n, d, c)[0] == pytest.approx(T_0)
    assert bound.terms(p, n, d, c)[1:].sum() == pytest.approx(above)
    assert float(bound.bound(p, n, d, c)) == pytest.approx(plain.bound(*given))
    assert bound.surrogate(p, n, d, c) == pytest.approx(plain.surrogate(*given, lam))


@pytest.mark.parametrize("seed", range(3))
def test_the_plain_minimiser_is_scipys_and_within_the_largest_a(seed):
    c = Constants(dissimilarity=0.3, sigma=1.0)
    n, d, _ = bound.clients(seed)
    found = optimize.minimize(
        lambda p: 1e3 * bound.surrogate(p, n, d, c),
        n,
        bounds=[(0, 1)] * 10,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    p, a, _ = plain.surrogate_minimiser(n.tolist(), d.tolist(), plainly(c), c.lam)
    np.testing.assert_allclose(p, found.x, atol=1e-4)
    np.testing.assert_allclose(bound.lowest(n, d, c), p)
    price = c.dissimilarity * d.mean()
    part = price / (price + c.lam)
    assert a * d.sum() == pytest.approx(bound.largest(c.drift) * part)


def test_the_largest_a_is_a_quarter_and_a_half_takes_half():
    assert bound.largest(1 / 3) == pytest.approx(1 / 4)
    assert bound.largest(1 / 2) == pytest.approx(bound.SHIPPED)
    A, a = bound.drawn_at_random(range(4))
    assert (a < bound.largest(A)).all() and a.max() < 1 / 4
    assert bound.right(range(4)) == "Below one quarter"


@given(seed=seeds)
def test_the_surrogate_is_never_above_the_bound(seed):
    """T_0 <= 1, so T_0 * bound - lam * T_0 <= bound. Table 6 has it the other way
    round: its two rows cannot both be what they are called."""
    (n, d, _), c, p = bound.clients(seed % 5), Constants(), weights(seed)
    assert bound.surrogate(p, n, d, c) <= bound.bound(p, n, d, c)


def test_rows_of_weights_are_each_weights_bound():
    (n, d, _), c = bound.clients(0), Constants()
    rows = np.stack([n, weights(1)])
    each = [float(bound.bound(p, n, d, c)) for p in rows]
    assert bound.bound(rows, n, d, c).tolist() == pytest.approx(each)
    assert bound.bound(np.eye(10)[0], n, d, c) == np.inf
    far = replace(c, eta=0.02)
    assert bound.bound(weights(0), n, d, far, False) < np.inf


def test_the_lost_factor_decides_whether_the_bound_tightens():
    """The pair of the scripts, the constants of one field of the grid, by hand."""
    found = bound.changes(3, True)
    assert found.shape == (24, 90) and (found > 0).all()
    n, d, held = bound.clients(3)
    p, c = fl.Disco(0.5, 0.1)(held).numpy(), Constants(eta=(0.01 / 180) ** 0.5)
    change = 100 * (bound.bound(p, n, d, c) / bound.bound(n, n, d, c) - 1)
    assert found[bound.TRIED.index((0.5, 0.1)), 0] == pytest.approx(change)
    facts = bound.facts(range(8))
    assert "So." in str(finding("So.", **facts).data)
    words = [row.says for row in facts["rows"]]
    assert words == ["looser", "looser", "tighter"]


def test_the_picture_says_how_far_a_reaches():
    _, alt = picture(bound.reach(range(3)))
    assert "0.25 at A = 1/3" in alt and "120 random sets" in alt and "A = 1/2" in alt

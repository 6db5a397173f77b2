"""FedAvg's momentum and FedDisco's bound, against arithmetic that fits in a comment."""

import pytest

from tests.reference import fedavg, feddisco
from tests.reference.toy import data, on_line, steps, u_of


def test_momentum_lasts_a_round_and_no_longer():
    # x = 0 has no gradient, so in round 0 the second step is momentum alone: v = .5,
    # u = .5; then v/2, u = .75. Round 1 sees x = 0 only: a fresh optimiser has nothing
    # to carry on with.
    args = on_line([data([1.0, 0.0], [0, 0])], [[0], [0]], steps([0, 1], [1]), 0.5)
    assert [u_of(r) for r in fedavg.run(*args)] == pytest.approx([0.75, 0.75])


# tau (tau - 1) eta^2 = .05, so that A = .1 with L = 1
CONSTANTS = feddisco.Constants(
    tau=5, eta=0.05, rounds=100, smoothness=1.0, dissimilarity=0.1, sigma=0.1, gap=1.0
)


def test_bound_by_hand():
    # A = 2 * 5 * 4 * .05^2 = .1. p = n = (1/2, 1/2): W_D = 0, so T_0 = 1 - .3.
    # T_1 = 1.8 / (5 * .05 * 100); T_2 = 0; T_3 = 1.8 * .05 * .01 * (1/4 + 1/4);
    # T_4 = 8 * (.1 * .05)^2; T_5 = 2 * .1 * .1 * (.5 * 0 + .5 * 2)
    n, d = [0.5, 0.5], [0.0, 2.0]
    assert pytest.approx(0.1) == CONSTANTS.A
    T_0, above = feddisco.terms(n, n, d, CONSTANTS)
    assert T_0 == pytest.approx(0.7)
    assert above == pytest.approx(0.072 + 0 + 0.00045 + 0.0002 + 0.02)
    assert feddisco.bound(n, n, d, CONSTANTS) == pytest.approx(above / 0.7)
    # p = (.6, .4): W_D = 2 * 2 * (.01 + .01) = .08; T_0 = .7 - .9 * .08;
    # T_2 = .9 * .08 * .1 * (0 + 2) / 2; T_3 with .36 + .16; T_5 with .4 * 2
    T_0, above = feddisco.terms([0.6, 0.4], n, d, CONSTANTS)
    assert T_0 == pytest.approx(0.628)
    assert above == pytest.approx(0.072 + 0.0072 + 0.000468 + 0.0002 + 0.016)

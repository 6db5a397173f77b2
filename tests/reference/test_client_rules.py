"""FedProx, SCAFFOLD, FedDyn, FedDC, MOON: toys by hand, and reductions to FedAvg."""

import math

import pytest
import torch

from tests.reference import common, fedavg, feddc, feddyn, fedprox, moon, scaffold
from tests.reference.toy import (
    CLIENTS,
    data,
    everything,
    net,
    on_line,
    same,
    steps,
    u_of,
    world,
)

ONE = data([1.0, 0.0], [0, 0])  # sample 0 moves u by 1/2 from zero, sample 1 never
A, B = data([1.0], [0]), data([2.0, 2.0], [1, 1])  # one step: u = 1/2 and u = -1


def models(history) -> list[common.State]:
    return [r.model for r in history]


def us(history) -> list[float]:
    return [u_of(r.model) for r in history]


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.mark.parametrize(("half", "expected"), [(True, 0.45), (False, 0.4)])
def test_fedprox_pulls_back(half, expected):
    # u = .5 after the first step; the second is -mu u = -.05, or -2 mu u = -.1
    run = fedprox.run(*on_line([ONE], [[0]], steps([0, 1])), mu=0.1, half=half)
    assert us(run) == pytest.approx([expected])


def test_scaffold_two_rounds_by_hand():
    # Round 1, no correction: u_A = .5, u_B = -1, mean -1/4. c_k = (x - y) / 1 is the
    # gradient: -.5 and 1; c = 1/4. Round 2 at u = -1/4 along g_k - c_k + c, with
    # g_A = s(-1/2) - 1 and g_B = 2 s(-1), as s(2 u x) is the share of class 0; c_k
    # becomes g_k, and the corrections cancel in the mean: w = -1/4 - (g_A + g_B) / 2.
    turns = [[0, 1]] * 2
    first, second = scaffold.run(*on_line([A, B], turns, everything([A, B])))
    g_A, g_B = sigmoid(-0.5) - 1, 2 * sigmoid(-1)
    assert u_of(first.model) == pytest.approx(-0.25)
    assert [u_of(c) for c in first.clients["c"]] == pytest.approx([-0.5, 1])
    assert u_of(first.server["c"]) == pytest.approx(0.25)
    assert [u_of(c) for c in second.clients["c"]] == pytest.approx([g_A, g_B])
    assert u_of(second.model) == pytest.approx(-0.25 - (g_A + g_B) / 2)


def test_scaffold_divides_by_all_clients_and_has_a_global_rate():
    # only A of three: c = -.5 / 3, and w = 2 * .5
    clients = [A, B, B]
    (r,) = scaffold.run(*on_line(clients, [[0]], everything(clients)), global_lr=2.0)
    assert u_of(r.server["c"]) == pytest.approx(-1 / 6)
    assert u_of(r.model) == pytest.approx(1.0)


@pytest.mark.parametrize(("separate", "expected"), [(False, 2.5), (True, 2.0)])
def test_scaffold_correction_and_momentum(separate, expected):
    # Round 1: client 0 alone, c_0 = -.5 and c = -.25. Round 2 without gradients: the
    # correction d = c - c_0 = .25 enters the momentum (d, then d/2 + d) or not (d, d).
    args = on_line([ONE, ONE], [[0], [0]], steps([0], [1, 1]), momentum=0.5)
    run = scaffold.run(*args, separate=separate)
    assert us(run) == pytest.approx([0.5, 0.5 - expected * 0.25])


@pytest.mark.parametrize("method", [feddyn.run, feddc.run])
def test_feddyn_and_feddc_by_hand(method):
    # K = 1, a = alpha. Round 1: u = .5, h = .5; evaluated .5, sent x = .5 + .5 = 1.
    # Round 2, no gradient: FedDyn a (h - x) + a y = a (.5 - 1 + 1), FedDC
    # a (y - (x - h)) = a (1 - .5): y = 1 - a/2, h = .5 - a/2, x = 1.5 - a.
    a = 0.1
    run = method(*on_line([ONE], [[0], [0]], steps([0], [1])), alpha=a)
    assert us(run) == pytest.approx([0.5, 1 - a / 2])
    assert [u_of(r.server["x"]) for r in run] == pytest.approx([1, 1.5 - a])
    assert u_of(run[1].clients["h"][0]) == pytest.approx(0.5 - a / 2)


@pytest.mark.parametrize(
    ("method", "pull"),
    # client 0 has 2 of 8 samples: alpha_0 = a / (2 * 2/8) = 2a. After round 1 h is .5
    # and 0, so x = .5 + .25. FedDyn: 2a (.5 - .75) + a .75; FedDC: 2a (.75 - .25)
    [(feddyn.run, 0.25), (feddc.run, 1.0)],
)
def test_alpha_follows_the_size_and_x_the_mean_over_all(method, pull):
    a, big = 0.1, data([1.0] * 6, [0] * 6)
    run = method(*on_line([ONE, big], [[0], [0]], steps([0], [1])), alpha=a)
    assert us(run) == pytest.approx([0.5, 0.75 - a * pull])


def test_feddyn_of_law_by_hand():
    # Round 1: u = .5, g = -mu/2, h = -mu/2, w = .5 + .5. Round 2: -<g, y> alone, as the
    # distance is 0: y = 1 - mu/2; g = h = -mu/2 + mu^2/2; w = y - h/mu = 1.5 - mu
    mu = 0.1
    run = feddyn.run_law(*on_line([ONE], [[0], [0]], steps([0], [1])), mu=mu)
    assert us(run) == pytest.approx([1, 1.5 - mu])
    assert u_of(run[1].clients["g"][0]) == pytest.approx(-mu / 2 + mu**2 / 2)
    assert u_of(run[1].server["h"]) == pytest.approx(-mu / 2 + mu**2 / 2)


@pytest.mark.parametrize(("squared", "pull"), [(True, 0.5), (False, 0.25 / 0.5**0.5)])
def test_feddyn_of_law_and_its_norm(squared, pull):
    # y = (.5, -.5), norm sqrt(.5): the pull is mu y, or mu/2 y / ||y||. One client's
    # h = -mu (y - x) makes w = 2 y.
    args = on_line([ONE], [[0]], steps([0, 1]))
    run = feddyn.run_law(*args, mu=0.1, squared=squared)
    assert us(run) == pytest.approx([2 * (0.5 - 0.1 * pull)])


def test_feddc_with_gradient_correction():
    # client 0 of two, alpha = 0: g_0 = .5 and g = .25 after round 1, sent x = .75;
    # round 2 in two steps: twice -(g_0 - g) / 2
    args = on_line([ONE, ONE], [[0], [0]], steps([0], [1, 1]))
    assert us(feddc.run(*args, alpha=0.0, correct=True)) == pytest.approx([0.5, 0.5])
    assert us(feddc.run(*args, alpha=0.0)) == pytest.approx([0.5, 0.75])


def test_moon_by_hand():
    x, y = CLIENTS[0]
    server, against = net(), net()
    with torch.no_grad():  # tanh is odd: -z
        for p in against.features.parameters():
            p.neg_()
    ce = common.entropy(server, x, y)
    # z = z_server = z_previous: log 2. z_previous = -z: log(1 + e^(-2/T))
    even = moon.contrastive(server, server, 3.0, 0.5)(server, x, y)
    apart = moon.contrastive(server, against, 3.0, 0.5)(server, x, y)
    assert (even - ce).item() == pytest.approx(3 * math.log(2))
    assert (apart - ce).item() == pytest.approx(3 * math.log1p(math.exp(-4)))


def test_moon_has_no_negative_in_the_first_participation():
    run = moon.run(*world(), mu=5.0)
    assert same(models(run)[:1], fedavg.run(*world())[:1])
    late = world([[0], [1], [2], [3]])
    once = moon.run(*late, mu=5.0)
    assert same(models(once), fedavg.run(*late))
    assert once[1].clients["previous"][2] is None

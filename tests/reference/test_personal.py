"""Fine-tuning, Per-FedAvg, pFedMe, Ditto: toys by hand, and reductions to FedAvg."""

import math

import pytest
import torch

from tests.reference import common, personal
from tests.reference.toy import data, net, on_line, same, steps, u_of, world


def models(history) -> list[common.State]:
    return [r.model for r in history]


def own(history, k: int) -> list[common.State]:
    return [r.clients["model"][k] for r in history]


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def test_per_fedavg_by_hand():
    # 4 samples (1, 0), rate 1. First half: gradient -1/2, ahead u = .5. Second half
    # there: s(2 u) - 1, the step from zero. The tested model takes one step more.
    client = data([1.0] * 4, [0] * 4)
    order = lambda k, t: [torch.arange(4), torch.arange(3)]  # noqa: E731
    model, clients, rounds, turns, _, lr, _, _, weights = on_line(
        [client], [[0]], order
    )
    args = (model, clients, rounds, turns, order, lr, weights)
    (r,) = personal.per_fedavg(*args, adapting=lambda k, t: [torch.arange(4)])
    u = 1 - sigmoid(1)  # the batch of three is left out
    assert u_of(r.model) == pytest.approx(u)
    assert u_of(r.clients["model"][0]) == pytest.approx(u + 1 - sigmoid(2 * u))


def test_per_fedavg_cuts_an_odd_batch_below_the_middle():
    # first part: samples 0 and 1 without gradient; second: the plain mean of the rest
    client = data([0.0, 0.0, 1.0, 1.0, 0.0], [0] * 5)
    order = lambda k, t: [torch.arange(5)]  # noqa: E731
    model, clients, rounds, turns, _, lr, _, _, weights = on_line(
        [client], [[0]], order
    )
    args = (model, clients, rounds, turns, order, lr, weights)
    (r,) = personal.per_fedavg(*args, adapting=lambda k, t: [])
    assert u_of(r.model) == pytest.approx(2 / 3 * 0.5)


def test_pfedme_by_hand():
    # one sample (1, 0), inner rate 1, lam = .5, two steps: theta = .5, then the
    # gradient s(1) - 1 + .5 * .5; y moves by lr lam theta = .4 * .5 theta
    client = data([1.0], [0])
    model, clients, _, _, order, *_, weights = on_line([client], [[0]], steps([0]))
    args = (model, clients, 1, [[0]], order, 0.4, weights)
    (r,) = personal.pfedme(*args, lam=0.5, inner_lr=1.0, inner_steps=2)
    theta = 0.5 + 1 - sigmoid(1) - 0.25
    assert u_of(r.clients["model"][0]) == pytest.approx(theta)
    assert u_of(r.model) == pytest.approx(0.2 * theta)


def test_pfedme_who_was_away_keeps_theta():
    model, clients, rounds, turns, order, *_, weights = world([[0, 1], [2, 0]])
    run = personal.pfedme(model, clients, rounds, turns, order, 0.1, weights)
    assert same(own(run, 1)[:1], own(run, 1)[1:])
    assert not same(own(run, 0)[:1], own(run, 0)[1:])
    assert same(own(run, 3)[:1], [common.state(net())])


def test_ditto_by_hand():
    # Round 1: u = .5 and v = .5, then the pull to x = 0: v = .5 - .1 * .5. Round 2
    # without gradients: x = .5, v = .45 + .1 * .05, twice
    client = data([1.0, 0.0], [0, 0])
    args = on_line([client], [[0], [0]], steps([0], [1]))
    order = steps([0, 1], [1, 1])
    run = personal.ditto(*args, personal=order, lam=0.1)
    assert [u_of(v) for v in own(run, 0)] == pytest.approx([0.45, 0.5 - 0.05 * 0.81])
    assert [u_of(m) for m in models(run)] == pytest.approx([0.5, 0.5])

"""FedNova, FedAvgM, FedAdam, q-FedAvg, kept optimisers: by hand, and reductions."""

import math

import pytest
import torch

from tests.reference import common, fedadam, fedavg, fedavgm, fednova, qfedavg, rmsprop
from tests.reference.toy import (
    CLIENTS,
    batches,
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
TWO_ROUNDS = ([[0], [0]], steps([0], [1]))


def models(history) -> list[common.State]:
    return [r.model for r in history]


def us(history) -> list[float]:
    return [u_of(r.model) for r in history]


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("tau", [1, 2, 7])
def test_fednova_effective_steps(tau, momentum):
    rho = momentum
    closed = (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)
    assert fednova.effective_steps(tau, rho) == pytest.approx(closed)


def test_fednova_by_hand():
    # A takes 1 step to .5, B takes 2 to -1 (the second without gradient), each counts
    # half: (1 + 2)/2 * (.5/1 - 1/2) / 2 = 0
    B0 = data([2.0, 0.0], [1, 1])
    order = [[torch.tensor([0])], [torch.tensor([0]), torch.tensor([1])]]
    args = on_line([A, B0], [[0, 1]], lambda k, t: order[k])
    (r,) = fednova.run(*args)
    assert u_of(r.model) == pytest.approx(0) and r.server["a"] == {0: 1, 1: 2}
    # without momentum there is nothing to be aware of
    assert us(fednova.run(*args, momentum_aware=True)) == pytest.approx([0])


def test_fedavgm_by_hand():
    # Delta = -.5, then 0, and v is 1 - beta of it or all of it
    args, beta = on_line([ONE], *TWO_ROUNDS), 0.4
    run = fedavgm.run(*args, beta=beta)
    assert us(run) == pytest.approx([0.3, 0.3 * 1.4])
    assert [u_of(r.server["v"]) for r in run] == pytest.approx([-0.3, -0.12])
    run = fedavgm.run(*args, beta=beta, average_form=False)
    assert us(run) == pytest.approx([0.5, 0.5 * 1.4])


def test_fedadam_by_hand():
    # D = .5: m = .05, sqrt(v) = .05; then D = 0: m = .045, v = .99 * .0025
    run = fedadam.run(*on_line([ONE], *TWO_ROUNDS), server_lr=0.1)
    first = 0.1 * 0.05 / (0.05 + 1e-5)
    second = first + 0.1 * 0.045 / (math.sqrt(0.99 * 0.0025) + 1e-5)
    assert us(run) == pytest.approx([first, second])
    assert u_of(run[0].server["m"]) == pytest.approx(0.05)


@pytest.mark.parametrize("scaled", [False, True])
def test_qfedavg_by_hand(scaled):
    # F = log 2 for both. D_A = -L (.5, -.5), D_B = L (1, -1): squared norms L^2 / 2 and
    # 2 L^2, times F^2 if scaled. w = F L (.5 - 1) / (2.5 L^2 [F^2] + 2 L F).
    *args, _ = on_line([A, B], [[0, 1]], everything([A, B]))
    F, L = math.log(2), 3.0
    (r,) = qfedavg.run(*tuple(args), q=1.0, L=L, scaled_norm=scaled)
    below = 2.5 * L**2 * (F**2 if scaled else 1) + 2 * L * F
    assert u_of(r.model) == pytest.approx(-0.5 * F * L / below)
    assert r.server["F"] == pytest.approx({0: F, 1: F})


def keeping(args, make) -> list[common.Round]:
    model, clients, rounds, turns, order, *_, weights = args
    return rmsprop.run(model, clients, rounds, turns, order, make, weights)


def test_a_kept_optimiser_goes_on_where_it_stopped():
    # one client: its weights go on too, so all rounds are one run of torch's RMSProp
    x, y = CLIENTS[0]
    run = keeping(world([[0]] * 4, clients=CLIENTS[:1]), rmsprop.rmsprop(0.01))
    local, states = net(), []
    stepper = torch.optim.RMSprop(local.parameters(), lr=0.01)
    for t in range(4):
        for batch in batches(0, t):
            stepper.zero_grad()
            common.entropy(local, x[batch], y[batch]).backward()
            stepper.step()
        states.append(common.state(local))
    assert same(models(run), states)


def test_a_client_that_was_away_keeps_its_optimiser():
    args = world(sgd=(0.1, 0.0, 0.0))
    plain = keeping(args, lambda of: torch.optim.SGD(of, lr=0.1))
    assert same(models(plain), fedavg.run(*args))
    run = keeping(args, rmsprop.rmsprop(0.01))
    before, after = (r.clients["optimiser"][3] for r in run[:2])  # away in round 2
    assert torch.equal(before[0]["square_avg"], after[0]["square_avg"])
    here = [r.clients["optimiser"][0] for r in run[:2]]
    assert not torch.equal(here[0][0]["square_avg"], here[1][0]["square_avg"])

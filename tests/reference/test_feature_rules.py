"""rFedAvg, rFedAvg+ and FedImpro: toys by hand, reductions to FedAvg."""

import pytest
import torch
from torch import nn

from tests.reference import common, fedimpro, rfedavg
from tests.reference.fedavg import equal_weights
from tests.reference.toy import CLIENTS, DOUBLE, Net, Nine, net, same, world


def slope() -> Net:
    """Feature a x with a = 1, and a head of zeros: features get no gradient from CE."""
    features, head = nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False)
    nn.init.ones_(features.weight)
    nn.init.zeros_(head.weight)
    return Net(features, head).double()


def both(x: float):
    """The same x with either label: the head of zeros has no gradient either."""
    return torch.full((2, 1), x, dtype=DOUBLE), torch.tensor([0, 1])


def on_slope(xs, turns) -> Nine:
    """One step with rate 1 on all a client has, so that only the new term moves a."""
    order = [[torch.arange(2)]] * len(turns)
    clients = [both(x) for x in xs]
    sgd = (1.0, 0.0, 0.0)
    return (
        slope(), clients, len(turns), turns, lambda k, t: order[t], *sgd, equal_weights
    )  # fmt: skip


def a_of(r: common.Round) -> float:
    return r.model["features.weight"].item()


LAM = 0.001


@pytest.mark.parametrize(
    ("own", "expected", "targets"),
    [
        # delta = 1, 3; d/da of lam (a x - target)^2 is 2 lam (a x - target) x: for the
        # target of the other -4 lam and 12 lam, mean 4 lam
        (False, 1 - 4 * LAM, [3, 1]),
        # towards 2: -2 lam and 6 lam
        (True, 1 - 2 * LAM, [2, 2]),
    ],
)
def test_rfedavg_plus_by_hand(own, expected, targets):
    (r,) = rfedavg.run_plus(*on_slope([1.0, 3.0], [[0, 1]]), lam=LAM, own=own)
    assert a_of(r) == pytest.approx(expected)
    assert [r.server["target"][k].item() for k in (0, 1)] == targets
    assert [r.server["delta"][k].item() for k in (0, 1)] == [1, 3]


def test_rfedavg_plus_takes_delta_with_the_new_global_model():
    run = rfedavg.run_plus(*on_slope([1.0, 3.0], [[0, 1]] * 2), lam=LAM)
    assert run[1].server["delta"][1].item() == pytest.approx(3 * a_of(run[0]))


def test_rfedavg_by_hand():
    # Round 1: nothing known, a = 1, so delta = 1, 3, 6. Round 2: the mean over the two
    # others of 2 lam (x - delta^j) x: -7, -3 and 48, over three clients -> 38/3. Own
    # models: 1 + 7 lam, ... of which delta is taken.
    run = rfedavg.run(*on_slope([1.0, 3.0, 6.0], [[0, 1, 2]] * 2), lam=LAM)
    assert a_of(run[0]) == 1
    assert [d.item() for d in run[0].clients["delta"]] == [1, 3, 6]
    assert a_of(run[1]) == pytest.approx(1 - 38 / 3 * LAM)
    own = [d.item() for d in run[1].clients["delta"]]
    assert own == pytest.approx([1 + 7 * LAM, 3 * (1 + 3 * LAM), 6 * (1 - 48 * LAM)])


def test_rfedavg_targets_are_all_known_or_the_participants():
    # Round 2 is client 0 and the new client 2. All known: 0 sees delta^1 = 3, 2 sees 1
    # and 3: -4 lam and 2 lam (6 - 2) 6 = 48 lam. Participants: 0 sees nobody, and 2
    # sees 1: 60 lam.
    args = on_slope([1.0, 3.0, 6.0], [[0, 1], [0, 2]])
    known = rfedavg.run(*args, lam=LAM)
    assert a_of(known[1]) == pytest.approx(1 - 22 * LAM)
    assert known[0].clients["delta"][2] is None
    code = rfedavg.run(*args, lam=LAM, sample=lambda k, t: torch.arange(2))
    assert a_of(code[1]) == pytest.approx(1 - 30 * LAM)


MU = torch.linspace(0, 1, 12, dtype=DOUBLE).reshape(3, 4)
S = torch.full((3, 4), 0.1, dtype=DOUBLE)


def nothing(k: int, t: int, step: int, shape: torch.Size) -> torch.Tensor:
    return torch.zeros(shape, dtype=DOUBLE)


def test_synthetic_labels():
    y = torch.tensor([2, 2, 0, 1])
    assert fedimpro.synthetic_labels(y, 3, False).tolist() == [0, 1, 2, 0, 1, 2]
    assert fedimpro.synthetic_labels(y, 3, True) is y
    many = fedimpro.synthetic_labels(torch.zeros(128), 10, False)
    assert len(many) == 130 and many.bincount().tolist() == [13] * 10


@pytest.mark.parametrize("variance", [False, True])
def test_one_step_is_the_loss_of_both_batches(variance):
    # with 1 for every normal number, each synthetic sample of class c is mu_c plus one
    # standard deviation; twice each class for B = 4
    server, (x, y) = net(), CLIENTS[0]
    ce, rate, labels = nn.functional.cross_entropy, 0.1, torch.arange(6) % 3
    fake = server.head(MU[labels] + (S.sqrt() if variance else S)[labels])
    (ce(server(x[:4]), y[:4]) + 0.7 * ce(fake, labels)).backward()
    want = {}
    for name, p in server.named_parameters():
        assert p.grad is not None
        want[name] = p - rate * p.grad
    variant = fedimpro.Variant(variance=variance, alpha=lambda t: 0.7)
    args = world([[0]], lambda k, t: [torch.arange(4)], sgd=(rate, 0.0, 0.0))
    draw = lambda k, t, step, shape: 1 + nothing(k, t, step, shape)  # noqa: E731
    (r,) = fedimpro.run(*args, MU, S, draw, variant)
    assert same([r.model], [want])


def test_the_servers_statistics():
    variant = fedimpro.Variant(beta_g=0.25)
    (r,) = fedimpro.run(
        *world([[0, 2]]), MU, S, nothing, variant,
        noise=lambda k, t, what, shape: torch.full(shape, k + 0.5 * (what == "s")),
    )  # fmt: skip
    for i, name, first in ((0, "mu", MU), (1, "s", S)):
        sent = [r.server["sent"][k][i] for k in (0, 2)]
        mean = (sent[0] + sent[1]) / 2 + 1 + 0.5 * i  # noise 0 and 2, and .5 more on s
        assert torch.allclose(r.server[name], 0.25 * first + 0.75 * mean)

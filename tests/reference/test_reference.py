"""The plain versions, against arithmetic that fits in a comment."""

import math

import pytest
import torch
from torch import Tensor, nn

from tests.reference import fedavg, feddisco

UNIFORM = [0.1] * 10
TWO_CLASSES = [0.5, 0.5] + [0.0] * 8


def line(*weights: float) -> nn.Linear:
    """One input, two logits, no bias: with both weights 0 the softmax is (1/2, 1/2)."""
    model = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor(weights or (0.0, 0.0))[:, None])
    return model


def data(xs: list[float], ys: list[int]) -> tuple[Tensor, Tensor]:
    return torch.tensor(xs)[:, None], torch.tensor(ys)


def everything(clients):
    """One batch a round, with all the client has."""
    return lambda k, t: [torch.arange(len(clients[k][1]))]


def weight(model_or_state) -> list[float]:
    if isinstance(model_or_state, nn.Module):
        model_or_state = model_or_state.state_dict()
    return model_or_state["weight"].flatten().tolist()


# A holds (x, y) = (1, 0). From 0, dL/dw = (softmax - onehot) x = (-1/2, 1/2), so one
# step with lr 1 gives A (1/2, -1/2). B holds (2, 1) twice: the mean of two equal
# gradients (1/2, -1/2) * 2 gives B (-1, 1).
A, B = data([1.0], [0]), data([2.0, 2.0], [1, 1])


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        # sizes 1 and 2: 1/3 * 1/2 - 2/3 * 1 = -1/2
        (fedavg.size_weights([A, B]), [-0.5, 0.5]),
        # equal: 1/2 * 1/2 - 1/2 * 1 = -1/4
        (fedavg.equal_weights, [-0.25, 0.25]),
        # FedDisco: each has one class of two, so d is equal, n = (1/3, 2/3), and with
        # a = 1/2, b = 1/10: (1/3 - .15, 2/3 - .15) / .7 = (11/42, 31/42);
        # 11/42 * 1/2 - 31/42 = -51/84
        (feddisco.disco_weights([A, B], 2, 0.5, 0.1), [-51 / 84, 51 / 84]),
    ],
)
def test_one_round_of_two_clients(weights, expected):
    model = line()
    run = fedavg.run(
        model, [A, B], 1, [[0, 1]], everything([A, B]), 1.0, 0.0, 0.0, weights
    )
    assert weight(run[0]) == pytest.approx(expected)
    assert weight(model) == [0, 0]


def test_only_participants_train_and_count():
    weights = fedavg.size_weights([A, B])
    run = fedavg.run(
        line(), [A, B], 1, [[1]], everything([A, B]), 1.0, 0.0, 0.0, weights
    )
    assert weight(run[0]) == pytest.approx([-1, 1])
    assert weights(0, [1]) == [1]


def test_the_second_round_starts_from_the_average():
    weights = fedavg.size_weights([A])
    run = fedavg.run(
        line(), [A], 2, [[0], [0]], everything([A]), 1.0, 0.0, 0.0, weights
    )
    # w = (1/2, -1/2): softmax (s, 1 - s) with s = 1 / (1 + e^-1); the step adds 1 - s
    s = 1 / (1 + math.exp(-1))
    assert weight(run[0]) == pytest.approx([0.5, -0.5])
    assert weight(run[1]) == pytest.approx([1.5 - s, s - 1.5])


def test_momentum_lasts_a_round_and_no_longer():
    # x = 0 has no gradient, so in round 0 the second step is momentum alone:
    # v = (-1/2, 1/2), w = (1/2, -1/2); then v/2, w = (3/4, -3/4).
    # Round 1 sees x = 0 only: a fresh optimiser has nothing to carry on with.
    client = data([1.0, 0.0], [0, 0])
    order = {0: [torch.tensor([0]), torch.tensor([1])], 1: [torch.tensor([1])]}
    run = fedavg.run(
        line(),
        [client],
        2,
        [[0], [0]],
        lambda k, t: order[t],
        1.0,
        0.5,
        0.0,
        fedavg.equal_weights,
    )
    assert weight(run[0]) == pytest.approx([0.75, -0.75])
    assert weight(run[1]) == pytest.approx([0.75, -0.75])


def test_weight_decay_pulls_to_zero():
    # no gradient at x = 0, so one step multiplies w by 1 - lr * decay = 1 - .5 * .2
    x, y = data([0.0], [0])
    trained = fedavg.local_train(
        line(1.0, -2.0), x, y, [torch.tensor([0])], lr=0.5, weight_decay=0.2
    )
    assert weight(trained) == pytest.approx([0.9, -1.8])


def test_a_short_batch_is_averaged_over_its_own_size():
    # x = 0 gives no gradient. {1, 0}: (-1/2, 1/2) / 2. Then {1} alone, at w = (1/4,
    # -1/4): softmax of class 0 is s = 1 / (1 + e^-1/2), and the step adds 1 - s.
    x, y = data([1.0, 0.0, 1.0], [0, 0, 0])
    trained = fedavg.local_train(
        line(), x, y, [torch.tensor([0, 1]), torch.tensor([2])], lr=1.0
    )
    s = 1 / (1 + math.exp(-0.5))
    assert weight(trained) == pytest.approx([1.25 - s, s - 1.25])


def test_running_statistics_are_averaged_and_counters_kept():
    models = [nn.BatchNorm1d(1), nn.BatchNorm1d(1)]
    for model, mean in zip(models, (1.0, 5.0), strict=True):
        assert model.running_mean is not None
        model.running_mean.fill_(mean)
    state = fedavg.average(models, [0.25, 0.75])
    assert state["running_mean"].tolist() == [4]
    assert state["num_batches_tracked"].dtype == torch.int64


def test_label_distribution():
    assert feddisco.label_distribution(torch.tensor([2, 0, 2, 2]), 4) == [
        0.25,
        0,
        0.75,
        0,
    ]
    with pytest.raises(ValueError, match="a client without samples"):
        feddisco.label_distribution([], 4)


@pytest.mark.parametrize(
    ("metric", "expected", "printed"),
    [
        # eight classes miss .1 each, two have .4 too many: 8 * .1 + 2 * .4
        ("l1", 1.6, 1.6),
        # 8 * .01 + 2 * .16 = .4
        ("l2", math.sqrt(0.4), 0.6325),
        # dot .1; norms sqrt(.5) and sqrt(.1): .1 / sqrt(.05) = 1 / sqrt(5)
        ("cosine", 1 - 1 / math.sqrt(5), 0.5528),
        # 2 * .5 * log(.5 / .1)
        ("kl", math.log(5), 1.6094),
    ],
)
def test_discrepancy_of_two_classes_of_ten(metric, expected, printed):
    d = feddisco.discrepancy(TWO_CLASSES, UNIFORM, metric)
    assert d == pytest.approx(expected)
    assert d == pytest.approx(printed, abs=5e-5)
    assert feddisco.discrepancy(UNIFORM, UNIFORM, metric) == pytest.approx(0)


def test_kl_is_from_local_to_target():
    # KL((1/2, 1/2) || (1/4, 3/4)) = .5 log 2 + .5 log(2/3) = .5 log(4/3);
    # the other way round it is .25 log(1/2) + .75 log(3/2)
    forward = feddisco.discrepancy([0.5, 0.5], [0.25, 0.75], "kl")
    assert forward == pytest.approx(0.5 * math.log(4 / 3))
    assert feddisco.discrepancy([0.5, 0.5], [1, 0], "kl") == math.inf
    assert feddisco.discrepancy([1, 0], [0.5, 0.5], "kl") == pytest.approx(math.log(2))


def test_unknown_metric():
    with pytest.raises(ValueError, match="'l3' is not one of l1, l2, cosine, kl"):
        feddisco.discrepancy([1], [1], "l3")


# NIID-2: five clients with two classes, one with all ten, six equal sizes. The five
# share the whole normalised discrepancy, 1/5 each; the sixth has none.
@pytest.mark.parametrize(
    ("a", "b", "biased", "unbiased"),
    [
        (0.0, 0.0, 0.1667, 0.1667),
        (0.5, 0.1, 0.1515, 0.2424),
        (0.4, 0.1, 0.1556, 0.2222),
        (0.6, 0.1, 0.1467, 0.2667),
        (0.7, 0.05, 0.1278, 0.3611),
        (0.2, 0.4, 0.1646, 0.1771),
    ],
)
def test_niid2(a, b, biased, unbiased):
    p = feddisco.weights([8330] * 6, [math.log(5)] * 5 + [0.0], a, b)
    total = 1 - a + 6 * b  # nobody is clipped, so this is what Eq. (3) divides by
    assert p[0] == pytest.approx((1 / 6 - a / 5 + b) / total)
    assert p[5] == pytest.approx((1 / 6 + b) / total)
    assert p == pytest.approx([biased] * 5 + [unbiased], abs=5e-5)
    assert sum(p) == pytest.approx(1)


@pytest.mark.parametrize("metric", ["l1", "l2", "cosine", "kl"])
def test_niid2_unnormalised_silences_every_biased_client(metric):
    d = feddisco.discrepancy(TWO_CLASSES, UNIFORM, metric)
    p = feddisco.weights([1] * 6, [d] * 5 + [0.0], 0.5, 0.1, normalise=False)
    assert p == [0, 0, 0, 0, 0, 1]


# Ten participants, m of them unbiased: n = 1/10, the others' discrepancy is 1/(10 - m).
# With (a, b) = (.5, .1) a biased client gets (.2 - .5/(10 - m)) / 1.5 and an unbiased
# one .2 / 1.5, as long as the first is positive: 10 - m > 2.5, so m <= 7.
@pytest.mark.parametrize(
    ("m", "biased", "unbiased"),
    [
        (1, 0.0963, 0.1333),
        (2, 0.0917, 0.1333),
        (3, 0.0857, 0.1333),
        (7, 1 / 45, 0.1333),
        # beyond that the biased are clipped to 0 and the others share equally
        (8, 0, 1 / 8),
        (9, 0, 1 / 9),
        # all alike: everyone 1/10, whether or not there is a discrepancy to divide by
        (0, 0.1, None),
        (10, None, 0.1),
    ],
)
def test_partial_participation(m, biased, unbiased):
    p = feddisco.weights([830] * 10, [math.log(5)] * (10 - m) + [0.0] * m, 0.5, 0.1)
    assert p == pytest.approx([biased] * (10 - m) + [unbiased] * m, abs=5e-5)


# One draw of NIID-1 (K = 10), known to three digits: sizes, normalised discrepancies
# and weights. The inputs' own rounding moves the third digit of the last by up to one.
N = [0.023, 0.121, 0.123, 0.104, 0.118, 0.118, 0.130, 0.053, 0.122, 0.088]
D_HAT = [0.092, 0.085, 0.171, 0.167, 0.168, 0.060, 0.069, 0.051, 0.069, 0.069]
P = [0.051, 0.119, 0.092, 0.080, 0.089, 0.125, 0.130, 0.085, 0.125, 0.103]


def test_niid1_worked_example():
    assert feddisco.weights(N, D_HAT, 0.5, 0.1) == pytest.approx(P, abs=1e-3)


def test_scale_of_discrepancies_matters_only_without_normalising():
    big = [7 * d for d in D_HAT]
    assert feddisco.weights(N, big, 0.5, 0.1) == pytest.approx(
        feddisco.weights(N, D_HAT, 0.5, 0.1)
    )
    assert feddisco.weights(N, big, 0.5, 0.1, normalise=False) != pytest.approx(
        feddisco.weights(N, D_HAT, 0.5, 0.1), abs=0.01
    )


def test_weights_reduce_to_sizes_and_to_equal():
    n = [m / 6 for m in (1, 2, 3)]
    assert feddisco.weights([1, 2, 3], [0.3, 0.2, 0.1], 0, 0) == pytest.approx(n)
    # a = 0: (n_k + b) / (1 + K b), which tends to 1/K
    assert feddisco.weights([1, 2, 3], [0.3, 0.2, 0.1], 0, 0.1) == pytest.approx(
        [(n_k + 0.1) / 1.3 for n_k in n]
    )
    far = feddisco.weights([1, 2, 3], [0.3, 0.2, 0.1], 0.5, 1e6)
    assert far == pytest.approx([1 / 3] * 3, abs=1e-5)


def test_equal_discrepancies_are_a_constant():
    # each normalised d is 1/3: n_k + b - a/3, over 1 - a + 3b
    p = feddisco.weights([1, 2, 3], [0.7] * 3, 0.3, 0.2)
    assert p == pytest.approx([(m / 6 + 0.2 - 0.1) / 1.3 for m in (1, 2, 3)])


def test_falls_back_to_sizes_when_all_are_clipped():
    p = feddisco.weights([1, 3], [1.0, 1.0], 5.0, 0.0, normalise=False)
    assert p == [0.25, 0.75]


def test_disco_weights_see_the_participants_only():
    # classes held: (0, 1), (0), (1): d = 0, log 2, log 2. Clients 0 and 1 have equal
    # sizes and d = (0, 1) after normalising: (.6, .1) / .7. Clients 1 and 2 are alike.
    clients = [
        data([1.0, 1.0], [0, 1]),
        data([1.0, 1.0], [0, 0]),
        data([1.0, 1.0], [1, 1]),
    ]
    weights = feddisco.disco_weights(clients, 2, 0.5, 0.1)
    assert weights(0, [0, 1]) == pytest.approx([6 / 7, 1 / 7])
    assert weights(1, [2, 1]) == pytest.approx([0.5, 0.5])
    # towards the target (1, 0) in L1, client 1 is the perfect one: d = (1, 0)
    aimed = feddisco.disco_weights(clients, 2, 0.5, 0.1, "l1", target=[1, 0])
    assert aimed(0, [0, 1]) == pytest.approx([1 / 7, 6 / 7])


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


def test_bound_says_nothing_at_the_largest_step_the_theorem_allows():
    # eta L = 1 / (2 tau): A = (tau - 1) / (2 tau), and 1 - 3A <= 0 from tau = 3 on
    c = feddisco.Constants(4, 1 / 8, 100, 1.0, 0.1, 0.1, 1.0)
    assert pytest.approx(3 / 8) == c.A
    assert feddisco.bound([0.5, 0.5], [0.5, 0.5], [0, 1], c) == math.inf


def test_surrogate_is_below_the_bound():
    # 0 < T_0 <= 1 gives T - lam T_0 < T <= T / T_0, whatever the weights
    for p in (N, P, [0.1] * 10):
        p = [p_k / sum(p) for p_k in p]
        low = feddisco.surrogate(p, N, D_HAT, CONSTANTS, 0.05)
        assert low < feddisco.bound(p, N, D_HAT, CONSTANTS)


def test_surrogate_minimiser():
    p, a, b = feddisco.surrogate_minimiser(N, D_HAT, CONSTANTS, 0.05)
    assert sum(p) == pytest.approx(1)
    assert min(p) > 0 and a > 0 and b > a * sum(D_HAT) / 10
    ratios = [
        p_k / (n_k - a * d_k + b) for p_k, n_k, d_k in zip(p, N, D_HAT, strict=True)
    ]
    assert ratios == pytest.approx([ratios[0]] * 10)

    def at(q: list[float]) -> float:
        return feddisco.surrogate(q, N, D_HAT, CONSTANTS, 0.05)

    # moving weight from any client to the next only hurts: it is a minimum of a
    # convex function on the simplex
    for k in range(10):
        for step in (1e-3, -1e-3):
            q = list(p)
            q[k] += step
            q[(k + 1) % 10] -= step
            assert at(q) > at(p)
    # and both what is minimised and the bound are lower than at the sizes
    assert at(p) < at(N)
    assert feddisco.bound(p, N, D_HAT, CONSTANTS) < feddisco.bound(
        N, N, D_HAT, CONSTANTS
    )

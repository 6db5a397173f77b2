"""FedDisco: by hand, the plain version, the paper's numbers, reductions, misuse."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import (
    BySize,
    Disco,
    Equal,
    Training,
    fedavg,
    feddisco,
    federate,
    niid2,
)
from fedlab_core.errors import InputError
from fedlab_core.methods.feddisco import disco_weights
from fedlab_core.metrics import DISCREPANCIES
from tests.methods.test_fedavg import ZERO, members, one_pixel_world, plainly
from tests.reference import feddisco as plain

BIASED = [[50, 50] + [0] * 8]
UNBIASED = [[10] * 10]


def test_two_clients_by_hand():
    """As for FedAvg (see there), with a = .5 and b = .1.

    A holds two samples x = 1 of class 0: W = (1/2, -1/2), b = (1/2, -1/2).
    B holds x = 1 of class 0 and x = 3 of class 1: the mean of the gradients of W is
    (-1/2 + 3/2) / 2 = 1/2, so W = (-1/2, 1/2); those of b cancel, b = (0, 0).
    d = (log 2, 0), normalised (1, 0); n = (1/2, 1/2);
    n - a d + b = (1/2 - 1/2 + 1/10, 1/2 + 1/10) = (1/10, 6/10): p = (1/7, 6/7).
    W0 = 1/7 * 1/2 - 6/7 * 1/2 = -5/14, b0 = 1/14.
    """
    w = one_pixel_world([1, 1, 1, 3], [0, 0, 0, 1], [[0, 1], [2, 3]])
    got = federate(w, feddisco(Training(lr=1.0, batch_size=10)), 1, start=ZERO).states
    want = torch.tensor([[[-5 / 14], [5 / 14]]])
    torch.testing.assert_close(got["head.weight"], want)
    torch.testing.assert_close(got["head.bias"], torch.tensor([[1 / 14, -1 / 14]]))


@pytest.mark.equals("feddisco")
@pytest.mark.parametrize("participants", [None, 3])
@pytest.mark.parametrize("metric", DISCREPANCIES)
@pytest.mark.parametrize("normalise", [True, False])
def test_equals_the_plain_version(small_world, participants, metric, normalise):
    local = Training(lr=0.05, epochs=2, batch_size=16, momentum=0.9, weight_decay=1e-3)

    def weights(clients):
        return plain.disco_weights(clients, 10, 0.4, 0.15, metric, normalise)

    want, seen = plainly(small_world, local, 2, 3, participants, weights), []
    method = feddisco(local, a=0.4, b=0.15, metric=metric, normalise=normalise)
    federate(
        small_world,
        method,
        2,
        seed=3,
        participants=participants,
        observe=lambda r: seen.append(r.after) or {},
    )
    for after, state in zip(seen, want, strict=True):
        for name, v in state.items():
            torch.testing.assert_close(after[name][0], v, rtol=1e-5, atol=1e-5)


@given(
    counts=st.lists(
        st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any),
        min_size=1,
        max_size=8,
    ),
    a=st.floats(0, 3),
    b=st.floats(0, 1),
    metric=st.sampled_from(DISCREPANCIES),
    normalise=st.booleans(),
    target=st.none() | st.just((0.4, 0.3, 0.2, 0.1)),
)
def test_weights_are_those_of_the_plain_version(
    counts, a, b, metric, normalise, target
):
    got = Disco(a, b, metric, normalise, target)(members(counts))
    clients = [
        (None, [c for c, m in enumerate(row) for _ in range(m)]) for row in counts
    ]
    of_round = plain.disco_weights(clients, 4, a, b, metric, normalise, target)  # type: ignore[arg-type]
    want = of_round(0, range(len(counts)))
    assert float(got.sum()) == pytest.approx(1) and (got >= 0).all()
    assert got.tolist() == pytest.approx(want, abs=1e-6)


# -- the numbers of the paper's NIID-2 ---------------------------------------------


@pytest.mark.parametrize(
    "a, b, biased, unbiased",
    [
        (0.5, 0.1, 0.1515, 0.2424),
        (0.4, 0.1, 0.1556, 0.2222),
        (0.6, 0.1, 0.1467, 0.2667),
        (0.7, 0.05, 0.1278, 0.3611),
        (0.2, 0.4, 0.1646, 0.1771),
    ],
)
def test_niid2_five_biased_and_one_unbiased(a, b, biased, unbiased):
    """Equal sizes, d^ = (1/5, ..., 1/5, 0): (1/6 - a/5 + b) and (1/6 + b) over
    (1 - a + 6 b)."""
    labels = torch.arange(10).repeat_interleave(120).numpy()
    counts = niid2(labels).counts(labels)
    p = Disco(a, b)(members(counts.tolist()))
    assert p.tolist() == pytest.approx([biased] * 5 + [unbiased], abs=5e-5)
    exact = [(1 / 6 - a / 5 + b) / (1 - a + 6 * b)] * 5
    exact += [(1 / 6 + b) / (1 - a + 6 * b)]
    assert p.tolist() == pytest.approx(exact)


@pytest.mark.parametrize(
    "m, biased, unbiased",
    [(1, 0.0963, 0.1333), (2, 0.0917, 0.1333), (3, 0.0857, 0.1333)],
)
def test_ten_of_sixty_with_m_unbiased(m, biased, unbiased):
    p = Disco()(members(BIASED * (10 - m) + UNBIASED * m))
    assert p.tolist() == pytest.approx([biased] * (10 - m) + [unbiased] * m, abs=5e-5)
    assert float(p[-1]) == pytest.approx(0.2 / 1.5)


@pytest.mark.parametrize(
    "m, biased, unbiased", [(7, 1 / 45, 2 / 15), (8, 0, 1 / 8), (9, 0, 1 / 9)]
)
def test_with_eight_of_ten_unbiased_the_others_are_silent(m, biased, unbiased):
    """A biased one has .2 - .5 / (10 - m), over 1.5: above 0 while m is 7 or less."""
    p = Disco()(members(BIASED * (10 - m) + UNBIASED * m))
    assert p.tolist() == pytest.approx([biased] * (10 - m) + [unbiased] * m)


@pytest.mark.parametrize("m", [0, 10])
def test_ten_alike_count_alike(m):
    p = Disco()(members(BIASED * (10 - m) + UNBIASED * m))
    assert p.tolist() == pytest.approx([0.1] * 10)


@pytest.mark.parametrize("metric", DISCREPANCIES)
def test_raw_discrepancies_silence_every_biased_client(metric):
    """d of a biased client is log 5, .632, 1.6 or .553: a d > 1/6 + b for all four."""
    p = Disco(0.5, 0.1, metric, normalise=False)(members(BIASED * 5 + UNBIASED))
    assert p.tolist() == pytest.approx([0] * 5 + [1])
    normal = Disco(0.5, 0.1, metric)(members(BIASED * 5 + UNBIASED))
    assert normal.tolist() == pytest.approx([5 / 33] * 5 + [8 / 33])


def test_the_worked_example_of_niid1():
    n = [0.023, 0.121, 0.123, 0.104, 0.118, 0.118, 0.130, 0.053, 0.122, 0.088]
    d = [0.092, 0.085, 0.171, 0.167, 0.168, 0.060, 0.069, 0.051, 0.069, 0.069]
    p = [0.051, 0.119, 0.092, 0.080, 0.089, 0.125, 0.130, 0.085, 0.125, 0.103]
    got = disco_weights(torch.tensor(n), torch.tensor(d), 0.5, 0.1)
    assert got.tolist() == pytest.approx(p, abs=1.5e-3)  # three digits went in


# -- reductions and invariants -----------------------------------------------------

COUNTS = [[9, 1, 0], [3, 3, 3], [0, 0, 40], [5, 0, 5]]


def test_without_a_and_b_it_is_fedavg(small_world, small_local):
    assert Disco(0, 0)(members(COUNTS)).tolist() == pytest.approx(
        BySize()(members(COUNTS)).tolist()
    )
    a = federate(small_world, feddisco(small_local, a=0, b=0), 2).states
    b = federate(small_world, fedavg(small_local), 2).states
    for name, v in a.items():
        torch.testing.assert_close(v, b[name])


def test_b_alone_pulls_towards_equal_weights():
    n = BySize()(members(COUNTS))
    some = Disco(0, 0.1)(members(COUNTS))
    torch.testing.assert_close(some, (n + 0.1) / (1 + 4 * 0.1))
    far = Disco(0, 1e6)(members(COUNTS))
    torch.testing.assert_close(far, Equal()(members(COUNTS)), rtol=1e-5, atol=0)


def test_without_clipping_the_closed_form_holds():
    p = Disco(0.2, 0.1)(members(COUNTS))
    n, d = BySize()(members(COUNTS)), torch.tensor([
        math.log(3) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1),
        0.0,
        math.log(3),
        math.log(1.5),
    ], dtype=torch.float64)  # fmt: skip
    d_hat = d / d.sum()
    torch.testing.assert_close(p, (n - 0.2 * d_hat + 0.1) / (1 - 0.2 + 4 * 0.1))


def test_the_same_distribution_everywhere_leaves_only_sizes():
    """p is proportional to n + b - a/K when all d are equal, and to n + b when 0."""
    alike = members([[1, 3], [2, 6], [5, 15]])
    n = BySize()(alike)
    want = n + 0.1 - 0.5 / 3
    torch.testing.assert_close(Disco()(alike), want.relu() / want.relu().sum())
    balanced = members([[1, 1], [2, 2], [5, 5]])
    n = BySize()(balanced)
    torch.testing.assert_close(Disco()(balanced), (n + 0.1) / (n + 0.1).sum())


def test_when_every_weight_is_clipped_sizes_decide():
    counts = members([[4, 0], [0, 12]])
    p = Disco(10, 0, normalise=False)(counts)
    assert p.tolist() == pytest.approx([0.25, 0.75])


def test_members_order_does_not_matter():
    p = Disco()(members(COUNTS))
    turned = [2, 0, 3, 1]
    torch.testing.assert_close(Disco()(members([COUNTS[k] for k in turned])), p[turned])


@pytest.mark.parametrize("metric", DISCREPANCIES)
def test_a_target_moves_the_favour(metric):
    """Towards a skewed target the skewed client is the close one, to the last digit."""
    counts = members([[30, 10], [20, 20]])
    uniform = Disco(metric=metric)(counts)
    skewed = Disco(metric=metric, target=(0.75, 0.25))(counts)
    assert uniform[0] < uniform[1] and skewed[0] > skewed[1]
    torch.testing.assert_close(skewed, uniform.flip(0), rtol=1e-9, atol=0)


def test_a_target_is_exact_and_need_not_be_normalised():
    """To the last digits of double precision, in which the weights are computed."""
    held, target = [[28, 12], [20, 20]], (1.4, 0.6)
    d = [
        plain.discrepancy([row[0] / 40, row[1] / 40], (0.7, 0.3), "kl") for row in held
    ]
    want = plain.weights([40, 40], d, 0.5, 0.1, normalise=False)
    got = Disco(target=target, normalise=False)(members(held))
    assert got.tolist() == pytest.approx(want, rel=1e-12)


# -- misuse ------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("bad", [-0.1, NAN, INF])
def test_a_and_b_must_be_sound(bad):
    for choice in ({"a": bad}, {"b": bad}):
        with pytest.raises(InputError, match="must be a number of 0 or more"):
            Disco(**choice)
        with pytest.raises(InputError, match="must be a number of 0 or more"):
            feddisco(**choice)


def test_unknown_metrics_and_wrong_targets_are_refused():
    with pytest.raises(InputError, match="metric must be kl, l2, l1 or cosine"):
        Disco(metric="emd")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="target must .*, as classes is 3 here"):
        Disco(target=(0.5, 0.5))(members(COUNTS))
    with pytest.raises(InputError, match="KL is infinite"):
        Disco(target=(1.0, 0.0, 0.0))(members(COUNTS))


def test_one_number_is_reported_once():
    assert Disco().scalars == 1 and BySize().scalars == Equal().scalars == 0

"""FedCollab: the closed form, brute force, the solver, a pair's discriminator."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.reference import common, fedavg, fedcollab
from tests.reference.toy import same, world


def distances(N: int, seed: int) -> list[list[float]]:
    """Symmetric, zero on the diagonal, a little negative here and there."""
    D = torch.rand(N, N, generator=torch.Generator().manual_seed(seed)).double() - 0.1
    D = (D + D.T) / 2
    return D.fill_diagonal_(0).tolist()


# The types of FedCollab's CIFAR-10 scenario: two of five large clients, two of five
# small ones, and the means of the estimated distances within and between types.
WITHIN = [0.0184, 0.0105, 0.0288, 0.0259]
BETWEEN = {(0, 1): 0.0787, (0, 2): 0.2181, (0, 3): 0.2749, (1, 2): 0.2487,
           (1, 3): 0.1951, (2, 3): 0.0974}  # fmt: skip
SIZES = [2500] * 10 + [340] * 10


def blocks() -> list[list[float]]:
    D = [[0.0] * 20 for _ in range(20)]
    for i in range(20):
        for j in range(20):
            a, b = sorted((i // 5, j // 5))
            if i != j:
                D[i][j] = WITHIN[a] if a == b else BETWEEN[a, b]
    return D


@pytest.mark.parametrize(
    ("types", "cost"), [([0, 1, 2, 2], 0.16607), ([0, 1, 2, 3], 0.1827)]
)
def test_objective_of_the_papers_blocks(types, cost):
    partition = [types[i // 5] for i in range(20)]
    value = fedcollab.objective(partition, SIZES, blocks(), 10)
    assert value == pytest.approx(cost, abs=5e-5)


@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=7),
    names=st.lists(st.integers(0, 3), min_size=7, max_size=7),
)
def test_objective_has_a_closed_form(sizes, names):
    # alpha proportional to beta inside: sum_j alpha^2 / beta_j = 1 / beta_S
    N, C, total = len(sizes), 7.0, 0.0
    partition, D = names[:N], distances(N, sum(sizes))
    for name in set(partition):
        S = [i for i in range(N) if partition[i] == name]
        m_S = sum(sizes[i] for i in S)
        total += len(S) * C / math.sqrt(m_S)
        total += sum(sizes[j] / m_S * D[i][j] for i in S for j in S)
    value = fedcollab.objective(partition, sizes, D, C)
    assert value == pytest.approx(total / N)
    for i, row in enumerate(fedcollab.collaboration(partition, sizes)):
        assert sum(row) == pytest.approx(1)
        assert all(
            (a > 0) == (p == partition[i]) for a, p in zip(row, names, strict=False)
        )


@pytest.mark.parametrize("merge", [True, False])
def test_two_clients_merge_below_the_threshold(merge):
    # alone C (1/sqrt m_1 + 1/sqrt m_2), together 2 C / sqrt m + D (twice half of it,
    # each client seeing the other by its share): sizes 100 and 300, C = 10
    D = 10 * (0.1 + 1 / math.sqrt(300) - 2 / math.sqrt(400)) + (
        -1e-6 if merge else 1e-6
    )
    matrix = [[0, D], [D, 0]]
    want = [0, 0] if merge else [0, 1]
    assert fedcollab.brute_force([100, 300], matrix, 10)[0] == want
    assert fedcollab.solve([100, 300], matrix, 10, [[0, 1]] * 3)[0] == want


def test_partitions_are_as_many_as_bell_says():
    for N, bell in enumerate((1, 1, 2, 5, 15, 52, 203)):
        every = [tuple(p) for p in fedcollab.partitions(N)]
        assert len(every) == len(set(every)) == bell
        assert all(fedcollab.named(p) == list(p) for p in every)
    assert fedcollab.named([4, 1, 4, 0]) == [0, 1, 0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_solver_goes_down_to_where_no_single_move_helps(seed):
    sizes, D, C = [50, 80, 20, 400, 30], distances(5, seed), 2.0
    permutations = [[4, 2, 0, 1, 3], [0, 1, 2, 3, 4], [3, 1, 4, 2, 0]] * 5
    partition, path = fedcollab.solve(sizes, D, C, permutations)
    clipped = [[max(0.0, d) for d in row] for row in D]
    value = fedcollab.objective(partition, sizes, clipped, C)
    assert value == pytest.approx(path[-1])
    assert path == sorted(path, reverse=True) and len(path) % 5 == 0
    assert path[-5:] == [path[-1]] * 5  # the last sweep moves nobody
    for i in range(5):
        for name in range(5):
            moved = [*partition[:i], name, *partition[i + 1 :]]
            assert fedcollab.objective(moved, sizes, clipped, C) >= value - 1e-12
    best, least = fedcollab.brute_force(sizes, D, C)
    assert least <= value + 1e-12
    assert least == pytest.approx(fedcollab.objective(best, sizes, clipped, C))


@pytest.mark.parametrize(
    ("seed", "types", "cost"), [(0, [0, 1, 2, 3], 0.1827), (3, [0, 1, 2, 2], 0.16607)]
)
def test_solver_stops_where_its_order_leads_it(seed, types, cost):
    # once the four types are complete no single client gains by moving, although the
    # two small types together cost less: only a lucky order avoids completing them
    generator = torch.Generator().manual_seed(seed)
    order = [torch.randperm(20, generator=generator).tolist() for _ in range(20)]
    partition, path = fedcollab.solve(SIZES, blocks(), 10, order)
    assert partition == [types[i // 5] for i in range(20)]
    assert path[-1] == pytest.approx(cost, abs=5e-5) and len(path) == 60


def test_a_new_client_joins_its_own_kind():
    D = blocks()
    for new in (0, 7, 12):
        rest = [i for i in range(20) if i != new]
        order = [*rest, new]
        moved = [[D[i][j] for j in order] for i in order]
        partition = [min(i // 5, 2) for i in rest]
        sizes = [SIZES[i] for i in order]
        assert fedcollab.join(partition, sizes, moved, 10) == min(new // 5, 2)


def test_discriminator_input():
    model = fedcollab.Discriminator(2, 3, hidden=4).double()
    x, y = torch.randn(5, 2).double(), torch.tensor([0, 2, 1, 1, 0])
    e = torch.eye(3).double()[y] * 3 / math.sqrt(2)
    u = x @ model.of_x.weight.T + model.of_x.bias
    u = u + 2 * (e @ model.of_y.weight.T + model.of_y.bias)
    want = u.clamp(min=0) @ model.out.weight.T + model.out.bias
    assert torch.allclose(model(x, y), want.flatten())


def one_side(shift: float, seed: int) -> common.Client:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(40, 2, generator=generator) + shift
    return x, torch.arange(40) % 2


def test_distance_sees_separable_and_equal_clients():
    torch.manual_seed(0)
    model = fedcollab.Discriminator(2, 2, hidden=16)
    near, far = one_side(0, 1), one_side(6, 2)
    order = lambda side, t: torch.arange(4 * (t % 10), 4 * (t % 10) + 4)  # noqa: E731
    D, _ = fedcollab.distance(model, (near, far), (near, far), order, 0.1)
    assert D == 1
    D, rounds = fedcollab.distance(model, (near, near), (near, near), order, 0.0)
    # the same data on both sides: right on one is wrong on the other; nothing is
    # learnt, so ten evaluations follow the first, every tenth round
    assert D == pytest.approx(0) and rounds == 110
    short = fedcollab.distance(model, (near, far), (near, far), order, 0.0, rounds=40)
    assert short[1] == 40


def test_one_round_of_the_discriminator_is_a_balanced_step():
    # one step each and the mean of both: a step on the mean of the two losses. The
    # model that comes out is seen through the accuracy only, so compare that.
    torch.manual_seed(1)
    model = fedcollab.Discriminator(2, 2, hidden=16).double()
    sides = [(x.double(), y) for x, y in (one_side(0, 1), one_side(1, 2))]
    parts = (sides[0], sides[1])
    D, _ = fedcollab.distance(
        model, parts, parts, lambda side, t: torch.arange(7 + side), 0.5, 1, 1
    )
    loss = torch.zeros(())
    for side in (0, 1):
        x, y = (v[: 7 + side] for v in sides[side])
        logits = model(x, y)
        target = torch.full_like(logits, float(side))
        loss = loss + binary_cross_entropy_with_logits(logits, target) / 2
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            assert p.grad is not None
            p -= 0.5 * p.grad
        right = [(model(*sides[s]) > 0) == bool(s) for s in (0, 1)]
    assert pytest.approx(sum(r.double().mean().item() for r in right) - 1) == D


def test_split_counts():
    # 2 + 10 samples, 6 to take: floor(1 + .49), floor(5 + .49); of 7 to take
    # floor(1.1667 + .49), floor(5.833 + .49)
    y = torch.tensor([0] * 2 + [1] * 10)
    assert fedcollab.split_counts(y, 6) == {0: 1, 1: 5}
    assert fedcollab.split_counts(y, 7) == {0: 1, 1: 6}


def test_fedavg_per_coalition():
    nine = world([[0, 1, 2, 3]] * 2)
    args = (*nine[:3], *nine[4:8])
    one = fedcollab.run(*args, partition=[0, 0, 0, 0])
    assert same([r[0] for r in one], fedavg.run(*nine))
    pairs = fedcollab.run(*args, partition=[0, 1, 0, 1])
    assert same([r[1] for r in pairs], fedavg.run(*world([[1, 3]] * 2)))

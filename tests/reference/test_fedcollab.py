"""FedCollab: the closed form, brute force, the solver, a pair's discriminator."""

import math

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.reference import common, fedcollab


def distances(N: int, seed: int) -> list[list[float]]:
    """Symmetric, zero on the diagonal, a little negative here and there."""
    D = torch.rand(N, N, generator=torch.Generator().manual_seed(seed)).double() - 0.1
    D = (D + D.T) / 2
    return D.fill_diagonal_(0).tolist()


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

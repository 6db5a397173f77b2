"""FedCollab: who gains from training together, decided before training.

Citation: Bao et al. 2023, "Optimizing the Collaboration Structure in Cross-Silo
Federated Learning" (ICML 2023). Agreement: 1e-8 with FedCollab's code (83de4b9).

Symbols: m_i -> `sizes`; D -> `D`; C -> `C`, the capacity constant; f, the number of
each client's coalition -> `group_of`; A, beta -> inside `capacity_and_shift`.

Algorithm: Alg. 1 -> `collab_distance.distances`; Alg. 2 -> `descend`, and its restarts
`solve`; new clients (Sec. 4.4) -> `join`; training inside coalitions -> any method with
these `Groups`.

Deviations from the paper:
1. `merge=True`, the default, also tries to merge whole coalitions once no single client
   wants to move, which Alg. 2 cannot: the first client to leave for the other coalition
   would pay for it. `merge=False` is the published solver.
2. Distances below 0, which the estimate of equal clients can give, count as 0 in the
   solver, as in the authors' code.
3. Discriminators train on equally many samples of every client, exactly; the authors'
   code rounds label by label, so that clients differ by a few samples.
4. The `bytes` of a history leave out what the discriminators cost.
5. They are judged after 10, 20, ... rounds (`every`), in the authors' code after 1, 11,
   21, ...: an estimated distance differed by up to .029.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from fedlab_core.arguments import Axes, Count, NotNegative, Seed, Whole, Within, checked
from fedlab_core.client import Training
from fedlab_core.errors import require
from fedlab_core.methods.collab_distance import distances
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import GroupOf, Groups, Method, World

Matrix = Annotated[
    np.ndarray | Tensor | Sequence[Sequence[float]], Axes("clients clients")
]
Row = Annotated[np.ndarray | Tensor | Sequence[float], Axes("clients")]
Sizes = Annotated[
    np.ndarray | Tensor | Sequence[float],
    Axes("clients", "number", Within(0, above=True)),
]
Of = Sequence[Whole]  # the coalition of every client
_LEAST = 1e-12  # a smaller gain is rounding
Ignore = Literal["", "quantities", "distances"]


@checked
def capacity_and_shift(group_of: Of, D: Matrix, sizes: Sizes) -> tuple[float, float]:
    """The two parts (G, S) of the objective C G + S of a partition.

    G is the mean over clients of 1 / sqrt(samples in the client's coalition); S the
    mean over clients of the distances to their coalition's members, weighted by size.
    Neither depends on C: as C grows, every partition's cost is a straight line.

    Paper: FedCollab Eq. (10).
    """
    d, m = _check(D, sizes)
    of = np.asarray(group_of, dtype=int)
    require(of.shape == m.shape, f"group_of: {len(of)} numbers for {len(m)} clients")
    held = np.bincount(of, weights=m)[of]  # samples in the client's coalition
    same = of[:, None] == of
    shift = (same * d * m).sum(1) / held
    return float((1 / np.sqrt(held)).mean()), float(shift.mean())


@checked
def cost(group_of: Of, D: Matrix, sizes: Sizes, C: NotNegative) -> float:
    """The objective of a partition, a mean over clients. Paper: FedCollab Eq. (10).

    In closed form: a sum over coalitions S of |S| C / sqrt(m_S) + sum_ij m_j D_ij / m_S
    with m_S samples in the coalition, divided by the number of clients.
    """
    capacity, shift = capacity_and_shift(group_of, D, sizes)
    return C * capacity + shift


def anchors(clients: int) -> dict[str, GroupOf]:
    """The two ends to compare a solution with: everyone alone, and all together."""
    return {"local": list(range(clients)), "everyone": [0] * clients}


@dataclass(frozen=True)
class Solution:
    """A partition, its cost, and the cost after each client visited on the way there.

    Merges count as visits. Coalitions are numbered in order of their first client.
    """

    group_of: GroupOf
    cost: float
    path: tuple[float, ...]

    @property
    def coalitions(self) -> list[list[int]]:
        """The members of each coalition."""
        groups = range(max(self.group_of) + 1)
        return [[k for k, g in enumerate(self.group_of) if g == h] for h in groups]


@checked
def solve(
    D: Matrix,
    sizes: Sizes,
    C: NotNegative,
    *,
    restarts: Count = 100,
    merge: bool = True,
    seed: Seed = 0,
) -> Solution:
    """The best of some descents that visit clients in different orders.

    Negative distances count as 0. To ignore quantities, give all clients the mean size;
    to ignore distances, give all pairs the mean distance.

    Paper: FedCollab Alg. 2, App. B.3.
    """
    orders = (np.random.default_rng([seed, r, 0xC011AB]) for r in range(restarts))
    found = (descend(D, sizes, C, rng, merge=merge) for rng in orders)
    return min(found, key=lambda solution: solution.cost)


@checked
def descend(
    D: Matrix,
    sizes: Sizes,
    C: NotNegative,
    rng: np.random.Generator,
    *,
    merge: bool = True,
    sweeps: Count = 100,
) -> Solution:
    """From everyone alone, visit clients in random order; each moves where it is best.

    Over when a sweep through all clients, and then with `merge` every possible merge of
    two coalitions, changes nothing, or after so many sweeps. Paper: FedCollab Alg. 2.
    """
    d, m = _check(D, sizes)
    d = np.maximum(d, 0)
    now = _Coalitions(d, m, C)
    value, path = cost(now.group_of.tolist(), d, m, C), []
    for _ in range(sweeps):
        moved = False
        for i in rng.permutation(len(m)).tolist():
            gain = now.move(i)
            value, moved = value + gain, moved or gain < 0
            path.append(value)
        if moved:
            continue
        gain = now.merge() if merge else 0.0
        if gain == 0:
            break
        value += gain
        path.append(value)
    group_of = _renumbered(now.group_of.tolist())
    return Solution(group_of, cost(group_of, d, m, C), tuple(path))


class _Coalitions:
    """A partition under way, with what its cost is made of, by coalition.

    A coalition of n clients and m samples whose distances m_j D_ij sum to q costs
    n C / sqrt(m) + q / m, so that a move changes only two numbers of the sum.
    """

    def __init__(self, d: np.ndarray, m: np.ndarray, C: float):
        clients = len(m)
        self.C, self.sizes, self.group_of = C, m, np.arange(clients)
        self.least = m.min()
        weighted = d * m
        self.own = weighted.diagonal().copy()
        self.between = weighted + weighted.T
        np.fill_diagonal(self.between, 0)
        self.n, self.m, self.q = np.ones(clients), m.copy(), self.own.copy()

    def worth(self, n: np.ndarray, m: np.ndarray, q: np.ndarray) -> np.ndarray:
        held = np.maximum(m, self.least)  # an empty one has n = q = 0
        return n * self.C / np.sqrt(held) + q / held

    def move(self, i: int) -> float:
        """Send a client where that lowers the cost most; how much it changes."""
        a, clients = self.group_of[i], len(self.group_of)
        with_i = np.bincount(self.group_of, weights=self.between[i], minlength=clients)
        with_i += self.own[i]
        self.n[a] -= 1
        self.m[a] -= self.sizes[i]
        self.q[a] = self.q[a] - with_i[a] if self.n[a] else 0.0
        joined = self.worth(self.n + 1, self.m + self.sizes[i], self.q + with_i)
        price = joined - self.worth(self.n, self.m, self.q)
        b = int(price.argmin())
        gain = float(price[b] - price[a]) / clients
        if gain >= -_LEAST:
            b, gain = a, 0.0
        self.group_of[i] = b
        self.n[b] += 1
        self.m[b] += self.sizes[i]
        self.q[b] += with_i[b]
        return gain

    def merge(self) -> float:
        """Join the two coalitions that gain most by it; how much the cost changes."""
        there = np.flatnonzero(self.n)
        member = (self.group_of == there[:, None]).astype(float)
        n, m, q = (v[there] for v in (self.n, self.m, self.q))
        both = member @ self.between @ member.T
        pair = [v[:, None] + v for v in (n, m, q)]
        alone = self.worth(n, m, q)
        gain = self.worth(pair[0], pair[1], pair[2] + both) - alone[:, None] - alone
        np.fill_diagonal(gain, np.inf)
        a, b = np.unravel_index(gain.argmin(), gain.shape)
        least = float(gain[a, b]) / len(self.group_of)
        if not least < -_LEAST:
            return 0.0
        self.group_of[self.group_of == there[b]] = there[a]
        for v, whole in zip((self.n, self.m), pair, strict=False):
            v[there[a]], v[there[b]] = whole[a, b], 0
        self.q[there[a]], self.q[there[b]] = pair[2][a, b] + both[a, b], 0
        return least


def _renumbered(group_of: GroupOf) -> GroupOf:
    names = {home: g for g, home in enumerate(dict.fromkeys(group_of))}
    return [names[home] for home in group_of]


@checked
def join(
    row: Row,
    size: Count,
    group_of: Of,
    D: Matrix,
    sizes: Sizes,
    C: NotNegative,
    *,
    alone: bool = False,
) -> int:
    """The coalition that a new client should enter: the least cost for everyone.

    `row` holds its distances to the clients there are, `size` its samples. With
    `alone` it may also stay by itself, in a coalition of the next free number.

    Paper: FedCollab Sec. 4.4.
    """
    d, m = _check(D, sizes)
    new = np.maximum(np.asarray(row, dtype=float), 0)
    wider = np.zeros((len(m) + 1, len(m) + 1))
    wider[:-1, :-1] = np.maximum(d, 0)
    wider[-1, :-1] = wider[:-1, -1] = new
    choices = sorted(set(group_of)) + [max(group_of) + 1] * alone
    all_sizes = np.append(m, size)
    return min(choices, key=lambda g: cost([*group_of, g], wider, all_sizes, C))


def _check(D: Matrix, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    d, m = np.asarray(D, dtype=float), np.asarray(sizes, dtype=float)
    require(len(m) > 0, "sizes: nobody is there")
    return d, m


@dataclass(frozen=True, eq=False)
class Collaboration:
    """Result of FedCollab in a world: groups to train in, solution, distances."""

    groups: Groups
    solution: Solution
    D: Tensor


@checked
def collaborate(
    world: World,
    C: NotNegative = 10.0,
    *,
    restarts: Count = 100,
    merge: bool = True,
    ignore: Ignore = "",
    seed: Seed = 0,
    D: Tensor | None = None,
    **options: Any,
) -> Collaboration:
    """Estimate all distances in a world and solve; `options` are of `distances`.

    The groups are fixed: several methods can train in them without estimating again.
    To see what each is good for, `ignore` makes all "quantities" or "distances" alike.
    """
    D = distances(world, seed=seed, **options) if D is None else D
    given, sizes = D, world.counts.sum(1).double()
    if ignore == "quantities":
        sizes = torch.full_like(sizes, float(sizes.mean()))
    if ignore == "distances":
        apart = 1 - torch.eye(len(D), dtype=D.dtype)
        given = apart * D.sum() / apart.sum().clamp(min=1)
    found = solve(given, sizes, C, restarts=restarts, merge=merge, seed=seed)
    return Collaboration(Groups.fixed(found.coalitions, "fedcollab"), found, D)


@dataclass(frozen=True)
class Solved:
    """The coalitions of some distances, which are estimated unless they are given."""

    options: dict[str, Any]  # of `collaborate`

    def __call__(self, world: World, seed: int, D: Tensor | None = None) -> GroupOf:
        found = collaborate(world, seed=seed, D=D, **self.options)
        return found.solution.group_of


@checked
def FedCollab(
    C: NotNegative = 10.0,
    *,
    restarts: Count = 100,
    merge: bool = True,
    ignore: Ignore = "",
    **options: Any,
) -> Groups:
    """Coalitions that are found when a run begins; `options` are of `distances`."""
    known = list(inspect.signature(distances).parameters)[1:-1]  # not world, seed
    how = {"C": C, "restarts": restarts, "merge": merge, "ignore": ignore}
    strange = ", ".join(sorted(set(options) - set(known)))
    every = ", ".join([*how, *known])
    require(not strange, f"unknown option {strange}: choose from {every}")
    return Groups("fedcollab", Solved(how | options))


@checked
def fedcollab(
    training: Training | None = None, C: NotNegative = 10.0, **options: Any
) -> Method:
    """FedAvg in FedCollab's coalitions; `options` are those of `FedCollab`."""
    return fedavg(training, groups=FedCollab(C, **options), name="FedCollab")

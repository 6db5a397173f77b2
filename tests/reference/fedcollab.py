"""FedCollab as in Section 4 of the paper: distances, solver, FedAvg per coalition."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from tests.reference import fedavg
from tests.reference.common import Batches, Client, State

Matrix = Sequence[Sequence[float]]


def collaboration(partition: Sequence[int], sizes: Sequence[int]) -> list[list[float]]:
    """alpha_ij = beta_j / sum of beta in i's coalition, 0 outside.

    `partition[i]` is the number of i's coalition. Paper: FedCollab Eq. (9).
    """
    N, m = len(sizes), sum(sizes)
    beta = [size / m for size in sizes]
    A = []
    for i in range(N):
        inside = 0.0
        for j in range(N):
            if partition[j] == partition[i]:
                inside += beta[j]
        row = []
        for j in range(N):
            row.append(beta[j] / inside if partition[j] == partition[i] else 0.0)
        A.append(row)
    return A


def objective(
    partition: Sequence[int], sizes: Sequence[int], D: Matrix, C: float
) -> float:
    """1/N sum_i [C sqrt(1/m sum_j A_ij^2 / beta_j) + sum_j A_ij D_ij].

    Paper: FedCollab Eq. (10).
    """
    N, m = len(sizes), sum(sizes)
    A = collaboration(partition, sizes)
    total = 0.0
    for i in range(N):
        quantity, distance = 0.0, 0.0
        for j in range(N):
            quantity += A[i][j] ** 2 / (sizes[j] / m)
            distance += A[i][j] * D[i][j]
        total += C * math.sqrt(quantity / m) + distance
    return total / N


def named(partition: Sequence[int]) -> list[int]:
    """The same partition, its coalitions numbered by first appearance."""
    order: list[int] = []
    for name in partition:
        if name not in order:
            order.append(name)
    return [order.index(name) for name in partition]


def solve(
    sizes: Sequence[int],
    D: Matrix,
    C: float,
    permutations: Sequence[Sequence[int]],
    tolerance: float = 1e-12,
) -> tuple[list[int], list[float]]:
    """(partition, objective after each visit) of one start. Paper: FedCollab Alg. 2.

    From everyone alone; sweep after sweep in the order of `permutations[sweep]`, each
    visited client goes to the best of all N coalitions if that is better by more than
    `tolerance`; over when a sweep moves nobody, or the permutations have run out.
    Negative distances count as 0.
    """
    N = len(sizes)
    D = [[max(0.0, d) for d in row] for row in D]
    partition = list(range(N))
    best = objective(partition, sizes, D, C)
    path = []
    for permutation in permutations:
        moved = False
        for i in permutation:
            to = partition[i]
            for name in range(N):
                tried = list(partition)
                tried[i] = name
                value = objective(tried, sizes, D, C)
                if value < best - tolerance:
                    best, to, moved = value, name, True
            partition[i] = to
            path.append(best)
        if not moved:
            break
    return named(partition), path


def partitions(N: int) -> Iterator[list[int]]:
    """Every way to split N clients, each once: the next joins or founds a coalition."""
    if N == 0:
        yield []
        return
    for rest in partitions(N - 1):
        for name in range(max(rest, default=-1) + 2):
            yield [*rest, name]


def brute_force(sizes: Sequence[int], D: Matrix, C: float) -> tuple[list[int], float]:
    """(partition, objective): the best of all, for few clients."""
    D = [[max(0.0, d) for d in row] for row in D]
    best, least = [], math.inf
    for partition in partitions(len(sizes)):
        value = objective(partition, sizes, D, C)
        if value < least:
            best, least = partition, value
    return best, least


def join(partition: Sequence[int], sizes: Sequence[int], D: Matrix, C: float) -> int:
    """The existing coalition that a new client, the last of `sizes`, should enter.

    Paper: FedCollab Sec. 4.4.
    """
    D = [[max(0.0, d) for d in row] for row in D]
    values = {}
    for name in sorted(set(partition)):
        values[name] = objective([*partition, name], sizes, D, C)
    return min(values, key=lambda name: values[name])


class Discriminator(nn.Module):
    """W_x x + b_x + 2 (W_y nu e_y + b_y), ReLU, one logit; nu = L / sqrt(L - 1)."""

    def __init__(self, width: int, classes: int, hidden: int = 200):
        super().__init__()
        self.classes = classes
        self.of_x = nn.Linear(width, hidden)
        self.of_y = nn.Linear(classes, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        nu = self.classes / math.sqrt(self.classes - 1)
        e = one_hot(y, self.classes).to(x.dtype)
        u = self.of_x(x.flatten(1)) + 2 * self.of_y(nu * e)
        return self.out(torch.relu(u)).flatten()


def distance(
    model: nn.Module,
    training: tuple[Client, Client],
    validation: tuple[Client, Client],
    batches: Callable[[int, int], Tensor],
    lr: float,
    rounds: int = 2000,
    every: int = 10,
    patience: int = 10,
) -> tuple[float, int]:
    """(D, rounds used) of one pair. Paper: FedCollab Alg. 1.

    A round: either side (0 and 1, which is also its target) takes one SGD step on
    `batches(side, round)` of its training part, and the two models are averaged. Every
    `every` rounds the accuracies on the two validation parts are added; it is over
    after `patience` sums in a row that are not above the best. D = best sum - 1.
    """
    model = deepcopy(model)
    best, since = -math.inf, 0
    for t in range(1, rounds + 1):
        sides = []
        for side in (0, 1):
            local = deepcopy(model)
            x, y = (part[batches(side, t - 1)] for part in training[side])
            logits = local(x, y)
            target = torch.full_like(logits, float(side))
            optimiser = torch.optim.SGD(local.parameters(), lr=lr)
            binary_cross_entropy_with_logits(logits, target).backward()
            optimiser.step()
            sides.append(local)
        model.load_state_dict(fedavg.average(sides, [0.5, 0.5]))
        if t % every == 0:
            score = 0.0
            with torch.no_grad():
                for side in (0, 1):
                    said = model(*validation[side]) > 0
                    score += float((said == bool(side)).double().mean())
            best, since = (score, 0) if score > best else (best, since + 1)
            if since == patience:
                return best - 1, t
    return best - 1, rounds


def split_counts(y: Tensor, take: int) -> dict[int, int]:
    """Samples of each label that train the discriminator: floor(rate n + .49).

    rate = take / m_k, where `take` is half the smallest client's size.
    """
    counts = {}
    for label in y.unique().tolist():
        n = int((y == label).sum())
        counts[label] = math.floor(take / len(y) * n + 0.49)
    return counts


def run(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    batches: Batches,
    lr: float,
    momentum: float,
    weight_decay: float,
    partition: Sequence[int],
) -> list[dict[int, State]]:
    """FedAvg in each coalition from the same start: {coalition: state} per round."""
    weights = fedavg.size_weights(clients)
    history: list[dict[int, State]] = [{} for _ in range(rounds)]
    for name in sorted(set(partition)):
        members = [k for k, of in enumerate(partition) if of == name]
        sgd = (lr, momentum, weight_decay)
        states = fedavg.run(
            model, clients, rounds, [members] * rounds, batches, *sgd, weights
        )
        for t in range(rounds):
            history[t][name] = states[t]
    return history

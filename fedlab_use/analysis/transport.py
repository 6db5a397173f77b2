"""Wasserstein distance between two clients' samples, class by class."""

from typing import Annotated

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array, kron, vstack
from scipy.spatial.distance import cdist

from fedlab_core.arguments import Axes, checked
from fedlab_core.errors import require

LARGEST = 4_000_000  # pairs: beyond, memory and time run away


@checked
def wasserstein(
    a: Annotated[np.ndarray, Axes("_ ...")], b: Annotated[np.ndarray, Axes("_ ...")]
) -> float:
    """W_1 between two samples, Euclidean and exact: (n, width) or (n,) each.

    On a line by sorting, for as many on both sides by assignment, otherwise by linear
    programming: for small samples.
    """
    a, b = _points(a), _points(b)
    text = f"samples of width {a.shape[1]} and {b.shape[1]} have no distance"
    require(a.shape[1] == b.shape[1], text)
    if a.shape[1] == 1:
        from scipy import stats  # as slow to load as everything else here

        return float(stats.wasserstein_distance(a[:, 0], b[:, 0]))
    pairs = len(a) * len(b)
    require(pairs <= LARGEST, f"{pairs} pairs are too many: {LARGEST} or fewer")
    cost = cdist(a, b)
    if len(a) == len(b):
        return float(cost[linear_sum_assignment(cost)].mean())
    return _programme(cost)


@checked
def conditional_wasserstein(
    x_a: Annotated[np.ndarray, Axes("a ...")],
    y_a: Annotated[np.ndarray, Axes("a", "any")],
    x_b: Annotated[np.ndarray, Axes("b ...")],
    y_b: Annotated[np.ndarray, Axes("b", "any")],
    shared_only: bool = False,
) -> float:
    """C_d: W_1 between the samples of each class, averaged over the labels.

    Half the mean over the labels of a, and half that over those of b. A class that
    only one side holds has no distance: it is refused, or left out of both means with
    `shared_only`.

    Paper: FedImpro Sec. 4.1.
    """
    x_a, x_b = _points(x_a), _points(x_b)
    shared, alone = np.intersect1d(y_a, y_b), np.setxor1d(y_a, y_b)
    require(
        shared_only or not len(alone),
        f"only one side holds class {', '.join(map(str, alone))}: give both the same "
        "classes, or shared_only=True",
    )
    require(len(shared) > 0, "the two sides share no class")
    cost = np.array([wasserstein(x_a[y_a == c], x_b[y_b == c]) for c in shared])
    halves = [np.array([(y == c).sum() for c in shared]) for y in (y_a, y_b)]
    return float(sum((held / held.sum()) @ cost for held in halves) / 2)


def _points(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=float)
    require(x.ndim >= 1 and len(x) > 0, "a sample without points has no distance")
    return x.reshape(len(x), -1)


def _programme(cost: np.ndarray) -> float:
    """Transport of 1 / n from each row to 1 / m at each column at least cost."""
    n, m = cost.shape
    rows = kron(coo_array(np.eye(n)), np.ones((1, m)))
    columns = kron(np.ones((1, n)), coo_array(np.eye(m)))
    leaving = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    both = vstack([rows, columns], format="csr")
    found = linprog(cost.ravel(), A_eq=both, b_eq=leaving, method="highs")
    require(
        bool(found.success), f"the transport problem was not solved: {found.message}"
    )
    return float(found.fun)

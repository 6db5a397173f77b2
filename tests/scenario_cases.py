"""A data set whose images tell their number, and scenarios of it."""

import numpy as np

from fedlab_core.data import Dataset
from fedlab_core.partition import dirichlet
from fedlab_core.partition.scenarios import (
    Scenario,
    corrupted,
    own_tests,
    rotated,
    smaller,
)


def dataset(n_train=400, n_test=100, classes=10, size=(6, 6), seed=0) -> Dataset:
    """Random images; each sample's own number is in its first two pixels."""
    rng = np.random.default_rng(seed)

    def part(n, first):
        x = rng.integers(1, 256, (n, *size), dtype=np.uint8)
        x[:, 0, 0], x[:, 0, 1] = np.divmod(np.arange(first, first + n), 256)
        return x, np.arange(n) % classes

    train, test = part(n_train, 0), part(n_test, n_train)
    names = tuple(str(c) for c in range(classes))
    return Dataset("made", *train, *test, names, (0.5,), (0.5,))


def numbers(x: np.ndarray) -> list[int]:
    """The numbers that `dataset` wrote into the images."""
    return (x[:, 0, 0].astype(int) * 256 + x[:, 0, 1]).tolist()


DATA = dataset()
PLAIN = Scenario(DATA, dirichlet(DATA.y_train, 4, 1.0))
TESTED = own_tests(PLAIN, 0.25)
EVERY = {
    "own_tests": lambda s, seed: own_tests(s, 0.25, seed=seed),
    "smaller": lambda s, seed: smaller(s, (1, 0.5), seed=seed),
    "rotated": lambda s, seed: rotated(s, (0, 30)),
    "corrupted": lambda s, seed: corrupted(s, 0.5, seed=seed),
    "permuted": lambda s, seed: corrupted(s, 0.5, "permute", seed=seed),
}


def arrays(s: Scenario) -> list[np.ndarray]:
    d = s.data
    tests = s.test.indices if s.test else ()
    return [d.x_train, d.y_train, d.x_test, d.y_test, *s.train.indices, *tests]


def same(one: Scenario, other: Scenario) -> bool:
    pairs = zip(arrays(one), arrays(other), strict=True)
    alike = all(np.array_equal(a, b) for a, b in pairs)
    return alike and one.train == other.train and one.test == other.test

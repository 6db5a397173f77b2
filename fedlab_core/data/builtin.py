"""The tasks that need no file: drawn letters, and scikit-learn's digits."""

from functools import partial

import numpy as np

from fedlab_core.data import strokes as _letters
from fedlab_core.data.dataset import Dataset
from fedlab_core.errors import require


def letters(
    n_train: int = 3000,
    n_test: int = 2000,
    noise: float = 0.35,
    angle: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """The built-in task (see `data.strokes`), training and test drawn apart."""
    require(min(n_train, n_test) > 0, "letters: n_train and n_test must be positive")
    require(noise >= 0, f"letters: noise must be 0 or more, not {noise}")
    draw = partial(_letters.letters, noise=noise, angle=angle)
    x_train, y_train = draw(n_train, seed=2 * seed)
    x_test, y_test = draw(n_test, seed=2 * seed + 1)
    scale = ((_letters.MEAN,), (_letters.STD,))
    drawn = (x_train, y_train, x_test, y_test)
    return Dataset("letters", *drawn, _letters.CLASSES, *scale)


def digits(seed: int = 0) -> Dataset:
    """scikit-learn's 1,797 digits of 8 x 8; a seeded fifth is the test set."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    x = np.rint(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    y = np.asarray(labels, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    names = tuple(str(c) for c in range(10))
    parts = (x[train], y[train], x[test], y[test])
    return Dataset("digits", *parts, names, (0.305,), (0.376,))

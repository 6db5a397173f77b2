"""The tasks that need no file: drawn letters, and scikit-learn's digits."""

from functools import partial
from typing import Annotated

import numpy as np

from fedlab_core.arguments import NotNegative, Seed, Within, checked
from fedlab_core.data import strokes as _letters
from fedlab_core.data.dataset import Dataset

Drawn = Annotated[int, Within(1, 10**6)]


@checked
def letters(
    n_train: Drawn = 3000,
    n_test: Drawn = 2000,
    noise: NotNegative = 0.35,
    angle: float = 0.0,
    seed: Annotated[int, Within(0, 2**62)] = 0,
) -> Dataset:
    """The built-in task (see `data.strokes`), training and test drawn apart."""
    draw = partial(_letters.letters, noise=noise, angle=angle)
    x_train, y_train = draw(n_train, seed=2 * seed)
    x_test, y_test = draw(n_test, seed=2 * seed + 1)
    scale = ((_letters.MEAN,), (_letters.STD,))
    drawn = (x_train, y_train, x_test, y_test)
    return Dataset("letters", *drawn, _letters.CLASSES, *scale)


@checked
def digits(seed: Seed = 0) -> Dataset:
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

"""Data files of random images, for tests."""

import numpy as np

GREY, COLOUR = ("mnist", (28, 28)), ("cifar10", (32, 32, 3))


def arrays(shape=(28, 28), per_class=10, classes=10):
    """A data file's arrays: a few images a class, stored class after class."""
    rng = np.random.default_rng(0)
    made = {"classes": np.array([f"class {c}" for c in range(classes)])}
    for part in ("train", "test"):
        n = per_class * classes
        made[f"x_{part}"] = rng.integers(0, 256, (n, *shape), dtype=np.uint8)
        made[f"y_{part}"] = np.repeat(np.arange(classes, dtype=np.uint8), per_class)
    return made


def store(folder, name="mnist", **changed):
    shape = dict([GREY, COLOUR])[name]
    made = {**arrays(shape), **changed}
    np.savez(folder / f"{name}.npz", **{k: v for k, v in made.items() if v is not None})
    return made


def leftovers(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))

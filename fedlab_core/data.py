"""What is learnt: `load(name)` gives images as bytes and labels, wherever they are.

The built-in tasks (`letters`, `digits`) need no file. The others are looked for as
`ROOT/NAME.npz` and otherwise downloaded once through torchvision, which checks the
archives' checksums, and then kept in that one file. ROOT is the argument, else the
variable FEDLAB_DATA, else a folder in the user's cache.

The file holds `x_train`, `y_train`, `x_test`, `y_test` (uint8 images NHW or NHWC) and
`classes` (names in label order). It may be stored class after class: nothing here
relies on its order.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fedlab_core import letters as _letters
from fedlab_core.errors import InputError, require

_ARRAYS = ("x_train", "y_train", "x_test", "y_test", "classes")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images as bytes, labels as integers, and the constants that normalise them.

    `mean` and `std` are per channel, in units of byte / 255.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image as a network sees it."""
        height, width, *channels = self.x_train.shape[1:]
        return (channels[0] if channels else 1, height, width)


def letters(
    n_train: int = 3000,
    n_test: int = 2000,
    noise: float = 0.35,
    angle: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """The built-in task (see `fedlab_core.letters`), training and test drawn apart."""
    require(min(n_train, n_test) > 0, "letters: n_train and n_test must be positive")
    require(noise >= 0, f"letters: noise must be 0 or more, not {noise}")
    draw = partial(_letters.letters, noise=noise, angle=angle)
    x_train, y_train = draw(n_train, seed=2 * seed)
    x_test, y_test = draw(n_test, seed=2 * seed + 1)
    scale = ((_letters.MEAN,), (_letters.STD,))
    return Dataset(
        "letters", x_train, y_train, x_test, y_test, _letters.CLASSES, *scale
    )


def digits(seed: int = 0) -> Dataset:
    """scikit-learn's 1,797 digits of 8 x 8; a seeded fifth is the test set."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    x = np.rint(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    y = np.asarray(labels, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    names = tuple(str(c) for c in range(10))
    return Dataset(
        "digits", x[train], y[train], x[test], y[test], names, (0.305,), (0.376,)
    )


@dataclass(frozen=True)
class _Source:
    """A set that torchvision can download, and the constants used to normalise it."""

    torchvision: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


# Fashion-MNIST: .5/.5 as in FedDisco's experiments; the others: their training sets'.
_SOURCES = {
    "mnist": _Source("MNIST", (0.1307,), (0.3081,)),
    "fashion_mnist": _Source("FashionMNIST", (0.5,), (0.5,)),
    "cifar10": _Source("CIFAR10", (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": _Source("CIFAR100", (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    "svhn": _Source("SVHN", (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)),
}
_BUILT_IN: dict[str, Callable[..., Dataset]] = {"letters": letters, "digits": digits}
NAMES = (*_BUILT_IN, *_SOURCES)


def data_root(root: str | os.PathLike | None = None) -> Path:
    """Where data files live: the argument, else FEDLAB_DATA, else the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(root or os.environ.get("FEDLAB_DATA") or cache / "fedlab")


def load(name: str, root: str | os.PathLike | None = None, **options) -> Dataset:
    """The data set of that name; `options` are those of a built-in task.

    Looks for `ROOT/NAME.npz` first and downloads it once if it is not there.
    """
    require(name in NAMES, f"unknown data set {name!r}: choose from {', '.join(NAMES)}")
    if name in _BUILT_IN:
        try:
            return _BUILT_IN[name](**options)
        except TypeError as error:
            raise InputError(f"{name}: {error}") from None
    require(not options, f"{name} takes no options, got {', '.join(options)}")
    path = data_root(root) / f"{name}.npz"
    if not path.exists():
        _download(name, path)
    return read(path)


def read(path: Path) -> Dataset:
    """Read and check one data file; nothing in it is ever unpickled."""
    source = _SOURCES[path.stem]
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in _ARRAYS if key in stored}
    except Exception as error:  # numpy and zipfile raise many kinds
        raise InputError(
            f"{path} is not a readable data file ({_reason(error)}): "
            "delete it, and it will be downloaded again"
        ) from None
    missing = [key for key in _ARRAYS if key not in arrays]
    require(not missing, f"{path} lacks {', '.join(missing)}")
    names = arrays.pop("classes")
    require(names.ndim == 1, f"{path}: classes must be a list of names")
    classes = tuple(str(c) for c in names)
    size = arrays["x_train"].shape[1:]
    deep = len(source.mean) if len(size) == 3 else 1
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        sound = x.dtype == np.uint8 and x.shape == (len(y), *size) and y.ndim == 1
        sound &= len(size) in (2, 3) and (*size, 1)[2] == deep == len(source.mean)
        sound &= np.issubdtype(y.dtype, np.integer)
        found = f"{x.dtype} {x.shape}, {y.dtype} {y.shape}"
        require(bool(sound), f"{path}: x_{part}, y_{part} are {found}")
        arrays[f"y_{part}"] = y = y.astype(np.int64)
        known = len(y) > 0 and 0 <= y.min() and y.max() < len(classes)
        require(
            bool(known), f"{path}: y_{part} must hold labels 0 to {len(classes) - 1}"
        )
    return Dataset(
        path.stem, **arrays, classes=classes, mean=source.mean, std=source.std
    )


def _reason(error: Exception) -> str:
    """The first line of an error's message, or its kind."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


def write(path: Path, **arrays: np.ndarray) -> None:
    """Write one data file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".part-") as folder:
        part = Path(folder) / path.name
        np.savez(part, allow_pickle=False, **arrays)
        part.replace(path)


def _download(name: str, path: Path) -> None:
    """Fetch a set with torchvision (checksums, progress bar) into one data file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".get-") as folder:
            arrays = _from_torchvision(name, folder)
    except Exception as error:  # torchvision raises many kinds; all mean "not here"
        raise InputError(
            f"{name} is not at {path} and could not be downloaded ({_reason(error)}): "
            f"put the file there, or point --data or FEDLAB_DATA at its folder"
        ) from None
    write(path, **arrays)


def _from_torchvision(name: str, folder: str) -> dict[str, np.ndarray]:
    """Both halves of a torchvision set as the arrays of a data file."""
    from torchvision import datasets

    kind = getattr(datasets, _SOURCES[name].torchvision)
    arrays, classes = {}, [str(c) for c in range(10)]
    for part in ("train", "test"):
        which = {"split": part} if name == "svhn" else {"train": part == "train"}
        half = kind(folder, download=True, **which)
        x = np.asarray(half.data)
        arrays[f"x_{part}"] = x.transpose(0, 2, 3, 1) if name == "svhn" else x
        labels = half.labels if name == "svhn" else half.targets
        arrays[f"y_{part}"] = np.asarray(labels, dtype=np.uint8)
        if name not in ("mnist", "svhn"):
            classes = list(half.classes)
    return {**arrays, "classes": np.array(classes)}

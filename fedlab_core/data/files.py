"""Data files: one `.npz` a set, read with care and written whole or not at all."""

import errno
from pathlib import Path
from typing import Any

import numpy as np

from fedlab_core.arguments import checked
from fedlab_core.atomic_files import replacing
from fedlab_core.data.dataset import Dataset
from fedlab_core.data.sources import SOURCES, Source
from fedlab_core.data.unpack import check_size
from fedlab_core.errors import InputError, require

_ARRAYS = ("x_train", "y_train", "x_test", "y_test", "classes")
_OPTIONAL = ("owners_train", "owners_test")
_TARGETS = ("targets_train", "targets_test")
_MORE = {"images": (), "words": ("vocabulary",), "numbers": _TARGETS}
Arrays = dict[str, np.ndarray]


@checked
def read(path: Path) -> Dataset:
    """Read and check one data file; nothing in it is ever unpickled."""
    require(path.stem in SOURCES, f"{path} is not named after a data set")
    source = SOURCES[path.stem]
    need = (*_ARRAYS, *_MORE[source.kind])
    require(not path.is_fifo(), f"{path} is a pipe, not a file")
    try:
        check_size(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            keys = [key for key in (*need, *_OPTIONAL) if key in stored]
            arrays = {key: stored[key] for key in keys}
    except Exception as error:  # numpy and zipfile raise many kinds
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        why = "it is not plain arrays" if "pickle" in str(error) else reason(error)
        raise InputError(
            f"{path} is not a readable data file ({why}): "
            "delete it, and it will be downloaded again"
        ) from None
    missing = [key for key in need if key not in arrays]
    require(not missing, f"{path} lacks {', '.join(missing)}")
    names: dict[str, Any] = {}
    for key in ("classes", "vocabulary"):
        if key in arrays:
            listed = arrays.pop(key)
            require(listed.ndim == 1, f"{path}: {key} must be a list of names")
            names[key] = tuple(str(name) for name in listed)
    for part in ("train", "test"):
        _check_samples(path, source, part, arrays, len(names.get("vocabulary", ())))
        arrays[f"y_{part}"] = y = arrays[f"y_{part}"].astype(np.int64)
        most = len(names["classes"]) - 1
        known = len(y) > 0 and 0 <= y.min() and y.max() <= most
        require(bool(known), f"{path}: y_{part} must hold labels 0 to {most}")
        _check_rest(path, part, arrays)
    own = source.kind == "numbers"
    mean, std = _scale(arrays["x_train"]) if own else (source.mean, source.std)
    return Dataset(path.stem, **arrays, **names, mean=mean, std=std)


def _check_samples(
    path: Path, source: Source, part: str, arrays: Arrays, entries: int
) -> None:
    """Samples of the right kind, all of one size, each with a label."""
    size = arrays["x_train"].shape[1:]
    x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
    sound = x.shape == (len(y), *size) if y.ndim == 1 else False
    sound &= np.issubdtype(y.dtype, np.integer)
    if source.kind == "images":
        deep = len(source.mean) if len(size) == 3 else 1
        sound &= x.dtype == np.uint8 and len(size) in (2, 3)
        sound &= (*size, 1)[2:3] == (deep,) == (len(source.mean),)
    else:
        dtype = np.int32 if source.kind == "words" else np.float32
        sound &= x.dtype == dtype and len(size) == 1 and size[0] > 0
    found = f"{x.dtype} {x.shape}, {y.dtype} {y.shape}"
    require(bool(sound), f"{path}: x_{part}, y_{part} are {found}")
    if source.kind == "words" and len(x):
        known = 0 <= x.min() and x.max() < entries
        require(bool(known), f"{path}: x_{part} must hold words 0 to {entries - 1}")
    if source.kind == "numbers":
        require(bool(np.isfinite(x).all()), f"{path}: x_{part} has numbers not finite")


def _check_rest(path: Path, part: str, arrays: Arrays) -> None:
    """Owners and targets: one a sample, where there are any."""
    n = len(arrays[f"y_{part}"])
    for key, kind in (("owners", np.integer), ("targets", np.floating)):
        held = arrays.get(f"{key}_{part}")
        if held is None:
            continue
        sound = held.shape == (n,) and np.issubdtype(held.dtype, kind)
        sound = sound and (key == "targets" or min(held) >= 0)
        sound = sound and np.isfinite(held).all()
        found = f"{held.dtype} {held.shape}"
        require(bool(sound), f"{path}: {key}_{part} are {found}, not one a sample")


def _scale(x: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and standard deviations of the columns; 1 for one that never changes."""
    std = x.std(axis=0, dtype=np.float64)
    std[std == 0] = 1.0
    return tuple(x.mean(axis=0, dtype=np.float64).tolist()), tuple(std.tolist())


def reason(error: Exception) -> str:
    """The first line of an error's message, or its kind."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


@checked
def write(path: Path, **arrays: np.ndarray) -> None:
    """Write one data file whole or not at all."""
    require(path.suffix == ".npz", f"{path}: a data file ends in .npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)

"""Data, networks and methods of one's own, as they come and by name."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils import data as loading

from fedlab_core.arguments import checked
from fedlab_core.data import Dataset
from fedlab_core.errors import InputError, require

FILE = ("x_train", "y_train", "x_test", "y_test")  # what a data file must hold
_MORE = ("classes", "owners_train", "owners_test")


@checked
def dataset(
    x_train: Any,
    y_train: Any,
    x_test: Any,
    y_test: Any,
    *,
    classes: Any = None,
    name: str = "mine",
    owners_train: Any = None,
    owners_test: Any = None,
    numbers: bool = False,
) -> Dataset:
    """A `Dataset` of arrays, tensors, lists or pandas tables, normalised by itself.

    Labels may be words or any whole numbers; `classes` gives their names in order. With
    `numbers`, y is to be predicted as it is, by a world with a `loss`: a number a
    sample, or several. The labels, by which data are split, are then its quarters; of
    several numbers, the place of the largest, as of the first label that is 1.
    Tables become float32; a column that never changes becomes zero. Two pandas tables
    go together by their columns' names. Images are bytes, their channels last, and
    texts are int32 words.
    """
    x_test = _aligned(x_train, x_test, "x")
    x, x_other = _samples(x_train, "x_train"), _samples(x_test, "x_test")
    targets: dict[str, Any] = {}
    if numbers:
        require(classes is None, "classes: numbers=True has none")
        y_test = _aligned(y_train, y_test, "y")
        names, y, y_other, targets = _ranges(y_train, y_test)
    else:
        names, y, y_other = _labels(y_train, y_test, classes)
    mean, std = _measured(x)
    owners = (owners_train, "owners_train"), (owners_test, "owners_test")
    own, other = (None if v is None else _array(v, n) for v, n in owners)
    known = (name, x, y, x_other, y_other, names, mean, std)
    return Dataset(*known, own, other, **targets)


def _ranges(
    train: Any, test: Any
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Names of the labels, both parts' labels, and the numbers that they stand for."""
    made = {
        "targets_train": _array(train, "y_train"),
        "targets_test": _array(test, "y_test"),
    }
    for part, y in zip(("y_train", "y_test"), made.values(), strict=True):
        sound = y.dtype.kind in "fiub" and y.ndim in (1, 2) and y.size > 0
        said = f"{part} must be a number a sample, or a row of them"
        require(sound, f"{said}, not {y.dtype} {y.shape}")
        require(bool(np.isfinite(y).all()), f"{part} has numbers that are not finite")
    made = {name: y.astype(np.float32) for name, y in made.items()}
    first, other = made.values()
    same = first.shape[1:] == other.shape[1:]
    require(same, f"y_train and y_test are of shapes {first.shape} and {other.shape}")
    if first.ndim == 2:
        names = tuple(str(c) for c in range(first.shape[1]))
        return names, first.argmax(1), other.argmax(1), made
    edges = np.unique(np.quantile(first, (0.25, 0.5, 0.75)))
    names = (*(f"to {e:g}" for e in edges), f"above {edges[-1]:g}")
    return names, edges.searchsorted(first), edges.searchsorted(other), made


def _aligned(train: Any, test: Any, name: str) -> Any:
    """The test table with the columns as the training table has them, by name."""
    names, others = ([*getattr(v, "columns", ())] for v in (train, test))
    if names == others or not names or not others:
        return test
    for part, has, lacks in (("test", names, others), ("train", others, names)):
        lost = [n for n in has if n not in lacks][:1]
        require(not lost, f"{name}_{part} lacks the column {str(lost)[1:-1]}")
    once = len(set(names)) == len(names) == len(others)
    require(once, f"{name}_train and {name}_test have columns of the same name")
    return test[names]


def _samples(value: Any, name: str) -> np.ndarray:
    """Samples; a table's as float32, but word numbers, which are int32."""
    x = _array(value, name)
    require(x.size > 0, f"{name} of shape {x.shape} holds no number")
    first = x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[3] > 3
    shape = f"{name} of shape {x.shape} has its channels first"
    require(not first, f"{shape}: give them last, as x.transpose(0, 2, 3, 1)")
    image = "an image is bytes, channels last: of floats from 0 to 1, give "
    image += "(255 * x).astype('uint8'); a series is a row, as x.reshape(len(x), -1), "
    image += "which forward shapes again"
    good = x.ndim <= 2 or x.dtype == np.uint8
    require(good, f"{name} of shape {x.shape} is {x.dtype}: {image}")
    table = x.ndim == 2 and x.dtype.kind in "fiub" and x.dtype != np.int32
    return x.astype(np.float32) if table else x


def _labels(
    train: Any, test: Any, classes: Any
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The classes' names, and both parts' labels as places among them."""
    parts = [_array(train, "y_train"), _array(test, "y_test")]
    for part, y in zip(("y_train", "y_test"), parts, strict=True):
        require(y.ndim == 1, f"{part} must be one label a sample, not {y.shape}")
        cure = "" if y.dtype.kind != "f" else ": numbers=True (--numbers) to predict it"
        good = y.dtype.kind in "iubUSO"
        require(good, f"{part} must be labels, not {y.dtype}{cure}")
    new = [] if classes is not None else [*{*parts[1].tolist()} - {*parts[0].tolist()}]
    text = f"y_test has the label {str(new[:1])[1:-1]}, which no training sample has"
    require(not new, f"{text}: name all in classes=[...] if that is meant")
    words = any(y.dtype.kind in "USO" for y in parts)
    held = [[str(v) for v in y] if words else y.tolist() for y in parts]
    known = sorted({v for y in held for v in y})
    said = known if classes is None else _array(classes, "classes").tolist()
    names = [str(v) for v in said]
    places = classes is not None and not words and set(known) <= {*range(len(names))}
    order: dict[Any, int] = {v: i for i, v in enumerate(names if words else known)}
    order = {i: i for i in range(len(names))} if places else order
    lost = [v for v in known if v not in order]
    require(not lost, f"classes lacks {lost[:3]}, which are labels")
    enough = len(names) >= len(order)
    require(enough, f"classes has {len(names)} names for {len(order)} labels")
    y, other = (np.array([order[v] for v in labels], np.int64) for labels in held)
    return tuple(names), y, other


def _array(value: Any, name: str) -> np.ndarray:
    """Numbers as NumPy has them, from whatever holds them in memory."""
    kind, samples = type(value).__name__, name.startswith("x_")
    whole = isinstance(value, loading.DataLoader | loading.Dataset)
    cure = f"give torch.{'cat' if isinstance(value, loading.DataLoader) else 'stack'}"
    cure += f"([{'x' if samples else 'y'} for x, y in it])"
    require(not whole, f"{name} must be an array, not a {kind}: {cure}")
    try:
        made = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} is not an array: {error}") from None
    require(made.ndim > 0, f"{name} must be an array of numbers, not a {kind}")
    if samples and made.dtype.kind not in "fiub":
        raise InputError(f"{name} must be numbers, not {_no_number(value, made)}")
    return made


def _no_number(value: Any, made: np.ndarray) -> str:
    """The first of samples that is no number, with its column if that has a name."""
    names = getattr(value, "columns", None)
    for i, v in enumerate(made[:1].flatten()):
        if not isinstance(v, (int, float, np.number)):
            at = "" if names is None else f" of the column {names[i]!r}"
            return f"{str(v)!r:.30}{at}: give its numbers, or leave it out"
    return f"{made.dtype}"


def _measured(x: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and spreads to normalise by: of columns, of channels, none of words."""
    if x.dtype == np.int32 and x.ndim == 2:
        return (), ()
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[3] if x.ndim == 4 else 1) / 255
    mean, std = rows.mean(0, dtype=np.float64), rows.std(0, dtype=np.float64)
    return tuple(mean.tolist()), tuple(np.where(std > 0, std, 1.0).tolist())


@checked
def read_dataset(path: str | os.PathLike, numbers: bool = False) -> Dataset:
    """The `dataset` of an `.npz` file with x_train, y_train, x_test and y_test.

    It may hold classes, owners_train and owners_test, too. Nothing is unpickled.
    `numbers` is as for `dataset`.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {n: stored[n] for n in (*FILE, *_MORE) if n in stored}
    except Exception as error:  # numpy and zipfile raise many kinds
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read as an .npz file: {why}") from None
    missing = [n for n in FILE if n not in arrays]
    require(not missing, f"{path} lacks {', '.join(missing)}")
    given = [arrays.pop(n) for n in FILE]
    return dataset(*given, name=Path(path).stem, numbers=numbers, **arrays)


def named_function(text: str, option: str) -> Callable:
    """The function of "package.module:name", found from the folder one is in."""
    module, _, name = text.partition(":")
    good = bool(module and name) and not module.endswith(".py")
    like = module.removesuffix(".py").strip("./").replace("/", ".") or "package.module"
    require(good, f"{option}: {like}:{name or 'function'}, not {text!r}")
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        found = resolve_name(text)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{option} {text}: {error}") from None
    finally:
        sys.path.remove(here)
    require(callable(found), f"{option} {text}: that is not a function")
    return found

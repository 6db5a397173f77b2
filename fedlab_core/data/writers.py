"""Federated EMNIST as TensorFlow Federated publishes it, read without TensorFlow.

The archive is an SQLite database, LZMA-compressed; its table `examples` has a split, a
writer and a serialised `tf.train.Example` in every row. Of that format only what is
needed is read here: fields that are numbers or lengths with bytes, nested as
features / entry / name and list / values.
"""

import lzma
import shutil
import sqlite3
import string
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from fedlab_core.errors import InputError, require

CLASSES = tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)
_SPLITS = {"train": "all_train", "test": "all_test"}


def femnist(paths: Sequence[Path], scratch: Path) -> dict[str, np.ndarray]:
    """3,400 writers' digits and letters, split by writer; needs 5 GB while it works.

    As published, the paper is 1 (here 255) and the ink 0.
    """
    database = scratch / "femnist.sqlite"
    with lzma.open(paths[0]) as packed, database.open("wb") as file:
        shutil.copyfileobj(packed, file, 2**20)
    arrays = {"classes": np.array(CLASSES)}
    address = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as rows:
        named = rows.execute("SELECT DISTINCT client_id FROM client_metadata")
        writers = {name: i for i, name in enumerate(sorted(name for (name,) in named))}
        for part, split in _SPLITS.items():
            x, y, owners = _part(rows, split, writers)
            arrays[f"x_{part}"], arrays[f"y_{part}"] = x, y
            arrays[f"owners_{part}"] = owners
    return arrays


def _part(rows: sqlite3.Connection, split: str, writers: dict[str, int]):
    where = "FROM examples WHERE split_name = ?"
    (n,) = rows.execute(f"SELECT count(*) {where}", (split,)).fetchone()
    require(n > 0, f"the database has no {split}")
    x, y = np.empty((n, 28, 28), np.uint8), np.empty(n, np.uint8)
    owners = np.empty(n, np.int64)
    wanted = f"SELECT client_id, serialized_example_proto {where}"
    for i, (writer, body) in enumerate(rows.execute(wanted, (split,))):
        pixels, y[i] = example(body)
        x[i] = np.rint(255 * pixels.clip(0, 1)).reshape(28, 28)
        owners[i] = writers[writer]
    return x, y, owners


def example(body: bytes) -> tuple[np.ndarray, int]:
    """The pixels and the label of one serialised example."""
    values: dict[str, memoryview | int] = {}
    for features in _inside(memoryview(body), 1):
        for entry in _inside(features, 1):
            parts = dict(_fields(entry))
            for kind, listed in _fields(_bytes(parts.get(2, b""))):
                for _, value in _fields(_bytes(listed)):
                    values[f"{bytes(_bytes(parts[1])).decode()} {kind}"] = value
    try:
        label = values["label 3"]  # 3 is a list of integers, 2 of floats
        pixels = np.frombuffer(_bytes(values["pixels 2"]), dtype="<f4")
    except KeyError as error:
        raise InputError(f"an example lacks its {error.args[0][:-2]}") from None
    if not isinstance(label, int):
        label, _ = _varint(label, 0)
    require(len(pixels) == 784, f"an example has {len(pixels)} pixels, not 784")
    require(0 <= label < len(CLASSES), f"an example has label {label}")
    return pixels, label


def _bytes(value) -> memoryview:
    if isinstance(value, int):
        raise InputError("an example has a number where a message should be")
    return memoryview(value)


def _inside(message: memoryview, number: int) -> Iterator[memoryview]:
    return (_bytes(v) for n, v in _fields(message) if n == number)


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        require(at < len(message) and shift < 64, "an example is cut off")
        byte = message[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Field numbers and their values: numbers, or the bytes that follow a length."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value, at = _varint(message, at)
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
            require(at <= len(message), "an example is cut off")
        else:
            require(key & 7 == 0, f"an example has a field of kind {key & 7}")
        yield key >> 3, value

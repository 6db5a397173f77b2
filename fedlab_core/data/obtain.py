"""Making a data file that is not there: by torchvision, or from published archives."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from fedlab_core.data import fetch
from fedlab_core.data.files import read, reason, write
from fedlab_core.data.sources import SOURCES, Source
from fedlab_core.errors import InputError


def obtain_file(name: str, path: Path) -> None:
    """Make the file at `path`; whatever fails, nothing half-made stays behind."""
    source = SOURCES[name]
    shelf = path.parent / "archives"
    _ask_by_hand(name, source, shelf)
    new = [p for p in (path.parent, *path.parent.parents) if not os.path.exists(p)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".get-") as folder:
            if source.torchvision:
                write(path, **_from_torchvision(name, source.torchvision, folder))
            else:
                _from_archives(source, path, shelf, Path(folder))
    except Exception as error:  # torchvision raises many kinds; all mean "not here"
        also = "" if source.torchvision else f", or the archive into {shelf}"
        raise InputError(
            f"{name} is not at {path} and could not be downloaded ({reason(error)}): "
            f"put the file there{also}, or point --data or FEDLAB_DATA at its folder"
        ) from None
    finally:
        for folder in new:
            with suppress(OSError):  # with something in it, it stays
                folder.rmdir()


def _ask_by_hand(name: str, source: Source, shelf: Path) -> None:
    missing = [a for a in source.archives if not os.path.exists(shelf / a.file)]
    if source.by_hand and missing:
        wanted = ", ".join(f"{a.file} from {a.page}" for a in missing)
        raise InputError(
            f"{name} is to be fetched by hand ({source.by_hand}): put {wanted} into "
            f"{shelf} and ask again"
        )


def _from_archives(source: Source, path: Path, shelf: Path, folder: Path) -> None:
    """Get every archive, convert them together, and then trust what had no checksum."""
    found = [fetch.obtain(archive, shelf, folder) for archive in source.archives]
    if source.convert is None:
        raise InputError("there is no way to make it")
    made = folder / path.name
    try:
        write(made, **source.convert(found, folder))
        read(made)
    except Exception as error:  # as many kinds as there are formats
        files = ", ".join(file.name for file in found)
        why = reason(error).removeprefix(f"{made}: ")
        raise InputError(f"{files} could not be read: {why}") from None
    made.replace(path)
    for archive, file in zip(source.archives, found, strict=True):
        fetch.remember(archive, shelf, file)


def _from_torchvision(name: str, kind: str, folder: str) -> dict[str, np.ndarray]:
    """Both halves of a torchvision set as the arrays of a data file."""
    from torchvision import datasets

    make = getattr(datasets, kind)
    arrays, classes = {}, [str(c) for c in range(10)]
    for part in ("train", "test"):
        which = {"split": part} if name == "svhn" else {"train": part == "train"}
        half = make(folder, download=True, **which)
        x = np.asarray(half.data)
        arrays[f"x_{part}"] = x.transpose(0, 2, 3, 1) if name == "svhn" else x
        labels = half.labels if name == "svhn" else half.targets
        arrays[f"y_{part}"] = np.asarray(labels, dtype=np.uint8)
        if name == "fashion_mnist":
            classes = list(half.classes)
    return {**arrays, "classes": np.array(classes)}

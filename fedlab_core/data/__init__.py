"""Data sets: `load(name)` gives samples and labels, wherever they are.

The built-in tasks (`letters`, `digits`) need no file. The others are looked for as
`ROOT/NAME.npz`, and otherwise made once: by torchvision, or from the published archives
(see `fedlab_core.data.sources`), which are checked against their checksums. ROOT is the
argument, else the variable FEDLAB_DATA, else a folder in the user's cache.

The file holds `x_train`, `y_train`, `x_test`, `y_test` and `classes` (names in label
order), and, depending on the set, `owners_train`, `owners_test`, `targets_train`,
`targets_test` and `vocabulary` (see `Dataset`). It may be stored class after class:
nothing here relies on its order.
"""

import os
from collections.abc import Callable
from pathlib import Path

from fedlab_core.arguments import checked
from fedlab_core.data.builtin import digits, letters
from fedlab_core.data.dataset import Dataset
from fedlab_core.data.files import read, write
from fedlab_core.data.obtain import obtain_file as _obtain
from fedlab_core.data.sources import SOURCES as _SOURCES
from fedlab_core.errors import require

_BUILT_IN: dict[str, Callable[..., Dataset]] = {"letters": letters, "digits": digits}
BUILT_IN = tuple(_BUILT_IN)
BY_HAND = tuple(name for name, source in _SOURCES.items() if source.by_hand)
NAMES = (*_BUILT_IN, *_SOURCES)


@checked
def data_root(root: str | os.PathLike | None = None) -> Path:
    """Folder of data files: the argument, else FEDLAB_DATA, else the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(root or os.environ.get("FEDLAB_DATA") or cache / "fedlab")


@checked
def load(name: str, root: str | os.PathLike | None = None, **options) -> Dataset:
    """The data set of that name; `options` are those of a built-in task.

    Looks for `ROOT/NAME.npz` first and makes it once if it is not there.
    """
    require(name in NAMES, f"unknown data set {name!r}: choose from {', '.join(NAMES)}")
    if name in _BUILT_IN:
        return _BUILT_IN[name](**options)
    require(not options, f"{name} takes no options, got {', '.join(options)}")
    path = data_root(root) / f"{name}.npz"
    if not os.path.exists(path):  # nor raises where it may not look
        _obtain(name, path)
    return read(path)

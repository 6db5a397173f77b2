"""Installed packages that bring verbs for the command line, or more names to `fl`.

Each names a module in the entry point group `fedlab_core.extensions`, with `VERBS`,
`add_verbs(verbs)` and `answer(args)`; `OFFERS` has by name what else it brings, such as
a `playground(method)`. The core knows none of them by name.
"""

from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from fedlab_core.arguments import checked
from fedlab_core.errors import InputError
from fedlab_core.rounds.method import Method


@cache  # it looks through the metadata of everything that is installed
def installed() -> tuple[ModuleType, ...]:
    """The modules of the group `fedlab_core.extensions`, by name."""
    points = entry_points(group="fedlab_core.extensions")
    return tuple(p.load() for p in sorted(points, key=lambda point: point.name))


def brought(name: str) -> Any:
    """An installed package's offer of this name, from its `OFFERS`."""
    for module in installed():
        if name in (offers := getattr(module, "OFFERS", {})):
            return offers[name]
    raise InputError(f"{name}: nothing is installed that has it: pip install '.[book]'")


@checked
def playground(method: Method) -> Any:
    """The playground with this method in it, to train in the browser.

    A notebook shows it; `save(path)` writes it as one page. It is traced, as by
    `python -m fedlab_core trace`: what cannot be a program is refused.
    """
    return brought("playground")(method)

"""Names of before, for one more version: each still works, warns, and says its new one.

A module keeps its old names with `__getattr__ = renamed.names(__name__, old="new")`, a
record its old fields with the decorator `@renamed.fields(old="new")`. What is listed
here and there is deleted with the next minor version.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Record = TypeVar("Record", bound=type)


def _warn(old: str, new: str) -> None:
    text = f"{old} is called {new} now; the old name goes with the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def names(module: str, **new: str) -> Callable[[str], Any]:
    """A module's `__getattr__`: what it used to call by other names."""

    def __getattr__(name: str) -> Any:
        if name not in new:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", new[name])
        return getattr(sys.modules[module], new[name])

    return __getattr__


def fields(**new: str) -> Callable[[Record], Record]:
    """Let a record's fields be read by the names that they used to have."""

    def add(record: Record) -> Record:
        for old, name in new.items():
            setattr(record, old, _reading(record.__name__, old, name))
        return record

    return add


def _reading(record: str, old: str, new: str) -> property:
    def read(self) -> Any:
        _warn(f"{record}.{old}", new)
        return getattr(self, new)

    return property(read, doc=f"Called `{new}` now.")

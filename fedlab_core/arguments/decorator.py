"""Calls that are held to their signatures."""

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast, get_type_hints

from fedlab_core.arguments.validators import WHEN_PASSED, Kind, held, kind_of
from fedlab_core.errors import InputError

Called = TypeVar("Called", bound=Callable)
Record = TypeVar("Record")


def checked(called: Called) -> Called:
    """Hold every call of a function, or every making of a record, to its signature."""
    target: Any = called
    record = inspect.isclass(called)
    made = target.__init__ if record else target
    where, takes = called.__name__, _Takes(inspect.signature(made))

    @wraps(made)
    def call(*args: Any, **options: Any) -> Any:
        if fault := takes.fault(args, options):
            names = ", ".join(takes.names[record:]) or "nothing"
            raise InputError(f"{where}: {fault}; it takes {names}")
        kinds, sizes = _kinds(made), {}

        def fitted(name: str, value: Any) -> Any:
            if name not in kinds:
                return value
            return held(value, kinds[name], sizes, f"{where}: {name}")

        given = [fitted(n, v) for n, v in zip(takes.places, args, strict=False)]
        return made(*given, **{n: fitted(n, v) for n, v in options.items()})

    if not record:
        return cast(Called, call)
    target.__init__ = call
    return target


def checked_when_passed(record: type[Record]) -> type[Record]:
    """Hold a record to its signature where a checked call is given one.

    For a record that is made in every step, which it costs nothing.
    """
    setattr(record, WHEN_PASSED, True)
    return record


def bare(record: type[Record], *values: Any) -> Record:
    """A record of these values, unchecked: of tensors that nobody can look into."""
    made = object.__new__(record)
    names = getattr(record, "__dataclass_fields__")  # noqa: B009
    made.__dict__.update(zip(names, values, strict=True))
    return made


class _Takes:
    """The arguments of a signature, and those of them that a call must give."""

    def __init__(self, signature: inspect.Signature):
        self.signature, asked = signature, signature.parameters.values()
        self.names = [p.name for p in asked]
        self.places = [p.name for p in asked if p.kind is p.POSITIONAL_OR_KEYWORD]
        loose = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        fixed = [p for p in asked if p.kind not in loose]
        self.known = frozenset(p.name for p in fixed)
        self.must = frozenset(p.name for p in fixed if p.default is p.empty)
        self.any_name = any(p.kind is loose[1] for p in asked)

    def fault(self, args: tuple, options: dict) -> str:
        """Python's error message for such a call; empty if it can be made."""
        placed = frozenset(self.places[: len(args)])
        sound = len(args) <= len(self.places) and placed.isdisjoint(options)
        sound = sound and self.must <= placed | options.keys()
        if sound and (self.any_name or options.keys() <= self.known):
            return ""
        try:
            self.signature.bind(*args, **options)
        except TypeError as error:
            return str(error)
        return ""


@cache
def _kinds(function: Callable) -> dict[str, Kind]:
    """By name, what the arguments of a function are held to."""
    hints = get_type_hints(function, include_extras=True)
    takes = _Takes(inspect.signature(function))
    return {n: kind_of(hints[n]) for n in takes.known if n in hints}

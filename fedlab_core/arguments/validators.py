"""How a value is fitted to a hint, or what is said of one that does not fit."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from torch import Tensor

from fedlab_core.arguments.annotations import Measured, Sizes, shown
from fedlab_core.errors import InputError

WHEN_PASSED = "_checked_when_passed"  # set on a record whose making is not checked


class Unfit(Exception):
    """A value that does not fit, and what is to be said of it, if not the value."""


def _no(detail: str | None = None) -> Any:
    raise Unfit(detail)


@dataclass(frozen=True)
class Kind:
    """The meaning of a hint: its words, and a function that fits a value to it."""

    words: str
    fit: Callable[[Any, Sizes], Any]


def kind_of(hint: Any) -> Kind:
    """The kind of value that a hint allows."""
    origin: Any = get_origin(hint)
    args: tuple[Any, ...] = get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Annotated:
        return _marked(kind_of(args[0]), args[1:])
    if origin in (Union, UnionType):
        return _either([kind_of(a) for a in args])
    if origin is Literal:
        *first, last = (str(a) or "''" for a in args)
        words = f"{', '.join(first)} or {last}" if first else last

        def one_of(value: Any, sizes: Sizes) -> Any:
            same = any(type(value) is type(a) and value == a for a in args)
            return value if same else _no()

        return Kind(words, one_of)
    if origin is tuple and Ellipsis not in args:
        return _row([kind_of(a) for a in args])
    if origin in (tuple, list, Sequence, Iterable):
        return _list(kind_of(args[0]), origin)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(kind_of(args[0]), kind_of(args[1]))
    if origin is Callable:
        return _function([], "_" * len(args[0]) if isinstance(args[0], list) else None)
    return _instance(origin or hint)


def _whole(value: Any, sizes: Sizes) -> int:
    good = isinstance(value, Integral) and not isinstance(value, bool)
    whole = int(value) if good else _no()
    return whole if abs(whole) < 2**63 else _no(f"{shown(value)}, which is too large")


def _measured(value: Any, sizes: Sizes) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool)
    try:
        return float(value) if good else _no()
    except OverflowError:
        return _no()


def _number(value: Any, sizes: Sizes) -> float:
    number = _measured(value, sizes)
    return number if math.isfinite(number) else _no()


def _array(value: Any, sizes: Sizes) -> np.ndarray:
    if isinstance(value, (list, tuple, range)) or hasattr(value, "iloc"):  # of pandas
        try:
            value = np.asarray(value, dtype=None if len(value) else int)
        except ValueError:
            return _no("a list of several shapes")
    good = isinstance(value, np.ndarray) and value.dtype != object
    return value if good else _no()


_PLAIN: dict[Any, Kind] = {
    Measured: Kind("a number", _measured),
    Any: Kind("anything", lambda v, _: v),
    NoneType: Kind("None", lambda v, _: v if v is None else _no()),
    bool: Kind("True or False",
               lambda v, _: bool(v) if isinstance(v, (bool, np.bool_)) else _no()),
    int: Kind("a whole number", _whole),
    float: Kind("a finite number", _number),
    np.ndarray: Kind("an array", _array),
    str: Kind("text", lambda v, _: v if isinstance(v, str) else _no()),
}  # fmt: skip


def _instance(of: Any) -> Kind:
    """An object of a class; for a protocol or a `Callable`, what can be called so."""
    if of is Callable:
        return _function([], None)
    if getattr(of, "_is_protocol", False):
        named = [*inspect.signature(of.__call__).parameters][1:]
        return _function([n for n in vars(of) if n[0] != "_"], named)
    article = "an" if of.__name__[0] in "AEIOaeio" else "a"
    words, inside = f"{article} {of.__name__}", {}
    if WHEN_PASSED in vars(of):
        hints = get_type_hints(of, include_extras=True)
        inside = {name: kind_of(hint) for name, hint in hints.items()}

    def fit(value: Any, sizes: Sizes) -> Any:
        if not isinstance(value, of):
            _no()
        for name, kind in inside.items():
            try:
                kind.fit(getattr(value, name), sizes)
            except Unfit as unfit:
                fault = unfit.args[0] or shown(getattr(value, name))
                _no(f"one whose {name} is {fault}, not {kind.words}")
        return value

    return Kind(words, fit)


def _function(has: Sequence[str], named: Sequence[str] | None) -> Kind:
    """A function with these attributes, called with arguments of these names."""

    def able(value: Any, sizes: Sizes) -> Any:
        good = callable(value) and all(hasattr(value, name) for name in has)
        if not good or (has and isinstance(value, type)):
            _no()
        if named is None:
            return value
        try:
            takes = inspect.signature(value)
        except (TypeError, ValueError):  # of what is not written in Python
            return value
        try:
            takes.bind(*named)
        except TypeError:
            many = f"{len(named) or 'no'} argument{'s' * (len(named) != 1)}"
            how = many if "_" in named or not named else f"({', '.join(named)})"
            _no(f"one of ({', '.join(takes.parameters)}): it is called with {how}")
        return value

    words = f" that has {' and '.join(has)}" if has else ""
    return Kind(f"a function{words}", able)


def _marked(kind: Kind, marks: Sequence[Any]) -> Kind:
    def fit(value: Any, sizes: Sizes) -> Any:
        value = kind.fit(value, sizes)
        for mark in marks:
            if fault := mark.fault(value, sizes):
                _no(fault)
        return value

    words = kind.words
    for mark in marks:
        words = mark.said(words)
    return Kind(words, fit)


def _either(kinds: Sequence[Kind]) -> Kind:
    def fit(value: Any, sizes: Sizes) -> Any:
        faults = []
        for kind in kinds:
            try:
                return kind.fit(value, sizes)
            except Unfit as unfit:
                faults += [fault for fault in unfit.args if fault]
        return _no(faults[0] if faults else None)

    return Kind(" or ".join(kind.words for kind in kinds), fit)


def _list(each: Kind, origin: Any) -> Kind:
    def fit(value: Any, sizes: Sizes) -> Any:
        if isinstance(value, np.ndarray) and origin is Sequence and value.ndim == 1:
            value = value.tolist() if value.dtype != object else list(value)
        what = Iterable if origin is Iterable else Sequence
        good = isinstance(value, what) and not isinstance(value, (str, bytes))
        if good and not isinstance(value, Sequence):
            value = _no() if isinstance(value, Tensor) else list(value)
        fitted = [each.fit(v, sizes) for v in (value if good else _no())]
        if origin is tuple:
            return tuple(fitted)
        alike = all(a is b for a, b in zip(fitted, value, strict=True))
        return value if alike else fitted

    return Kind(f"a list, each {each.words}", fit)


def _row(kinds: Sequence[Kind]) -> Kind:
    def fit(value: Any, sizes: Sizes) -> Any:
        good = isinstance(value, (tuple, list)) and len(value) == len(kinds)
        pairs = zip(kinds, value if good else _no(), strict=True)
        return tuple(kind.fit(v, sizes) for kind, v in pairs)

    words = [kind.words for kind in kinds]
    alike = f"{len(words)} values, each {words[0]}" if len(set(words)) == 1 else ""
    return Kind(alike or f"({', '.join(words)})", fit)


def _mapping(key: Kind, each: Kind) -> Kind:
    def fit(value: Any, sizes: Sizes) -> Any:
        if not isinstance(value, Mapping):
            _no()
        for name, v in value.items():
            key.fit(name, sizes)
            each.fit(v, sizes)
        return value

    return Kind(f"a dict of {each.words}", fit)


def held(value: Any, kind: Kind, sizes: Sizes, where: str) -> Any:
    """The value as what its kind says; refused in one line if it is none."""
    try:
        return kind.fit(value, sizes)
    except Unfit as unfit:
        fault = unfit.args[0] or shown(value)
        raise InputError(f"{where} must be {kind.words}, not {fault}") from None

"""A hash of everything that makes a value what it is.

Two processes that build the same get the same one. A function is told by its code,
what it closes over, and the plain numbers among its module's names that it reads.
"""

import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_OURS = ("fedlab_core.", "torch.", "numpy.")  # whose functions are told by their names
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def digest(value: Any) -> str:
    """A short hash of a value of any kind."""
    h = hashlib.sha256()
    _feed(h, value, [])
    return h.hexdigest()[:16]


def _feed(h: Any, value: Any, inside: list[int]) -> None:
    h.update(f"{type(value).__qualname__} ".encode())
    if isinstance(value, Tensor):
        h.update(f"{value.dtype} {tuple(value.shape)}".encode())
        value = value.detach().cpu().flatten().view(torch.uint8).numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        h.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
    elif isinstance(value, _PLAIN):
        h.update(repr(value).encode())
    elif id(value) in inside:  # a circle
        h.update(str(inside.index(id(value))).encode())
    else:
        for part in _parts(value):
            _feed(h, part, [*inside, id(value)])


def _parts(value: Any) -> Iterable[Any]:
    """The parts that make a value what it is, in the same order everywhere."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, types.CodeType):
        return value.co_code, value.co_consts, value.co_names
    if isinstance(value, types.MethodType):
        return value.__self__, value.__name__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, types.FunctionType):
        return _code(value)
    name = getattr(value, "__qualname__", None)  # of a class, and of what is in C
    kind = value if isinstance(value, type) else type(value)
    ours = f"{kind.__module__}.".startswith((*_OURS, "builtins."))
    written = [f for f in vars(kind).values() if isinstance(f, types.FunctionType)]
    fields = [] if name else _fields(value)
    return name, kind.__module__, kind.__qualname__, [] if ours else written, fields


def _code(function: types.FunctionType) -> Iterable[Any]:
    name = f"{function.__module__}.{function.__qualname__}"
    if name.startswith(_OURS) and "<" not in name:
        return [name]
    code, cells = function.__code__, function.__closure__ or ()
    reads = {n: function.__globals__.get(n) for n in code.co_names}
    numbers = {n: v for n, v in reads.items() if isinstance(v, _PLAIN)}
    return code, function.__defaults__, [c.cell_contents for c in cells], numbers


def _fields(value: Any) -> Any:
    """An object's own values; of a network's tensors, only which there are.

    A field whose metadata say "later" counts where it is not as usual, so that what was
    made before it existed is still what it was.
    """
    if dataclasses.is_dataclass(value):
        every = [(f, getattr(value, f.name)) for f in dataclasses.fields(value)]
        later = [
            (f.name, v) for f, v in every if "later" in f.metadata if v != f.default
        ]
        return [v for f, v in every if "later" not in f.metadata] + later
    own = dict(getattr(value, "__dict__", {}))
    for table in ("_parameters", "_buffers") if isinstance(value, nn.Module) else ():
        own[table] = {n: v is not None and v.shape for n, v in own[table].items()}
    return own

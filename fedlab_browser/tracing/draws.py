"""Random draws of a traced function: which there are, and numbers handed in instead.

A rule draws by `fold`, `uniform` and `normal` of `fedlab_core.keys`. While it is
traced, calls of these three come here, by whatever name they were imported, and a key
stands for the words that it was folded from.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock, get_ident
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from fedlab_core.errors import InputError, require
from fedlab_core.keys import fold, normal, uniform

_KINDS: dict[str, Callable] = {"uniform": uniform, "normal": normal}
_ONE_AT_A_TIME = RLock()


def drawn(key: Tensor, how: list) -> Tensor:
    """Numbers that a program asks for as a draw, from the key of a step."""
    kind, n, words = how
    for word in words:
        key = fold(key, word)
    return _KINDS[kind](key, n)


class Draws:
    """Draws that a function asks for, written down, or else handed in in that order.

    All keys have to be folded, by whole numbers, from one that it meets first.
    """

    def __init__(self, given: list[Tensor] | None = None):
        self.given, self.asked = given, list[list]()
        self.keys: list[tuple[Tensor, list[int]]] = []  # and the words they came by

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take what this thread draws."""
        mine = {fold: self.fold, uniform: self.uniform, normal: self.normal}
        with _ONE_AT_A_TIME, _rerouted(mine):
            yield

    def fold(self, key: Tensor, word: Tensor | int) -> Tensor:
        """A key to know again; what its number is no program asks."""
        words = self._words(key)
        if not isinstance(word, int):
            raise InputError("what is drawn has a key that is not known beforehand")
        self.keys.append((key.clone(), [*words, word]))
        return self.keys[-1][0]

    def uniform(self, key: Tensor, n: int) -> Tensor:
        """Numbers handed in, or a stand-in for them."""
        return self._draw("uniform", key, n)

    def normal(self, key: Tensor, n: int) -> Tensor:
        """Numbers handed in, or a stand-in for them."""
        return self._draw("normal", key, n)

    def _draw(self, kind: str, key: Tensor, n: int) -> Tensor:
        words = self._words(key)
        require(not key.ndim, "what is drawn comes from many keys at once")
        self.asked.append([kind, n, words])
        if self.given is None:
            return torch.full((n,), 0.5)
        return self.given[len(self.asked) - 1]

    def _words(self, key: Tensor) -> list[int]:
        if not self.keys:
            self.keys.append((key, []))
        for known, words in self.keys:
            if known is key:
                return words
        raise InputError("what is drawn has a key that is not folded from the batch's")


@contextmanager
def _rerouted(routes: Mapping[Any, Callable]) -> Iterator[None]:
    """Let calls of plain functions in this thread go elsewhere.

    The functions get other code, so that names and closures which hold them need not be
    found; an attribute that is set would only reach who asks the module for it.
    """
    before, here = {f: f.__code__ for f in routes}, get_ident()

    def way(f: FunctionType, to: Callable) -> Callable:
        plain = FunctionType(f.__code__, f.__globals__)

        def go(*given: Any, **named: Any) -> Tensor:
            return (to if get_ident() == here else plain)(*given, **named)

        return go

    try:
        for f, to in routes.items():
            f.__kwdefaults__ = {"_way": way(f, to)}
            f.__code__ = _elsewhere.__code__
        yield
    finally:
        for f, code in before.items():
            f.__code__, f.__kwdefaults__ = code, None


def _elsewhere(*given: Any, _way: Callable, **named: Any) -> Any:
    return _way(*given, **named)

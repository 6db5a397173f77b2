"""A function of trees of tensors as a program, checked by running it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedlab_browser.tracing.compiler import compiled
from fedlab_browser.tracing.graph import graph_of, undecided
from fedlab_browser.tracing.program import Program
from fedlab_browser.tracing.reader import Reader, flat
from fedlab_core.errors import InputError, require, require_all
from fedlab_core.keys import fold, normal, uniform
from fedlab_core.tree import Tree

_DRAWS: dict[str, Callable] = {"uniform": uniform, "normal": normal}
_NEAR = 1e-4  # a program's numbers beside PyTorch's, on the example

Given = Mapping[str, Tensor | Tree]


def program_of(
    f: Callable[..., Given], what: str, **examples: Tensor | Tree
) -> Program:
    """The program of f(**examples): tensors and trees of them, as what it gives is.

    A tensor of a tree is named "tree.NAME". What f draws from a key is handed in.

    Raises:
        InputError: where it decides by a number, or needs what programs do not have.
    """
    names = list(flat(examples))
    given = [v.clone() for v in flat(examples).values()]
    outputs: list[str] = []

    def plain(*values: Tensor) -> list[Tensor]:
        found = flat(f(**_trees(dict(zip(names, values, strict=False)), examples)))
        outputs[:] = list(found)
        return list(found.values())

    with undecided(what), _Drawing() as drawing:
        plain(*(v.clone() for v in given))
    draws = {f"draw.{i}": how for i, how in enumerate(drawing.asked)}
    every = [*given, *(drawn(torch.tensor(1), how) for how in draws.values())]

    def handed(*values: Tensor) -> list[Tensor]:
        with _Drawing(list(values[len(given) :])):
            return plain(*values[: len(given)])

    with undecided(what):
        wanted = handed(*(v.clone() for v in every))
        graph = graph_of(handed, every)
    program = compiled(graph, every, [*names, *draws], outputs, what)
    program.draws = {n: how for n, how in draws.items() if n in program.inputs}
    _check(program, dict(zip([*names, *draws], every, strict=True)), wanted, what)
    return program


def _check(program: Program, given: Tree, wanted: list[Tensor], what: str) -> None:
    """Refuse a program that does not do on the example what was traced."""
    mine = {n: v for n, v in given.items() if n in program.inputs}
    reader = Reader(program)
    reader.put(**mine)
    reader.run()
    for a, b in zip(reader.outputs.values(), wanted, strict=True):
        near = torch.allclose(a, b.to(a).view_as(a), _NEAR, _NEAR, equal_nan=True)
        require(near, f"{what} cannot be traced: its program gives other numbers")


def _trees(flat: Tree, like: Given) -> dict[str, Any]:
    """What `flat` made of something like this, put back."""
    return {
        name: flat[name]
        if isinstance(value, Tensor)
        else {n: flat[f"{name}.{n}"] for n in value}
        for name, value in like.items()
    }


def drawn(key: Tensor, how: list) -> Tensor:
    """What a program asks for as a draw, from the key of a step."""
    kind, n, words = how
    for word in words:
        key = fold(key, word)
    return _DRAWS[kind](key, n)


class _Drawing(TorchFunctionMode):
    """Writes down what is drawn from a key, or hands it in.

    All keys have to be folded, by whole numbers, from one that it meets first.
    """

    def __init__(self, given: list[Tensor] | None = None):
        super().__init__()
        self.given, self.asked = given, list[list]()
        self.keys: list[tuple[Tensor, list[int]]] = []  # and the words they came by

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = None
        if func is fold:
            words = self._words(args[0])
            plain = isinstance(args[1], int)
            require(plain, "what is drawn has a key that is not known beforehand")
            made = func(*args, **(kwargs or {}))
            self.keys.append((made, [*words, args[1]]))
            return made
        if func is require_all:  # of the example: a program is not told of it
            return None
        if func in _DRAWS.values():
            return self._draw(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _draw(self, func: Callable, key: Tensor, n: int) -> Tensor:
        words = self._words(key)
        if key.ndim:
            raise InputError("what is drawn comes from many keys at once")
        if self.given is not None:
            made = self.given[len(self.asked)]
        else:
            made = func(key, n)
        self.asked.append([func.__name__, n, words])
        return made

    def _words(self, key: Tensor) -> list[int]:
        if not self.keys:
            self.keys.append((key, []))
        for known, words in self.keys:
            if known is key:
                return words
        raise InputError("what is drawn has a key that is not folded from the batch's")

"""A function of trees of tensors as a program, checked by running it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from fedlab_browser.tracing.compiler import compiled
from fedlab_browser.tracing.draws import Draws, drawn
from fedlab_browser.tracing.graph import graph_of, undecided
from fedlab_browser.tracing.program import Program
from fedlab_browser.tracing.reader import Reader, flat
from fedlab_core.errors import require
from fedlab_core.tree import Tree

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

    seen = Draws()
    with undecided(what), seen.listening():
        plain(*(v.clone() for v in given))
    draws = {f"draw.{i}": how for i, how in enumerate(seen.asked)}
    every = [*given, *(drawn(torch.tensor(1), how) for how in draws.values())]

    def handed(*values: Tensor) -> list[Tensor]:
        with Draws(list(values[len(given) :])).listening():
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
    """Tensors and trees as in `like`, from what `flat` made of such."""
    return {
        name: flat[name]
        if isinstance(value, Tensor)
        else {n: flat[f"{name}.{n}"] for n in value}
        for name, value in like.items()
    }

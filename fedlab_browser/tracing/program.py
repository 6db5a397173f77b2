"""A program: loops over numbers in flat buffers, which any language can run.

Every view of a tensor is gone: an operand says where it begins in its buffer and how
far apart its numbers are. A step is

    [operation, shape, operands, options...]      operand: [buffer, offset, strides]

with the destination first. All numbers are float32 where a program is run, labels and
places of samples too: they are whole, and small. `reader` runs one in Python.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class View:
    """Place of a value's numbers; `like` is laid out that way, without data."""

    buffer: int
    like: Tensor

    def operand(self, shape: Any = None) -> list:
        """As a step names it, broadcast to a shape."""
        like = self.like if shape is None else self.like.expand(shape)
        return [self.buffer, like.storage_offset(), list(like.stride())]

    def at(self, like: Tensor) -> "View":
        """The same numbers, or some of them, seen otherwise."""
        return View(self.buffer, like)


def hollow(shape: Any) -> Tensor:
    """A tensor without data: what knows about strides, and nothing else."""
    return torch.empty(tuple(shape), device="meta")


@dataclass
class Program:
    """Buffers, constants and steps; inputs and outputs are buffers with a name.

    An output that bears an input's name is written over it. `draws` says what is
    handed in of random numbers: by name, what kind, how many, of which key.
    """

    sizes: list[int] = field(default_factory=list)
    constants: dict[int, list[float] | float] = field(default_factory=dict)
    steps: list[list] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    draws: dict[str, list] = field(default_factory=dict)
    scalars: dict[float, View] = field(default_factory=dict)  # while it is made

    def empty(self, shape: Any) -> View:
        """A new buffer for a value of that shape."""
        self.sizes.append(math.prod(shape))
        return View(len(self.sizes) - 1, hollow(shape))

    def constant(self, value: Tensor | float) -> View:
        """A buffer that begins as this value, and stays so."""
        if not isinstance(value, Tensor):
            if value not in self.scalars:
                view = self.scalars[value] = self.empty(())
                self.constants[view.buffer] = float(value)
            return self.scalars[value]
        view = self.empty(value.shape)
        numbers = value.flatten().double().tolist()
        alike = len(set(numbers)) == 1
        self.constants[view.buffer] = numbers[0] if alike else numbers
        return view

    def add(self, op: str, shape: Any, views: list[View], *options: float) -> None:
        """An operation on numbers at the same place, broadcast to a shape."""
        operands = [view.operand(shape) for view in views]
        loops, operands = merged(list(shape), operands)
        if op == "mul" and not any(operands[1][2]):  # one number comes second
            operands[1:] = operands[:0:-1]
        self.steps.append([op, loops, operands, *options])

    def plain(self) -> dict[str, Any]:
        """The program as JSON can hold it."""
        names = ("sizes", "constants", "inputs", "outputs", "shapes", "steps", "draws")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Program":
        """The program of what `plain` gave, read back from JSON."""
        made = cls(**plain)
        made.constants = {int(k): v for k, v in made.constants.items()}
        return made


def merged(shape: list[int], operands: list[list]) -> tuple[list[int], list[list]]:
    """The same loops with as few axes as will do."""
    axes = [(n, [o[2][d] for o in operands]) for d, n in enumerate(shape) if n != 1]
    out: list[tuple[int, list[int]]] = []
    for n, strides in axes:
        if out and all(a == b * n for a, b in zip(out[-1][1], strides, strict=True)):
            out[-1] = (out[-1][0] * n, strides)
        else:
            out.append((n, strides))
    sizes = [n for n, _ in out]
    loops = [[o[0], o[1], [s[i] for _, s in out]] for i, o in enumerate(operands)]
    return sizes, loops


def lean(p: Program) -> Program:
    """Without buffers that nobody uses; passing ones share memory where they can."""
    kept = {*p.inputs.values(), *p.outputs.values()}
    used = {o[0] for s in p.steps for o in s[2]} | kept
    last = {o[0]: i for i, s in enumerate(p.steps) for o in s[2]}
    fixed = kept | set(p.constants) | _written_in_parts(p)
    number, sizes, free = dict[int, int](), list[int](), list[int]()
    for b in sorted(used & fixed):
        number[b] = len(sizes)
        sizes.append(p.sizes[b])
    for i, (_, _, operands, *_) in enumerate(p.steps):
        b = operands[0][0]
        if b not in number:
            spare = next((f for f in free if sizes[f] == p.sizes[b]), None)
            if spare is None:
                spare = len(sizes)
                sizes.append(p.sizes[b])
            else:
                free.remove(spare)
            number[b] = spare
        for o in {o[0] for o in operands} - fixed:
            if last[o] == i and number[o] not in free:
                free.append(number[o])
    for step in p.steps:
        for o in step[2]:
            o[0] = number[o[0]]
    p.sizes = sizes
    p.constants = {number[b]: v for b, v in p.constants.items() if b in number}
    p.inputs = {n: number[b] for n, b in p.inputs.items()}
    p.outputs = {n: number[b] for n, b in p.outputs.items()}
    return p


def _written_in_parts(p: Program) -> set[int]:
    """Buffers that a step does not fill keep their zeros, and are no one else's."""
    first: dict[int, int] = {}
    for op, shape, operands, *_ in p.steps:
        whole = shape[0] * shape[1] * shape[3] if op == "bmm" else math.prod(shape)
        first.setdefault(operands[0][0], whole)
    return {b for b, n in first.items() if n < p.sizes[b]}

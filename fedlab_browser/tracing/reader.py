"""Runs a program in Python: what every other reader has to agree with.

Buffers are flat float32 tensors, and an operand is a strided view into one.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from fedlab_browser.tracing.program import Program
from fedlab_core.tree import Tree

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "max": torch.maximum, "min": torch.minimum, "pow": torch.pow, "gt": torch.gt,
    "ge": torch.ge, "lt": torch.lt, "le": torch.le, "eq": torch.eq, "ne": torch.ne,
}  # fmt: skip
_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "copy": torch.clone, "neg": torch.neg, "exp": torch.exp, "log": torch.log,
    "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "abs": torch.abs, "floor": torch.floor,
    "trunc": torch.trunc, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
}  # fmt: skip


def flat(given: Mapping[str, Tensor | Tree]) -> Tree:
    """Everything in one tree, by "tree.NAME" or by its own name."""
    found: Tree = {}
    for name, value in given.items():
        if isinstance(value, Tensor):
            found[name] = value
        else:
            found |= {f"{name}.{n}": v for n, v in value.items()}
    return found


class Reader:
    """A program with its buffers; `inputs` and `outputs` are views into them."""

    def __init__(self, program: Program):
        self.program = program
        self.buffers = [torch.zeros(n) for n in program.sizes]
        for b, value in program.constants.items():
            self.buffers[b].copy_(torch.tensor(value))
        self.inputs = self._named(program.inputs)
        self.outputs = self._named(program.outputs)

    def _named(self, places: Mapping[str, int]) -> Tree:
        shapes = self.program.shapes
        return {n: self.buffers[b].view(shapes[n]) for n, b in places.items()}

    def put(self, **given: Tensor | Tree) -> None:
        """Give inputs by their names, of a tree "tree.NAME", if they are asked for."""
        for name, value in flat(given).items():
            if name in self.inputs:
                self.inputs[name].copy_(value.view(self.inputs[name].shape))

    def run(self) -> None:
        """All steps once; what was not given anew stays as it was."""
        for op, *rest in self.program.steps:
            getattr(self, f"_{op}", self._plain)(op, *rest)

    def tree(self, name: str) -> Tree:
        """A tree of the outputs."""
        mine = {n: v for n, v in self.outputs.items() if n.startswith(f"{name}.")}
        return {n.removeprefix(f"{name}."): v.clone() for n, v in mine.items()}

    def _view(self, operand: list, shape: list[int]) -> Tensor:
        buffer, begin, strides = operand
        return self.buffers[buffer].as_strided(shape, strides, begin)

    def _plain(
        self, op: str, shape: list[int], operands: list, *options: float
    ) -> None:
        """Numbers at the same place."""
        to, *given = (self._view(o, shape) for o in operands)
        if op == "where":
            value = torch.where(given[0] != 0, given[1], given[2])
        elif op == "gate":
            value = torch.where(given[1] > options[0], given[0], 0.0)
        elif op in _UNARY:
            value = _UNARY[op](given[0])
        else:
            second = given[1] * options[0] if options else given[1]
            value = _BINARY[op](given[0], second)
        to.copy_(value)

    def _reduced(
        self, op: str, shape: list, operands: list, over: list, strides: list
    ) -> None:
        to, frm = operands
        out = self._view(to, shape)
        whole = self._view([frm[0], frm[1], [*frm[2], *strides]], [*shape, *over])
        axes = tuple(range(len(shape), len(shape) + len(over)))
        if not axes:
            out.copy_(whole)
        else:
            out.copy_(whole.sum(axes) if op == "sum" else whole.amax(axes))

    _sum = _amax = _reduced

    def _bmm(self, op: str, shape: list[int], operands: list) -> None:
        batch, m, k, n = shape
        sizes = ([batch, m, n], [batch, m, k], [batch, k, n])
        to, a, b = (self._view(o, s) for o, s in zip(operands, sizes, strict=True))
        to.copy_(a @ b)

    def _softmax(
        self, op: str, shape: list, operands: list, many: int, strides: list
    ) -> None:
        to, *given = (
            self._view([o[0], o[1], [*o[2], s]], [*shape, many])
            for o, s in zip(operands, strides, strict=True)
        )
        if op == "log_softmax":
            to.copy_(given[0].log_softmax(-1))
        else:
            slope, out = given
            to.copy_(slope - out.exp() * slope.sum(-1, keepdim=True))

    _log_softmax = _log_softmax_back = _softmax

    def _walked(self, shape: list[int], operand: list, ids: list, stride: int):
        """Places in its buffer of an operand's numbers, walked by an index."""
        buffer, begin, strides = operand
        places = torch.full([1] * len(shape), begin).expand(shape)
        for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
            along = [n if a == axis else 1 for a in range(len(shape))]
            places = places + (torch.arange(n) * step).view(along)
        index = self._view(ids, shape).long()
        return self.buffers[buffer], places + index * stride

    def _take(self, op: str, shape: list[int], operands: list, stride: int) -> None:
        to, frm, ids = operands
        buffer, places = self._walked(shape, frm, ids, stride)
        self._view(to, shape).copy_(buffer[places])

    def _put(self, op: str, shape: list[int], operands: list, stride: int) -> None:
        to, frm, ids = operands
        buffer, places = self._walked(shape, to, ids, stride)
        source = self._view(frm, shape)
        buffer.index_put_((places.flatten(),), source.flatten(), accumulate=True)

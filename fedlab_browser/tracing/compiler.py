"""A traced graph as a program: every operation as loops, every view as strides."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from fedlab_browser.tracing.graph import name_of
from fedlab_browser.tracing.program import Program, View, hollow, lean, merged
from fedlab_core.errors import InputError

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max",
    "minimum": "min", "gt": "gt", "ge": "ge", "lt": "lt", "le": "le", "eq": "eq",
    "ne": "ne", "clamp_min": "max", "clamp_max": "min", "bitwise_and": "mul",
    "logical_and": "mul", "bitwise_or": "max", "logical_or": "max",
}  # fmt: skip
_UNARY = (
    "neg", "exp", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "abs", "floor", "tanh",
    "sigmoid",
)  # fmt: skip
_VIEWS = {
    "view", "_unsafe_view", "reshape", "transpose", "permute", "expand", "unsqueeze",
    "squeeze", "select", "slice", "t",
}  # fmt: skip
_ANYWHERE = {
    *_BINARY.values(),
    *_UNARY,
    "copy",
    "where",
    "gate",
}  # write where they may


def compiled(
    graph: GraphModule, examples: Sequence[Tensor], names: Sequence[str],
    outputs: Sequence[str], what: str,
) -> Program:  # fmt: skip
    """The program of a graph, whose inputs and outputs get these names."""
    return _Compiler(graph, what).program(examples, names, outputs)


class _Compiler:
    """State of a walk through a graph, node by node."""

    def __init__(self, graph: GraphModule, what: str):
        self.graph, self.what, self.p = graph, what, Program()
        self.at: dict[Node, View] = {}
        self.value: dict[Node, Any] = {}

    def program(
        self, examples: Sequence[Tensor], names: Sequence[str], outputs: Sequence[str]
    ) -> Program:
        p, nodes = self.p, list(self.graph.graph.nodes)
        holders = [n for n in nodes if n.op == "placeholder"]
        for node, name, example in zip(holders, names, examples, strict=True):
            self.value[node] = example
            if node.users or name in outputs:
                self.at[node] = p.empty(example.shape)
                p.inputs[name] = self.at[node].buffer
                p.shapes[name] = list(example.shape)
        for node in nodes:
            if node.op == "get_attr":
                self.value[node] = getattr(self.graph, str(node.target))
                self.at[node] = p.constant(self.value[node])
            elif node.op == "call_function":
                given = torch.fx.map_arg(
                    (node.args, node.kwargs), lambda n: self.value[n]
                )
                self.value[node] = node.target(*given[0], **given[1])
                self.at[node] = self.emit(node)
        (last,) = (n for n in nodes if n.op == "output")
        self.finish(dict(zip(outputs, last.args[0], strict=True)))
        _in_place(p)
        return lean(p)

    def view(self, x: Any) -> View:
        """An argument's numbers: of a node, or of a number."""
        return self.at[x] if isinstance(x, Node) else self.p.constant(x)

    def emit(self, node: Any) -> View:
        """The steps of one operation; where its result lies."""
        name, a = name_of(node), node.args
        if name in _VIEWS:
            return self.viewed(node)
        if name in _BINARY:
            return self.binary(node, _BINARY[name])
        if name in _UNARY:
            return self.alike(node, name, a[:1])
        emit: Callable[[Node, View], View | None] | None
        emit = getattr(self, f"on_{name}", None)
        if emit is None:
            raise InputError(
                f"{self.what} cannot be traced: it needs {node.target}, which programs "
                "do not have"
            )
        to = self.p.empty(self.value[node].shape)
        return emit(node, to) or to

    def alike(self, node: Any, op: str, among: Iterable, *options: float) -> View:
        """An operation on numbers at the same place."""
        shape = self.value[node].shape
        to = self.p.empty(shape)
        self.p.add(op, shape, [to, *map(self.view, among)], *options)
        return to

    def binary(self, node: Any, op: str) -> View:
        alpha = node.kwargs.get("alpha", 1)
        return self.alike(node, op, node.args[:2], *([alpha] if alpha != 1 else []))

    def viewed(self, node: Any) -> View:
        """The same numbers, seen otherwise: no step, if their order allows it."""
        frm, rest = self.view(node.args[0]), node.args[1:]
        try:
            return frm.at(node.target(frm.like, *rest, **node.kwargs))
        except RuntimeError:  # a reshape that needs its numbers in order
            to = self.p.empty(frm.like.shape)
            self.p.add("copy", frm.like.shape, [to, frm])
            return to.at(node.target(to.like, *rest, **node.kwargs))

    def given(self, node: Any, i: int, key: str, usual: Any) -> Any:
        return node.args[i] if len(node.args) > i else node.kwargs.get(key, usual)

    # -- one operation each: `on_NAME` writes a value -----------------------

    def on_relu(self, node: Any, to: View) -> None:
        zero = self.p.constant(0.0)
        self.p.add("max", to.like.shape, [to, self.view(node.args[0]), zero])

    def on_threshold_backward(self, node: Any, to: View) -> None:
        slope, x, limit = node.args
        views = [to, self.view(slope), self.view(x)]
        self.p.add("gate", to.like.shape, views, float(limit))

    def on_pow(self, node: Any, to: View) -> None:
        x, power = node.args
        square = power in (2, 2.0)
        views = [to, self.view(x), self.view(x if square else power)]
        self.p.add("mul" if square else "pow", to.like.shape, views)

    def on_where(self, node: Any, to: View) -> None:
        self.p.add("where", to.like.shape, [to, *map(self.view, node.args[:3])])

    def on_bitwise_not(self, node: Any, to: View) -> None:
        views = [to, self.view(node.args[0]), self.p.constant(0.0)]
        self.p.add("eq", to.like.shape, views)

    on_logical_not = on_bitwise_not

    def on_floor_divide(self, node: Any, to: View) -> None:
        self.p.add("div", to.like.shape, [to, *map(self.view, node.args[:2])])
        self.p.add("floor", to.like.shape, [to, to])

    def on_clamp(self, node: Any, to: View) -> None:
        frm, shape = self.view(node.args[0]), to.like.shape
        for op, i, key in (("max", 1, "min"), ("min", 2, "max")):
            limit = self.given(node, i, key, None)
            if limit is not None:
                self.p.add(op, shape, [to, frm, self.view(limit)])
                frm = to

    def on__to_copy(self, node: Any, to: View) -> None:
        frm, out = self.value[node.args[0]], self.value[node]
        whole = not out.is_floating_point() and frm.is_floating_point()
        views = [to, self.view(node.args[0])]
        self.p.add("trunc" if whole else "copy", to.like.shape, views)

    def on_sum(self, node: Any, to: View) -> None:
        self.reduced(node, "sum", to)

    def on_amax(self, node: Any, to: View) -> None:
        self.reduced(node, "amax", to)

    def reduced(self, node: Any, op: str, to: View) -> None:
        """[op, kept shape, [to, from], reduced shape, from's strides there]."""
        frm = self.view(node.args[0])
        like, ndim = frm.like, frm.like.ndim
        dims = self.given(node, 1, "dim", None) or range(ndim)
        gone = sorted({d % ndim for d in dims} if ndim else set())
        kept = [d for d in range(ndim) if d not in gone]
        shape = [like.shape[d] for d in kept]
        strides = [like.stride(d) for d in kept]
        flat = list(hollow(shape).stride())
        ends = [[to.buffer, 0, flat], [frm.buffer, like.storage_offset(), strides]]
        loops, operands = merged(shape, ends)
        inner = [[0, 0, [like.stride(d) for d in gone]]]
        over, walked = merged([like.shape[d] for d in gone], inner)
        self.p.steps.append([op, loops, operands, over, walked[0][2]])

    def on_bmm(self, node: Any, to: View) -> View:
        """["bmm", [batch, m, k, n], [to, a, b]] with three strides each."""
        turned = [user for user in node.users if name_of(user) == "transpose"]
        if to.like.ndim == 3 and len(turned) == len(node.users):
            to = to.at(hollow(to.like.mT.shape).mT)  # as it is read
        a, b = map(self.view, node.args[:2])
        x, y = a.like, b.like
        batch = x.shape[0] if x.ndim == 3 else 1
        shape = [batch, x.shape[-2], x.shape[-1], y.shape[-1]]
        self.p.steps.append(["bmm", shape, [_matrix(v) for v in (to, a, b)]])
        return to

    on_mm = on_bmm

    def on__log_softmax(self, node: Any, to: View) -> None:
        self.softmax("log_softmax", [to, self.view(node.args[0])], node.args[1])

    def on__log_softmax_backward_data(self, node: Any, to: View) -> None:
        views = [to, *map(self.view, node.args[:2])]
        self.softmax("log_softmax_back", views, node.args[2])

    def softmax(self, op: str, views: list[View], dim: Any) -> None:
        """[op, other axes, [to, ...], how many numbers, the stride of each]."""
        dim %= views[0].like.ndim
        cut = [v.at(v.like.select(dim, 0)) for v in views]
        loops = merged(list(cut[0].like.shape), [v.operand() for v in cut])
        many, strides = views[0].like.shape[dim], [v.like.stride(dim) for v in views]
        self.p.steps.append([op, *loops, many, strides])

    def on_gather(self, node: Any, to: View) -> None:
        """["take", shape, [to, from, index], stride]: an axis is walked by index."""
        x, dim, index = node.args[:3]
        frm, ids = self.view(x), self.view(index)
        dim, like, shape = dim % to.like.ndim, frm.like, list(to.like.shape)
        strides = [0 if d == dim else like.stride(d) for d in range(like.ndim)]
        source = [frm.buffer, like.storage_offset(), strides]
        operands = [to.operand(), source, ids.operand(shape)]
        self.p.steps.append(["take", *merged(shape, operands), like.stride(dim)])

    def on_index_select(self, node: Any, to: View) -> None:
        x, dim, index = node.args
        self.indexed(self.view(x), {dim: self.view(index)}, to)

    def on_index(self, node: Any, to: View) -> None:
        x, index = node.args[:2]
        places = {d: self.view(i) for d, i in enumerate(index) if i is not None}
        self.indexed(self.view(x), places, to)

    def indexed(self, frm: View, index: dict[int, View], to: View) -> None:
        """x[:, i], x[i, j]: adjacent axes walked by tensors, broadcast together.

        Of axes longer than one, one may be walked.
        """
        like, dims = frm.like, sorted(index)
        real = [d for d in dims if like.shape[d] > 1]
        plain = dims == list(range(dims[0], dims[-1] + 1)) and len(real) <= 1
        if not plain:
            raise InputError(
                f"{self.what} cannot be traced: it looks up two axes at once"
            )
        places = torch.broadcast_shapes(*(v.like.shape for v in index.values()))
        before, after = like.shape[: dims[0]], like.shape[dims[-1] + 1 :]
        shape = [*before, *places, *after]
        gone = [0] * len(places)
        strides = [*like.stride()[: dims[0]], *gone, *like.stride()[dims[-1] + 1 :]]
        operands = [to.operand(), [frm.buffer, like.storage_offset(), strides]]
        if not real:
            self.p.steps.append(["copy", *merged(shape, operands)])
            return
        ids = index[real[0]]
        wide = ids.like.expand(places)
        around = [0] * len(before), [0] * len(after)
        strides = [*around[0], *wide.stride(), *around[1]]
        operands.append([ids.buffer, wide.storage_offset(), strides])
        loops = merged(shape, operands)
        self.p.steps.append(["take", *loops, like.stride(real[0])])

    def on_scatter_add(self, node: Any, to: View) -> None:
        """["put", shape, [to, from, index], stride]: adds at the places of index."""
        x, dim, index, source = node.args
        self.p.add("copy", to.like.shape, [to, self.view(x)])
        ids, frm, like = self.view(index), self.view(source), to.like
        dim, shape = dim % like.ndim, list(ids.like.shape)
        strides = [0 if d == dim else like.stride(d) for d in range(like.ndim)]
        part = frm.at(frm.like[tuple(slice(n) for n in shape)])
        operands = [[to.buffer, 0, strides], part.operand(), ids.operand()]
        self.p.steps.append(["put", *merged(shape, operands), like.stride(dim)])

    def on_cat(self, node: Any, to: View) -> None:
        first, dim = 0, self.given(node, 1, "dim", 0)
        for v in map(self.view, node.args[0]):
            size = v.like.shape[dim]
            part = to.at(to.like.narrow(dim, first, size))
            self.p.add("copy", part.like.shape, [part, v])
            first += size

    def on_stack(self, node: Any, to: View) -> None:
        dim = self.given(node, 1, "dim", 0)
        for i, v in enumerate(map(self.view, node.args[0])):
            part = to.at(to.like.select(dim, i))
            self.p.add("copy", part.like.shape, [part, v])

    def on_select_backward(self, node: Any, to: View) -> None:
        x, _, dim, i = node.args
        self.put_in(to.at(to.like.select(dim, i)), self.view(x))

    def on_select_scatter(self, node: Any, to: View) -> None:
        x, new, dim, i = node.args
        self.p.add("copy", to.like.shape, [to, self.view(x)])
        self.put_in(to.at(to.like.select(dim, i)), self.view(new))

    def on_slice_scatter(self, node: Any, to: View) -> None:
        x, new = node.args[:2]
        usual = (("dim", 0), ("start", None), ("end", None), ("step", 1))
        dim, start, end, step = (
            self.given(node, i, key, v) for i, (key, v) in enumerate(usual, 2)
        )
        window = [slice(None)] * to.like.ndim
        window[dim] = slice(start or 0, end, step)
        self.p.add("copy", to.like.shape, [to, self.view(x)])
        self.put_in(to.at(to.like[tuple(window)]), self.view(new))

    def put_in(self, part: View, new: View) -> None:
        self.p.add("copy", part.like.shape, [part, new])

    def finish(self, outputs: dict[str, Any]) -> None:
        """Write results over the inputs of their names; others stay where they are."""
        p, late = self.p, []
        for name, node in outputs.items():
            frm, shape = self.view(node), list(self.value[node].shape)
            p.shapes[name] = shape
            if name in p.inputs:
                to = View(p.inputs[name], hollow(shape))
                late += [(shape, to, frm)] * (frm.buffer != to.buffer)
            elif not frm.like.is_contiguous() or frm.like.storage_offset():
                to = p.empty(shape)
                p.add("copy", shape, [to, frm])
            else:
                to = frm
            p.outputs[name] = to.buffer
        over = {to.buffer for _, to, _ in late}
        for i, (shape, to, frm) in enumerate(late):
            if frm.buffer in over:  # another result is written over it
                late[i] = (shape, to, p.empty(shape))
                p.add("copy", shape, [late[i][2], frm])
        for shape, to, frm in late:
            p.add("copy", shape, [to, frm])


def _matrix(v: View) -> list:
    buffer, begin, strides = v.operand()
    return [buffer, begin, strides if len(strides) == 3 else [0, *strides]]


def _in_place(p: Program) -> None:
    """Let a result be written where it is copied to, if nobody reads that after it."""
    for last in range(len(p.steps) - 1, -1, -1):
        op, _, operands, *_ = p.steps[last]
        if op != "copy" or operands[0][0] not in p.inputs.values():
            continue
        (mine, *to), (temporary, *frm) = operands
        makers = [i for i, s in enumerate(p.steps[:last]) if s[2][0][0] == temporary]
        read = any(
            o[0] == temporary
            for i, s in enumerate(p.steps)
            if i != last
            for o in s[2][1:]
        )
        if len(makers) != 1 or read or to != frm or temporary in p.outputs.values():
            continue
        made = p.steps[makers[0]]
        later = any(o[0] == mine for s in p.steps[makers[0] + 1 : last] for o in s[2])
        same = all(o[1:] == made[2][0][1:] for o in made[2][1:] if o[0] == mine)
        if made[0] in _ANYWHERE and not later and same:
            made[2][0][0] = mine
            del p.steps[last]

"""A function of the core as a graph of operations on tensors, as simple as it can be.

`graph_of` runs a function on examples and writes down what it does to tensors, the
gradients that it takes and its writes in place included; a second pass turns writes
into new values. What does not depend on the arguments is computed, and what changes
nothing is left out. A decision on a number is refused: it would be that of the example.
"""

# pyright: reportPrivateImportUsage=false
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functionalize
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from fedlab_core.errors import InputError

aten: Any = torch.ops.aten

# Written in terms of simpler ones, so that who reads a program needs to know fewer.
_WRITTEN_OUT = (
    aten.linalg_vector_norm, aten.softplus, aten.softplus_backward, aten.masked_fill,
    aten.addmm, aten.baddbmm, aten.addcmul, aten.dot, aten.mv, aten.rsub, aten.mean,
    aten.slice_backward, aten.nll_loss_forward, aten.nll_loss_backward,
    aten.fill, aten.mse_loss, aten.mse_loss_backward, aten.sigmoid_backward,
    aten.tanh_backward, aten.logit, aten.lerp, aten._softmax,
    aten.split_with_sizes,
)  # fmt: skip


def _each(op: Callable) -> Callable:
    """An operation on lists of tensors as one on each."""

    def of(xs, *rest, **options):
        return [
            op(
                x,
                *(r[i] if isinstance(r, (list, tuple)) else r for r in rest),
                **options,
            )
            for i, x in enumerate(xs)
        ]

    return of


def _var(x: Tensor, dim=None, *, correction=1, keepdim: bool = False) -> Tensor:
    over = list(range(x.ndim)) if dim is None else dim
    many = math.prod(x.shape[d] for d in over)
    apart = x - x.sum(over, True) / many
    free = many - (1 if correction is None else correction)
    return (apart * apart).sum(over, keepdim) / free


def _stretch(x: Tensor, size, stride, offset=None) -> Any:
    """A piece of a vector, as `split` cuts it."""
    plain = x.ndim == 1 and list(stride) == [1] and not x.storage_offset()
    return x.narrow(0, offset or 0, size[0]) if plain else NotImplemented


_TABLE: dict[Any, Callable] = {
    **get_decompositions(_WRITTEN_OUT),
    aten.var.correction: _var,
    aten.std.correction: lambda *given, **how: _var(*given, **how).sqrt(),
    aten.as_strided.default: _stretch,
    aten.xlogy.Tensor: lambda x, y: torch.where(x == 0, 0.0, x * y.log()),
    aten._foreach_add.List: _each(torch.add),
    aten._foreach_add.Scalar: _each(torch.add),
    aten._foreach_mul.Scalar: _each(torch.mul),
    aten._foreach_div.List: _each(torch.div),
    aten._foreach_sqrt.default: _each(torch.sqrt),
    aten._foreach_addcmul.Scalar: lambda xs, ys, zs, value=1: [
        x + value * y * z for x, y, z in zip(xs, ys, zs, strict=True)
    ],
    aten._foreach_copy.default: lambda xs, ys, non_blocking=False: [y + 0 for y in ys],
}
_NEW = {"ones_like", "zeros_like", "new_zeros", "new_ones", "new_full", "full_like"}
_SAME = {"alias", "detach", "clone", "lift_fresh_copy", "lift_fresh"}
_PERHAPS = {"view", "_unsafe_view", "reshape", "expand", "slice", "squeeze"}
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "div": 1, "pow": 1}
_LOOKS = (
    "data-dependent", "value out of a tracing tensor", "Tensor.item", ".item() on a",
)  # fmt: skip


@contextmanager
def undecided(what: str) -> Iterator[None]:
    """Refuse what looks at a number, which PyTorch says in several ways."""
    try:
        yield
    except RuntimeError as error:
        if not any(text in str(error) for text in _LOOKS):
            raise
        raise InputError(
            f"{what} cannot be traced: it looks at a number and decides by it"
        ) from error


def graph_of(f: Callable, examples: Sequence[Tensor]) -> GraphModule:
    """f as a graph of aten operations, none of them in place."""

    def own() -> list[Tensor]:  # expanded examples refuse to be written to
        return [v.clone(memory_format=torch.contiguous_format) for v in examples]

    with tracing(TracingContext(FakeTensorMode())):  # or each value makes a mode anew
        once = make_fx(f)(*own())
        pure = functionalize(once, remove="mutations")
        made = make_fx(pure, decomposition_table=_TABLE)(*own())
    return _simplified(made, own())


def name_of(node: Node) -> str:
    """The operation of a node, without its variant."""
    plain = getattr(node.target, "__name__", "")
    return getattr(node.target, "_opname", plain)


def _simplified(made: GraphModule, inputs: list[Tensor]) -> GraphModule:
    """The graph with what is known computed, and without what changes nothing."""
    graph, value, known = made.graph, dict[Node, Any](), set[Node]()
    holders = [n for n in graph.nodes if n.op == "placeholder"]
    value.update(zip(holders, inputs, strict=True))
    for node in list(graph.nodes):
        if node.op == "get_attr":
            value[node] = getattr(made, str(node.target))
            known.add(node)
        if node.op != "call_function":
            continue
        if name_of(node) == "copy_":  # whoever runs the graph writes to its inputs
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
            continue
        given = torch.fx.map_arg((node.args, node.kwargs), lambda n: value[n])
        value[node] = out = node.target(*given[0], **given[1])
        fixed = all(n in known for n in node.all_input_nodes)
        if isinstance(out, Tensor) and (fixed or name_of(node) in _NEW):
            same = _constant(made, node, out)
            value[same] = out
            known.add(same)
        else:
            same = _unchanged(node, given[0], out, known)
        if same is not None:
            node.replace_all_uses_with(same)
            graph.erase_node(node)
    graph.eliminate_dead_code()
    graph.lint()
    made.recompile()
    return made


def _constant(made: GraphModule, node: Node, out: Tensor) -> Node:
    name = f"known_{node.name}"
    made.register_buffer(name, out.clone())
    with made.graph.inserting_before(node):
        return made.graph.get_attr(name)


def _unchanged(node: Node, args: tuple, out: Any, known: set[Node]) -> Any:
    """The node that this one equals, if it changes nothing."""
    name, a = name_of(node), node.args
    if name in _SAME:
        return a[0]
    if name in ("copy", "slice_scatter") and args[0].shape == args[1].shape:
        return a[1]
    if name in _PERHAPS and out.shape == args[0].shape:
        return a[0]
    if name == "permute" and list(args[1]) == sorted(args[1]):
        return a[0]
    if name in _NEUTRAL and not isinstance(args[1], Tensor):
        alike = args[1] == _NEUTRAL[name] and out.shape == args[0].shape
        return a[0] if alike and out.dtype == args[0].dtype else None
    if name == "_to_copy" and args[0].dtype == out.dtype:
        return a[0]
    if name == "index_select" and a[2] in known:
        everything = torch.arange(args[0].shape[args[1]])
        return a[0] if torch.equal(args[2], everything) else None
    return None

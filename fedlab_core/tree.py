"""Algebra on parameter dicts, with or without a leading client axis.

A tree is a plain `dict[str, Tensor]`. A *stacked* tree is the same dict with one more
axis in front of every tensor: client 0's parameters, client 1's, and so on.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fedlab_core.errors import InputError

Tree = dict[str, Tensor]
CONTIGUOUS = torch.contiguous_format


def tree_map(function: Callable[..., Tensor], *trees: Tree) -> Tree:
    """Apply a function to the tensors of the same name."""
    for tree in trees[1:]:
        if lost := sorted(trees[0].keys() - tree.keys()):
            has = ", ".join(sorted(tree.keys() - trees[0].keys())) or "no other name"
            raise InputError(f"a tree lacks {', '.join(lost)}, but has {has}")
    return {name: function(*(tree[name] for tree in trees)) for name in trees[0]}


def add(a: Tree, b: Tree, scale: float = 1.0) -> Tree:
    """a + scale * b."""
    return tree_map(lambda x, y: x + scale * y, a, b)


def scale(tree: Tree, factor: float) -> Tree:
    """factor * tree."""
    return tree_map(lambda x: factor * x, tree)


def mix(a: Tree, b: Tree, r: float) -> Tree:
    """(1 - r) * a + r * b, the straight line from a (r = 0) to b (r = 1)."""
    return tree_map(lambda x, y: (1 - r) * x + r * y, a, b)


def copied(tree: Tree) -> Tree:
    """The same numbers in memory of their own."""
    return {name: x.clone(memory_format=CONTIGUOUS) for name, x in tree.items()}


def stack(trees: Sequence[Tree]) -> Tree:
    """One tree with a client axis from several without."""
    return tree_map(lambda *xs: torch.stack(xs), *trees)


def concat(trees: Sequence[Tree]) -> Tree:
    """Several stacked trees as one, one cohort after another; one is left as it is."""
    if len(trees) == 1:
        return trees[0]
    return tree_map(lambda *xs: torch.cat(xs), *trees)


def clients_of(stacked: Tree) -> int:
    """How many clients a stacked tree has."""
    return len(next(iter(stacked.values()), ()))


def check_shapes(tree: Tree, like: Tree, must: str, rows: int | None = None) -> None:
    """Refuse a tree unless it has the names and shapes of another, or rows of them.

    `must` begins what is said ("start must be"); the tensors that differ follow.
    """
    if tree is like and rows is None:
        return
    axis = () if rows is None else (rows,)
    wanted = {name: (*axis, *x.shape) for name, x in like.items()}
    given = {name: tuple(x.shape) for name, x in tree.items()}
    if not wanted or wanted != given:
        lacks = {n: shape for n, shape in wanted.items() if given.get(n) != shape}
        has = {n: shape for n, shape in given.items() if wanted.get(n) != shape}
        raise InputError(f"{must} {lacks}, not {has}")


def repeat(tree: Tree, clients: int) -> Tree:
    """The same tree for every client, without copying memory."""
    return tree_map(lambda x: x.expand(clients, *x.shape), tree)


def take(stacked: Tree, index) -> Tree:
    """Rows of a stacked tree: an integer drops the client axis, a list keeps it."""
    return tree_map(lambda x: x[index], stacked)


def as_slice(rows: list[int]) -> slice | list[int]:
    """Rows one after another as a slice, with which `take` copies nothing."""
    run = slice(rows[0], rows[-1] + 1)
    return run if rows == list(range(run.start, run.stop)) else rows


def nest(prefix: str, tree: Tree) -> Tree:
    """The same under "prefix.NAME", to keep or send several trees as one."""
    return {f"{prefix}.{name}": x for name, x in tree.items()}


def subtree(tree: Tree, prefix: str) -> Tree:
    """The tree that `nest` put under that prefix, by its own names."""
    inside = {n: x for n, x in tree.items() if n.startswith(f"{prefix}.")}
    return {n.removeprefix(f"{prefix}."): x for n, x in inside.items()}


def weighted_sum(stacked: Tree, weights: Tensor) -> Tree:
    """sum_k weights[k] * tree_k. The weights are used as given, not normalised."""

    def add_up(x: Tensor) -> Tensor:
        row = weights.to(x.device, x.dtype)[None]
        return (row @ x.reshape(len(x), x[0].numel())).view(x.shape[1:])

    return tree_map(add_up, stacked)


def flatten(tree: Tree, client_axis: bool = False) -> Tensor:
    """All numbers of a tree as one vector, or one row a client."""
    start = 1 if client_axis else 0
    parts = [
        x.flatten(start) if x.ndim > start else x.unsqueeze(-1) for x in tree.values()
    ]
    return torch.cat(parts, dim=-1)


def as_tree(vector: Tensor, like: Tree) -> Tree:
    """A vector cut into the shapes of a tree: undoes `flatten`."""
    pieces = vector.split([v.numel() for v in like.values()])
    return {n: p.view_as(v) for (n, v), p in zip(like.items(), pieces, strict=True)}


def norm(tree: Tree) -> Tensor:
    """Euclidean norm of all numbers of a tree."""
    return torch.linalg.vector_norm(flatten(tree))


def count(tree: Tree) -> int:
    """How many numbers a tree holds."""
    return sum(x.numel() for x in tree.values())


def is_finite(tree: Tree) -> bool:
    """Whether no number of the tree is infinite or NaN."""
    return all(bool(torch.isfinite(x).all()) for x in tree.values())


def with_grad(tree: Tree) -> Tree:
    """The same numbers, as what a gradient is taken with respect to."""
    return {name: x.detach().requires_grad_() for name, x in tree.items()}


def gradient(value: Tensor, at: Tree, create_graph: bool = False) -> Tree:
    """The gradient of a number with respect to a tree `with_grad`; 0 where none.

    `torch.func.grad` says the same, but loads PyTorch's compiler to do so: a second
    and a half of a process that may not live for twenty.
    """
    found = torch.autograd.grad(
        value, list(at.values()), create_graph=create_graph, materialize_grads=True
    )
    return dict(zip(at, found, strict=True))

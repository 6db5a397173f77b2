"""A step of SGD, RMSProp or Adam, in place, and a client's memory of its steps.

A memory is three trees. "velocity" is the momentum, RMSProp's mean of squares or Adam's
of gradients; "squares" and "count", Adam's mean of squares and its number of steps.
"""

# pyright: reportPrivateImportUsage=false
# torch._foreach_* work on many tensors in one call; torch.optim is built on them.

import math

import torch
from torch import Tensor

from fedlab_core.client import Training
from fedlab_core.tree import Tree

MEMORY = ("velocity", "squares", "count")
_EPSILON = 1e-8  # of RMSProp and Adam, as in PyTorch
Memory = dict[str, Tree]
Many = list[Tensor] | tuple[Tensor, ...]


def at_rest(params: Tree, training: Training, clients: bool) -> Memory:
    """The memory before a first step; its trees are empty where nothing is kept."""
    memory: Memory = {kind: {} for kind in MEMORY}
    adam = training.adam is not None
    if training.momentum or training.rmsprop is not None or adam:
        memory["velocity"] = {n: torch.zeros_like(w) for n, w in params.items()}
    if adam:
        memory["squares"] = {n: torch.zeros_like(w) for n, w in params.items()}
        w = next(iter(params.values()))
        memory["count"] = {"steps": w.new_zeros(w.shape[:1] if clients else ())}
    return memory


def shape_like(value: Tensor, w: Tensor) -> Tensor:
    """One number a client, ready to multiply a stacked tensor."""
    return value.reshape(value.shape + (1,) * (w.ndim - value.ndim))


def descend(
    params: Tree,
    grads: Tree,
    memory: Memory,
    lr: Tensor | float,
    training: Training,
    active: Tensor | None = None,
    push: Tree | None = None,
) -> None:
    """One step, in place, on tensors with or without a client axis.

    Clients that are not `active` keep their parameters and their memory. What `push`
    holds is added to the step.
    """
    ws, moves = list(params.values()), list(grads.values())
    decay, apart = training.weight_decay, training.decoupled
    if decay and not apart:
        moves = torch._foreach_add(moves, ws, alpha=decay)
    if memory["velocity"]:
        kept = [v for kind in MEMORY for v in memory[kind].values()]
        before = None if active is None else [v.clone() for v in kept]
        moves = _direction(moves, memory, training)
        if active is not None and before is not None:
            torch._foreach_copy_(kept, _where(active, kept, before))
    if decay and apart:
        moves = torch._foreach_add(moves, ws, alpha=decay)
    if push:
        moves = torch._foreach_add(moves, list(push.values()))
    if not isinstance(lr, Tensor) and active is None:
        torch._foreach_add_(ws, moves, alpha=-lr)
        return
    rates = [shape_like(lr.to(w), w) if isinstance(lr, Tensor) else lr for w in ws]
    new = [w - rate * move for w, rate, move in zip(ws, rates, moves, strict=True)]
    torch._foreach_copy_(ws, new if active is None else _where(active, new, ws))


def _direction(moves: Many, memory: Memory, training: Training) -> Many:
    """The direction of a step, once the memory has taken the gradient in."""
    vs = list(memory["velocity"].values())
    if training.adam is not None:
        return _adam(moves, vs, memory, training.adam)
    if training.rmsprop is None:
        torch._foreach_mul_(vs, training.momentum)
        torch._foreach_add_(vs, moves)
        return vs
    torch._foreach_mul_(vs, training.rmsprop)
    torch._foreach_addcmul_(vs, moves, moves, value=1 - training.rmsprop)
    roots = torch._foreach_add(torch._foreach_sqrt(vs), _EPSILON)
    return torch._foreach_div(moves, roots)


def _adam(moves: Many, means: Many, memory: Memory, betas: tuple[float, float]) -> Many:
    """Adam's step: both means, each over how much of its weight is there by now."""
    squares = list(memory["squares"].values())
    (count,) = memory["count"].values()
    count.add_(1)
    torch._foreach_lerp_(means, moves, 1 - betas[0])
    torch._foreach_mul_(squares, betas[1])
    torch._foreach_addcmul_(squares, moves, moves, value=1 - betas[1])
    # 1 - beta^t, in float32 as exact for a first step as for a late one
    logs = (math.log(beta) if beta else -math.inf for beta in betas)
    first, second = (-torch.expm1(count * log) for log in logs)
    roots = torch._foreach_div(
        torch._foreach_sqrt(squares), [shape_like(second.sqrt(), v) for v in squares]
    )
    tops = torch._foreach_div(means, [shape_like(first, v) for v in means])
    return torch._foreach_div(tops, torch._foreach_add(roots, _EPSILON))


def _where(active: Tensor, new: list[Tensor], old: list[Tensor]) -> list[Tensor]:
    return [
        torch.where(shape_like(active, a), a, b) for a, b in zip(new, old, strict=True)
    ]

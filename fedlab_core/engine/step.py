"""What both engines share: the step of SGD, and what a client keeps for itself."""

# pyright: reportPrivateImportUsage=false
# torch._foreach_* work on many tensors in one call; torch.optim is built on them.

from collections.abc import Callable

import torch
from torch import Tensor

from fedlab_core.client.local import ClientInput, Local
from fedlab_core.engine.network import Network
from fedlab_core.tree import Tree

# What the engine keeps in a client's memory beside what its rule keeps there.
_VELOCITY, _STATISTICS = "velocity/", "statistics/"
_EPSILON = 1e-8  # of RMSProp, as in PyTorch


def first_memories(network: Network, local: Local, given: ClientInput) -> Tree:
    """What clients keep before they first take part, row by row."""
    params, buffers = network.split(given.start)
    memory: Tree = {}
    if local.memory:
        memory = dict(torch.vmap(local.memory)(given.start, given.broadcast))
    if local.keep_velocity:
        memory |= {_VELOCITY + n: torch.zeros_like(w) for n, w in params.items()}
    if local.statistics == "local":
        memory |= {_STATISTICS + n: b for n, b in buffers.items()}
    return memory


def unpack(memory: Tree, params: Tree, local: Local) -> tuple[Tree, Tree, Tree]:
    """The rule's own memory, the velocity to begin with, and the statistics kept."""
    own = {n: v for n, v in memory.items() if "/" not in n}
    velocity = _named(memory, _VELOCITY)
    if (local.momentum or local.rmsprop is not None) and not velocity:
        velocity = {n: torch.zeros_like(w) for n, w in params.items()}
    return own, velocity, _named(memory, _STATISTICS)


def pack(own: Tree, velocity: Tree, buffers: Tree, local: Local) -> Tree:
    """The memory to keep, from its three parts."""
    memory = dict(own)
    if local.keep_velocity:
        memory |= {_VELOCITY + n: v for n, v in velocity.items()}
    if local.statistics == "local":
        memory |= {_STATISTICS + n: b for n, b in buffers.items()}
    return memory


def _named(memory: Tree, prefix: str) -> Tree:
    mine = {n: v for n, v in memory.items() if n.startswith(prefix)}
    return {n.removeprefix(prefix): v for n, v in mine.items()}


def shape_like(value: Tensor, w: Tensor) -> Tensor:
    """One number a client, ready to multiply a stacked tensor."""
    return value.reshape(value.shape + (1,) * (w.ndim - value.ndim))


def clipped(grads: Tree, most: float, clients: bool) -> Tree:
    """Each client's gradient, no longer than `most`, as PyTorch's clip_grad_norm_."""
    axes = 1 if clients else 0
    squares = [g.square().sum(tuple(range(axes, g.ndim))) for g in grads.values()]
    factor = (most / (torch.stack(squares).sum(0).sqrt() + 1e-6)).clamp(max=1)
    return {n: g * shape_like(factor, g) for n, g in grads.items()}


def descend(
    params: Tree,
    grads: Tree,
    velocity: Tree,
    lr: Tensor | float,
    local: Local,
    active: Tensor | None = None,
    push: Tree | None = None,
) -> None:
    """One step of SGD, in place, on tensors with or without a client axis.

    Clients that are not `active` keep their parameters and their velocity. What
    `push` holds is added to the step.
    """
    ws, moves = list(params.values()), list(grads.values())
    if local.weight_decay:
        moves = torch._foreach_add(moves, ws, alpha=local.weight_decay)
    if velocity:
        vs = list(velocity.values())
        before = None if active is None else [v.clone() for v in vs]
        if local.rmsprop is None:
            torch._foreach_mul_(vs, local.momentum)
            torch._foreach_add_(vs, moves)
            moves_now = vs
        else:
            torch._foreach_mul_(vs, local.rmsprop)
            torch._foreach_addcmul_(vs, moves, moves, value=1 - local.rmsprop)
            roots = torch._foreach_add(torch._foreach_sqrt(vs), _EPSILON)
            moves_now = torch._foreach_div(moves, roots)
        if active is not None and before is not None:
            torch._foreach_copy_(vs, _where(active, vs, before))
        moves = moves_now
    if push:
        moves = torch._foreach_add(moves, list(push.values()))
    if not isinstance(lr, Tensor) and active is None:
        torch._foreach_add_(ws, moves, alpha=-lr)
        return
    rates = [shape_like(lr.to(w), w) if isinstance(lr, Tensor) else lr for w in ws]
    new = [w - rate * move for w, rate, move in zip(ws, rates, moves, strict=True)]
    torch._foreach_copy_(ws, new if active is None else _where(active, new, ws))


def overwrite(old: Tree, new: Tree, active: Tensor | None) -> None:
    """Write what is new in place, for the clients that are active."""
    for name, v in new.items():
        kept = v if active is None else torch.where(shape_like(active, v), v, old[name])
        old[name].copy_(kept)


def _where(active: Tensor, new: list[Tensor], old: list[Tensor]) -> list[Tensor]:
    return [
        torch.where(shape_like(active, a), a, b) for a, b in zip(new, old, strict=True)
    ]


def corrected(
    local: Local, grads: Tree, params: Tree, given: ClientInput, clients: bool
) -> Tree:
    """What the rule's correction and clipping make of a gradient."""
    if local.gradient:
        rule = over_clients(local.gradient) if clients else local.gradient
        grads = rule(grads, params, given)
    return clipped(grads, local.clip, clients) if local.clip else grads


def pushed(
    local: Local, params: Tree, given: ClientInput, clients: bool
) -> Tree | None:
    """What the rule adds to a step after momentum."""
    if not local.push:
        return None
    rule = over_clients(local.push) if clients else local.push
    return rule(params, given)


def remembered(
    local: Local,
    own: Tree,
    params: Tree,
    given: ClientInput,
    steps: Tensor,
    lr_sum: Tensor,
    clients: bool,
) -> Tree:
    """The rule's memory after the round; a client without a step keeps what it had."""
    if not local.finish:
        return own
    rule = over_clients(local.finish) if clients else local.finish
    changes = rule(params, given, steps, lr_sum)
    return own | {
        n: torch.where(shape_like(steps > 0, v), v, own[n]) for n, v in changes.items()
    }


def over_clients(rule: Callable[..., Tree]) -> Callable[..., Tree]:
    """A rule of one client, `ClientInput` its third or second argument, for all of them."""

    def run(*arguments):
        at = next(i for i, a in enumerate(arguments) if isinstance(a, ClientInput))
        given = arguments[at]

        def one(start, memory, sent, *rest):
            here = ClientInput(start, memory, sent)
            return rule(*rest[:at], here, *rest[at:])

        rest = (*arguments[:at], *arguments[at + 1 :])
        return torch.vmap(one)(given.start, given.memory, given.sent, *rest)

    return run

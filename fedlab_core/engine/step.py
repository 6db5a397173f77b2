"""A step's loss and gradient, a client's state and upload, for both engines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedlab_core.arguments.annotations import shown
from fedlab_core.client import Batch, ClientInput, Rule, Training
from fedlab_core.engine.optimizers import MEMORY, Memory, at_rest, shape_like
from fedlab_core.errors import InputError, require
from fedlab_core.models.losses import name_of
from fedlab_core.models.network import Network, float_like
from fedlab_core.tree import Tree, check_shapes

# What the engine keeps in a client's state beside what its rule keeps there.
# The memory of its steps has a name a tree, as in `optimizers`.
_STATISTICS = "statistics/"
Hook = Callable[..., Any]
Gave = tuple[Tree, Tree, Tree, Tensor]  # models, states, uploads, mean losses


@dataclass(frozen=True, eq=False)
class Task:
    """A cohort's task: the network, all clients' samples, and how to train."""

    network: Network
    x: Tensor
    y: Tensor
    training: Training
    rule: Rule


def first_states(
    network: Network, training: Training, rule: Rule, given: ClientInput
) -> Tree:
    """The state of clients before they first take part, a row a client."""
    params, buffers = network.split(given.start)
    state: Tree = {}
    if rule.begin:
        begin = promised("begin", rule.begin)
        state = dict(torch.vmap(begin)(given.start, given.broadcast))
        ours = ", ".join(n for n in state if "/" in n)
        require(not ours, f"begin gives {ours}: names with a / are the engine's")
    memory = at_rest(params, training, True) if training.keep_velocity else {}
    return pack(state, memory, buffers, training)


def unpack(
    state: Tree, params: Tree, training: Training, clients: bool
) -> tuple[Tree, Memory, Tree]:
    """The rule's own state, the memory to begin with, and the statistics kept."""
    own = {n: v for n, v in state.items() if "/" not in n}
    memory = {kind: _named(state, f"{kind}/") for kind in MEMORY}
    if not any(memory.values()):
        memory = at_rest(params, training, clients)
    return own, memory, _named(state, _STATISTICS)


def pack(own: Tree, memory: Memory, buffers: Tree, training: Training) -> Tree:
    """The state to keep, from its three parts."""
    state = dict(own)
    for kind, tree in memory.items() if training.keep_velocity else ():
        state |= {f"{kind}/{n}": v for n, v in tree.items()}
    if training.statistics == "local":
        state |= {_STATISTICS + n: b for n, b in buffers.items()}
    return state


def _named(state: Tree, prefix: str) -> Tree:
    mine = {n: v for n, v in state.items() if n.startswith(prefix)}
    return {n.removeprefix(prefix): v for n, v in mine.items()}


def clipped(grads: Tree, most: float, clients: bool) -> Tree:
    """Each client's gradient, no longer than `most`, as PyTorch's clip_grad_norm_."""
    axes = 1 if clients else 0
    squares = [g.square().sum(tuple(range(axes, g.ndim))) for g in grads.values()]
    factor = (most / (torch.stack(squares).sum(0).sqrt() + 1e-6)).clamp(max=1)
    return {n: g * shape_like(factor, g) for n, g in grads.items()}


def overwrite(old: Tree, new: Tree, active: Tensor | None) -> None:
    """Write what is new in place, for the clients that are active."""
    for name, v in new.items():
        kept = v if active is None else torch.where(shape_like(active, v), v, old[name])
        old[name].copy_(kept)


def value_of(
    task: Task, params: Tree, buffers: Tree, batch: Batch, given: ClientInput
) -> tuple[Tensor, Tree, Tree]:
    """One client's loss, the buffers after it, and what changes in its state.

    A batch without padding has no weights: empty.
    """
    full = batch
    if not batch.weight.numel():
        n, like = len(batch.x), float_like(batch.x, params)
        full = Batch(batch.x, batch.y, like.new_full((n,), 1 / n), batch.key)
    kind = batch.x.device.type
    with (
        task.network.training_on(params, buffers, batch.weight, batch.key) as bound,
        torch.autocast(kind, torch.bfloat16, task.network.bf16, cache_enabled=False),
    ):
        found = task.rule.loss(task.network, params, full, given)
    number, changes = found if isinstance(found, tuple) else (found, {})
    if not isinstance(number, Tensor) or number.shape:
        raise InputError(f"loss {name_of(task.rule.loss)} must give one number")
    new = sorted(set(changes) - set(given.state))
    require(not new, f"loss changes the state {new}, which begin does not know")
    return number, bound.buffers, {n: x.detach() for n, x in changes.items()}


def taken(x: Tensor, at: Tensor) -> Tensor:
    """x[at], in a third of the time."""
    return x.index_select(0, at.flatten()).view(*at.shape, *x.shape[1:])


def drawn(training: Training, marks: Tensor, size: int) -> Tree:
    """Augmentation's draws for all steps at once, if it can draw ahead."""
    draw = getattr(training.augment, "drawn", None)
    return {"drawn": draw(marks, size)} if draw else {}


def augmented(
    training: Training, x: Tensor, mark: Tensor, drawn: Tensor | None
) -> Tensor:
    """A step's images as augmentation makes them."""
    augment: Any = training.augment
    if augment is None:
        return x
    return augment(x, mark) if drawn is None else augment.moved(x, drawn)


def corrected(
    task: Task, grads: Tree, params: Tree, given: ClientInput, clients: bool
) -> Tree:
    """The gradient after the rule's `gradient` and clipping."""
    hook, most = task.rule.gradient, task.training.clip
    if hook:
        changed = promised("gradient", hook, clients)(grads, params, given)
        check_shapes(changed, params, f"gradient {name_of(hook)} must give")
        grads = changed
    return clipped(grads, most, clients) if most else grads


def pushed(rule: Rule, params: Tree, given: ClientInput, clients: bool) -> Tree | None:
    """The term that the rule adds to a step after momentum; None if it has none."""
    if not rule.push:
        return None
    push = promised("push", rule.push, clients)(params, given)
    check_shapes(push, params, f"push {name_of(rule.push)} must give")
    return push


def finished(
    rule: Rule,
    params: Tree,
    given: ClientInput,
    steps: Tensor,
    lr_sum: Tensor,
    clients: bool,
) -> tuple[Tree, Tree]:
    """The rule's state after the round, and the upload.

    A client without a step keeps the state that it had.
    """
    own = given.state
    if not rule.finish:
        return own, {}
    hook = promised("finish", rule.finish, clients, 2)
    state, upload = hook(params, given, steps, lr_sum)
    new, sent = sorted(set(state) - set(own)), {n.split(".")[0] for n in upload}
    require(not new, f"finish gives the state {new}, which begin does not know")
    undeclared = ", ".join(sorted(sent - set(rule.sends)))
    require(not undeclared, f"finish sends {undeclared}, which `sends` does not name")
    stayed = {
        n: torch.where(shape_like(steps > 0, v), v, own[n]) for n, v in state.items()
    }
    return stayed, upload


def promised(name: str, hook: Hook, clients: bool = False, trees: int = 1) -> Hook:
    """The hook, for all clients or one, held to giving tensors by name."""

    def run(*arguments: Any) -> Any:
        made = hook(*arguments)
        every = made if trees > 1 and isinstance(made, tuple) else (made,)
        good = len(every) == trees and all(isinstance(t, Mapping) for t in every)
        good = good and all(isinstance(v, Tensor) for t in every for v in t.values())
        if not good:  # said only then: to show tensors costs more than to make them
            must = "twice tensors by name" if trees > 1 else "tensors by name"
            fault = f"{name} {name_of(hook)} must give {must}, not {shown(made)}"
            raise InputError(fault)
        return made

    run.__name__ = name_of(hook)
    return over_clients(run) if clients else run


def over_clients(hook: Hook) -> Hook:
    """A hook of one client, its `ClientInput` wherever it comes, for all of them."""

    def run(*arguments):
        at = next(i for i, a in enumerate(arguments) if isinstance(a, ClientInput))
        given = arguments[at]

        def one(start, state, broadcast, *rest):
            here = ClientInput(start, state, broadcast)
            return hook(*rest[:at], here, *rest[at:])

        rest = (*arguments[:at], *arguments[at + 1 :])
        return torch.vmap(one)(given.start, given.state, given.broadcast, *rest)

    return run

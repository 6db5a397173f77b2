"""One client after another: an ordinary PyTorch loop, on every core.

On a CPU each core trains a client of its own, which wastes less than sharing every
operation does; images are laid out channels last, which its convolutions prefer.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue

import torch
from torch import Tensor

from fedlab_core.client import Batch, ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.optimizers import descend
from fedlab_core.engine.plan import Plan
from fedlab_core.models.network import Network, float_like
from fedlab_core.tree import copied, stack

_LAST = torch.channels_last


def train_looped(task: one.Task, plan: Plan, given: ClientInput) -> one.Gave:
    """The cohort's models, what each client keeps and sends, and mean losses."""
    network, x = task.network, task.x
    clients = len(plan.steps)
    cores = torch.get_num_threads()
    workers = min(cores, clients) if x.device.type == "cpu" else 1
    networks: SimpleQueue[Network] = SimpleQueue()
    for one_of_them in network.copies(workers):
        if _channels_last(network, x):
            one_of_them.model.to(memory_format=_LAST)  # pyright: ignore
        networks.put(one_of_them)

    models = {n: torch.empty(w.shape).to(w) for n, w in given.start.items()}
    rest: dict[int, list] = {}

    def train(k: int) -> None:
        network = networks.get()
        try:
            with torch.enable_grad():
                mine = replace(task, network=network)
                model, *rest[k] = _train_one(mine, plan, k, given.of(k))
            for name, w in model.items():
                models[name][k] = w
        finally:
            networks.put(network)

    longest_first = plan.steps.argsort(descending=True, stable=True).tolist()
    if workers == 1:
        for k in longest_first:
            train(k)
    else:
        try:
            with ThreadPoolExecutor(workers, initializer=_alone) as pool:
                list(pool.map(train, longest_first))
        finally:
            torch.set_num_threads(cores)
    kept, sent, losses = zip(*(rest[k] for k in range(clients)), strict=True)
    return models, stack(kept), stack(sent), torch.stack(losses)


def _alone() -> None:
    torch.set_num_threads(1)


def _channels_last(network: Network, x: Tensor) -> bool:
    short = network.bf16 or torch.get_float32_matmul_precision() == "high"
    liked = x.device.type == "cpu" or short  # as a GPU's short arithmetic does
    return network.has_convolutions and x.ndim == 4 and liked


def _train_one(task: one.Task, plan: Plan, k: int, given: ClientInput) -> one.Gave:
    network, training, rule = task.network, task.training, task.rule
    live = network.live
    begun, buffers = network.split(given.start)
    with torch.no_grad():
        for name, w in live.items():
            w.copy_(begun[name])
    own, memory, kept = one.unpack(given.state, begun, training, clients=False)
    buffers |= kept
    memory = {kind: copied(tree) for kind, tree in memory.items()}
    steps, real = int(plan.steps[k]), plan.real[:, k].tolist()
    at, marks = plan.at[:, k].to(task.x.device), plan.marks(k).to(task.x.device)
    format = _LAST if _channels_last(network, task.x) else torch.preserve_format
    like = float_like(task.x, live)
    none, total = like.new_zeros(0), like.new_zeros(())
    moves = one.drawn(training, marks, plan.at.shape[2]).get("drawn")
    names, ws = list(live), list(live.values())
    given = ClientInput(given.start, own, given.broadcast)
    for t in range(steps):
        here, mark = at[t, : real[t]], marks[t]
        move = None if moves is None else moves[t, : real[t]]
        images = one.augmented(training, one.taken(task.x, here), mark, move)
        images = images.contiguous(memory_format=format)
        batch = Batch(images, one.taken(task.y, here), none, mark)
        loss, buffers, changes = one.value_of(task, live, buffers, batch, given)
        found = torch.autograd.grad(loss, ws, materialize_grads=True)
        grads = dict(zip(names, found, strict=True))
        with torch.no_grad():
            grads = one.corrected(task, grads, live, given, clients=False)
            lr = float(plan.lr[t, k]) if isinstance(plan.lr, Tensor) else plan.lr
            push = one.pushed(rule, live, given, clients=False)
            descend(live, grads, memory, lr, training, push=push)
        if changes:
            given = ClientInput(given.start, given.state | changes, given.broadcast)
        total += loss.detach()
    with torch.no_grad():
        params = {n: w.detach() for n, w in live.items()}
        count, lr_sum = plan.steps[k].to(task.x.device), plan.lr_sum[k].to(total)
        own, upload = one.finished(rule, params, given, count, lr_sum, clients=False)
    kept = one.pack(own, memory, buffers, training)
    # copies, as the live parameters go on to train the next client
    return params | buffers, copied(kept), copied(upload), total / max(steps, 1)

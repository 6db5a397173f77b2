"""One client after another: an ordinary PyTorch loop, on every core.

On a CPU each core trains a client of its own, which wastes less than sharing every
operation does; images are laid out channels last, which its convolutions prefer.
"""

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import torch
from torch import Tensor

from fedlab_core.client.local import Batch, ClientInput, Local
from fedlab_core.engine import step as one
from fedlab_core.engine.network import Network, numbers
from fedlab_core.engine.plan import Plan
from fedlab_core.tree import Tree, copied, stack

_LAST = torch.channels_last


def train_looped(
    network: Network,
    x: Tensor,
    y: Tensor,
    plan: Plan,
    given: ClientInput,
    local: Local,
) -> tuple[Tree, Tree, Tensor]:
    """The cohort's states, memories and mean losses."""
    clients = len(plan.steps)
    cores = torch.get_num_threads()
    workers = min(cores, clients) if x.device.type == "cpu" else 1
    networks: SimpleQueue[Network] = SimpleQueue()
    for one_of_them in network.copies(workers):
        if _channels_last(network, x):
            one_of_them.model.to(memory_format=_LAST)  # pyright: ignore
        networks.put(one_of_them)

    states = {n: torch.empty(w.shape).to(w) for n, w in given.start.items()}
    kept: dict[int, tuple[Tree, Tensor]] = {}

    def train(k: int) -> None:
        network = networks.get()
        try:
            with torch.enable_grad():
                done = _train_one(network, x, y, plan, k, given.of(k), local)
            state, memory, loss = done
            for name, w in state.items():
                states[name][k] = w
            kept[k] = memory, loss
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
    memories, losses = zip(*(kept[k] for k in range(clients)), strict=True)
    return states, stack(memories), torch.stack(losses)


def _alone() -> None:
    torch.set_num_threads(1)


def _channels_last(network: Network, x: Tensor) -> bool:
    return network.has_convolutions and x.ndim == 4 and x.device.type == "cpu"


def _train_one(
    network: Network,
    x: Tensor,
    y: Tensor,
    plan: Plan,
    k: int,
    given: ClientInput,
    local: Local,
) -> tuple[Tree, Tree, Tensor]:
    live = network.live
    begun, buffers = network.split(given.start)
    with torch.no_grad():
        for name, w in live.items():
            w.copy_(begun[name])
    own, velocity, kept = one.unpack(given.state, begun, local)
    buffers |= kept
    velocity = {n: v.clone() for n, v in velocity.items()}
    steps, real = int(plan.steps[k]), plan.real[:, k].tolist()
    at, marks = plan.at[:, k].to(x.device), plan.marks(k).to(x.device)
    format = _LAST if _channels_last(network, x) else torch.preserve_format
    like = numbers(x, live)
    none, total = like.new_zeros(0), like.new_zeros(())
    names, ws = list(live), list(live.values())
    given = ClientInput(given.start, own, given.broadcast)
    for t in range(steps):
        here, mark = at[t, : real[t]], marks[t]
        images = x[here]
        if local.augment:
            images = local.augment(images, mark)
        batch = Batch(images.contiguous(memory_format=format), y[here], none, mark)
        loss, buffers, changes = network.value(local.loss, live, buffers, batch, given)
        found = torch.autograd.grad(loss, ws, materialize_grads=True)
        grads = dict(zip(names, found, strict=True))
        with torch.no_grad():
            grads = one.corrected(local, grads, live, given, clients=False)
            lr = float(plan.lr[t, k]) if isinstance(plan.lr, Tensor) else plan.lr
            push = one.pushed(local, live, given, clients=False)
            one.descend(live, grads, velocity, lr, local, push=push)
        if changes:
            given = ClientInput(given.start, given.state | changes, given.broadcast)
        total += loss.detach()
    with torch.no_grad():
        params = {n: w.detach() for n, w in live.items()}
        count, lr_sum = plan.steps[k].to(x.device), plan.lr_sum[k].to(total)
        own = one.remembered(local, given.state, params, given, count, lr_sum, False)
    memory = copied(one.pack(own, velocity, buffers, local))  # not the live parameters
    return params | buffers, memory, total / max(steps, 1)

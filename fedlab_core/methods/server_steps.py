"""A server that trains on data of its own: its mini-batches, and gradients on them.

FedLAW, FedDF, FedBE and Server-FT train with it. The order of the mini-batches and what
a Dropout draws come from the round's key, with a number that no client has.

How the last three train (`Fit`), where FedLAW, whose baselines they are, differs:
1. Its App. D.6 trains with Adam, betas (.5, .999): `optimiser="adam"`; no learning rate
   is given, and .001 is PyTorch's. Its code, and so its tables, use the server's SGD of
   rate .08, momentum .9 and weight decay .0005, as clients do: `"sgd"`, the default.
2. That SGD is made once, so its velocity goes on from round to round, even though the
   model begins anew: `keep_velocity=True`, the default with SGD.
3. The student's running statistics follow its steps from FedAvg's
   (`statistics="running"`, as in the code), stay FedAvg's ("average"), or are measured
   again on the server's data ("reestimate"). The paper does not speak of them.

With BatchNorm these steps equal PyTorch's own, but a deep network amplifies rounding in
them, so that there two programs part after some rounds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Count, Fading, NotNegative, Positive, Whole, checked
from fedlab_core.client import Batch, ClientInput, Loss, Rule, Training, cross_entropy
from fedlab_core.engine import Client, batch_order, reestimate
from fedlab_core.engine.step import Task, value_of
from fedlab_core.keys import fold, keys_of
from fedlab_core.methods.descent import Adam, Sgd
from fedlab_core.models.network import shared
from fedlab_core.rounds import Gathered, ServerState, ServerView
from fedlab_core.tree import (
    Tree,
    as_tree,
    copied,
    flatten,
    gradient,
    nest,
    repeat,
    subtree,
    take,
    with_grad,
)

SERVER = 1 << 40  # no client has this number: the server's randomness is its own
_NOTHING = ClientInput({})
_FIT = 0  # what a key is for
RATES = {"sgd": 0.08, "adam": 0.001}


@cache  # so that servers that are made alike are equal
def with_proxy(name: str) -> Callable[[Tree, ServerView], ServerState]:
    """The beginning of a server that cannot do without data of its own."""

    def begin(model: Tree, view: ServerView) -> ServerState:
        view.proxy_set(name)
        return ServerState(model)

    return begin


def server_key(now: Gathered) -> tuple[int, int, int]:
    """The key of the server's random draws in this round."""
    seed, t, group = now.key
    return seed, t, SERVER + group


class ServerSteps:
    """Some epochs on (x, y) in mini-batches, and the network's gradient on each.

    The buffers are a state's to begin with, and follow the gradients that are taken.
    """

    def __init__(
        self,
        now: Gathered,
        x: Tensor,
        y: Tensor,
        epochs: int,
        batch: int,
        *,
        state: Tree,
        loss: Loss = cross_entropy,
        purpose: int | None = None,
    ):
        network = shared(now.view.model)
        self.task = Task(network, x, y, Training(), Rule(loss))
        params, self.buffers = network.split(state)
        self.live = {n: network.live[n] for n in params}
        self.per_epoch = -(-len(x) // batch)
        everything = Client(torch.arange(len(x)), server_key(now))
        plan = Training(epochs=epochs, batch_size=batch)
        order = batch_order(everything, plan) if epochs else []
        if order:  # one copy to the device, not one a step
            sizes = [len(at) for at in order]
            order = torch.cat(order).to(x.device).split(sizes)
        key = keys_of(torch.tensor(everything.key))
        key = key if purpose is None else fold(key, purpose)
        marks = fold(key, torch.arange(len(order))).to(x.device)
        self._left = zip(order, marks, strict=True)

    def epoch(self) -> Iterator[Batch]:
        """The next epoch's mini-batches."""
        for rows, mark in islice(self._left, self.per_epoch):
            x, y = self.task.x[rows], self.task.y[rows]
            yield Batch(x, y, x.new_zeros(0), mark)

    def gradient(
        self, params: Tree, batch: Batch, some: Tree | None = None
    ) -> tuple[Tensor, Tree]:
        """The loss on a mini-batch and its gradient, of all parameters or of some."""
        found = value_of(self.task, params, self.buffers, batch, _NOTHING)
        value, self.buffers, _ = found
        return value, gradient(value, params if some is None else some)

    def gradient_at(self, w: Tensor, batch: Batch) -> Tensor:
        """The gradient at the vector w of all parameters, as a vector."""
        with torch.no_grad():
            for name, part in as_tree(w, self.live).items():
                self.live[name].copy_(part)
        return flatten(self.gradient(self.task.network.live, batch, self.live)[1])


def statistics_of(
    how: str, now: Gathered, model: Tree, running: Tree, x: Tensor
) -> Tree:
    """The model with BatchNorm's statistics: as they ran, measured on x, or its own."""
    if how == "running":
        return model | running
    if how == "reestimate":
        return take(reestimate(now.view.model, repeat(model, 1), x), 0)
    return model


@checked
@dataclass(frozen=True)
class Fit:
    """How a server trains a model on its data.

    Paper: FedLAW App. D.6; the rates are in the authors' code only.
    """

    epochs: Whole = 100
    optimiser: Literal["sgd", "adam"] = "sgd"
    lr: Positive | None = None  # the optimiser's usual one
    batch: Count = 128
    momentum: Fading = 0.9  # of SGD
    weight_decay: NotNegative = 5e-4  # of SGD
    keep_velocity: bool = True  # of SGD, from round to round
    betas: tuple[Fading, Fading] = (0.5, 0.999)  # of Adam
    statistics: Literal["running", "average", "reestimate"] = "running"

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.lr or RATES[self.optimiser]

    def make(self, w: Tensor, velocity: Tensor | None) -> Adam | Sgd:
        """An optimiser for this tensor; SGD goes on with the velocity given."""
        if self.optimiser == "adam":
            return Adam(w, self.betas)
        return Sgd(w, self.momentum, self.weight_decay, velocity)


def fitted(
    now: Gathered, state: Tree, loss: Loss, x: Tensor, y: Tensor, fit: Fit
) -> ServerState:
    """The state after some epochs on (x, y); "server_loss" is the last one's mean."""
    names = now.view.parameters
    params = with_grad(copied({n: w for n, w in state.items() if n in names}))
    kept = fit.optimiser == "sgd" and fit.momentum > 0 and fit.keep_velocity
    velocity = subtree(now.before.memory, "velocity") if kept else {}
    moves = {n: fit.make(w, velocity.get(n)) for n, w in params.items()}
    how = {"state": state, "loss": loss, "purpose": _FIT}
    steps = ServerSteps(now, x, y, fit.epochs, fit.batch, **how)
    losses: list[Tensor] = []
    for _ in range(fit.epochs):
        losses = []
        for batch in steps.epoch():
            value, grads = steps.gradient(params, batch)
            with torch.no_grad():
                for name, slope in grads.items():
                    moves[name].step(slope, fit.rate)
            losses.append(value.detach())
    model = state | {n: w.detach() for n, w in params.items()}
    if kept and losses:
        ran = {n: m for n, m in moves.items() if isinstance(m, Sgd)}
        velocity = {n: m.velocity for n, m in ran.items() if m.velocity is not None}
    said = {"server_loss": float(torch.stack(losses).mean())} if losses else {}
    model = statistics_of(fit.statistics, now, model, steps.buffers, x)
    return ServerState(model, nest("velocity", velocity), metrics=said)

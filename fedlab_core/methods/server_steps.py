"""A server that trains on data of its own: its mini-batches, and gradients on them.

FedLAW, FedDF, FedBE and Server-FT train with it. The order of the mini-batches and what
a Dropout draws come from the round's key, with a number that no client has.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import torch
from torch import Tensor

from fedlab_core.client import Batch, ClientInput, Loss, Rule, Training, cross_entropy
from fedlab_core.engine import Client, batch_order, reestimate
from fedlab_core.engine.step import value_of
from fedlab_core.keys import fold, keys_of
from fedlab_core.models.network import shared
from fedlab_core.rounds import Gathered, ServerState, ServerView
from fedlab_core.tree import Tree, gradient, repeat, take

_SERVER = 1 << 40  # no client has this number: the server's randomness is its own
_NOTHING = ClientInput({})


def with_proxy(name: str) -> Callable[[Tree, ServerView], ServerState]:
    """The beginning of a server that cannot do without data of its own."""

    def begin(model: Tree, view: ServerView) -> ServerState:
        view.proxy_set(name)
        return ServerState(model)

    return begin


def server_key(now: Gathered) -> tuple[int, int, int]:
    """What the server draws from in this round."""
    seed, t, group = now.key
    return seed, t, _SERVER + group


class ServerSteps:
    """Some epochs on (x, y) in mini-batches, and the network's gradient on each."""

    def __init__(
        self,
        now: Gathered,
        x: Tensor,
        y: Tensor,
        epochs: int,
        batch: int,
        *,
        buffers: Tree,
        loss: Loss = cross_entropy,
        purpose: int | None = None,
    ):
        self.network, self.rule = shared(now.view.model), Rule(loss)
        self.x, self.y, self.buffers = x, y, buffers
        self.per_epoch = -(-len(x) // batch)
        everything = Client(torch.arange(len(x)), server_key(now))
        plan = Training(epochs=epochs, batch_size=batch)
        order = batch_order(everything, plan) if epochs else []
        key = keys_of(torch.tensor(everything.key))
        key = key if purpose is None else fold(key, purpose)
        marks = fold(key, torch.arange(len(order))).to(x.device)
        self._left = zip(order, marks, strict=True)

    def epoch(self) -> Iterator[Batch]:
        """The next epoch's mini-batches."""
        for at, mark in islice(self._left, self.per_epoch):
            rows = at.to(self.x.device)
            yield Batch(self.x[rows], self.y[rows], self.x.new_zeros(0), mark)

    def gradient(
        self, params: Tree, batch: Batch, of: Tree | None = None
    ) -> tuple[Tensor, Tree]:
        """The loss on a mini-batch and its gradient, of all parameters or of some."""
        value, self.buffers, _ = value_of(
            self.network, self.rule, params, self.buffers, batch, _NOTHING
        )
        return value, gradient(value, params if of is None else of)


def statistics_of(
    how: str, now: Gathered, model: Tree, running: Tree, x: Tensor
) -> Tree:
    """The model with BatchNorm's statistics: as they ran, measured on x, or its own."""
    if how == "running":
        return model | running
    if how == "reestimate":
        return take(reestimate(now.view.model, repeat(model, 1), x), 0)
    return model

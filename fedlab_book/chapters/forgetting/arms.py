"""Rivals of chapter 7: a masked head, a head that the server refits, longer steps."""

from copy import deepcopy
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.client import (
    Batch,
    ClientInput,
    Exchange,
    Net,
    Rule,
    Training,
    entropies,
)
from fedlab_core.keys import derive_seed
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, subtree, weighted_sum

TURN, OWN = "FedImpro, letters in turn", "FedImpro, own labels"
MASKED, REFIT, TWICE = "masked head", "refit head", "head's steps doubled"
PURPOSE = 0x6EF1  # of the server's draws


@dataclass(frozen=True)
class Masked:
    """Cross-entropy among the letters that the clinic has met; others have no say."""

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> tuple[Tensor, Tree]:
        outputs, met = net(params, batch.x), given.state["met"]
        own = F.one_hot(batch.y, len(met)) * (batch.weight > 0)[:, None]
        met = torch.maximum(met, own.amax(0).to(met))
        outputs = outputs.masked_fill(met == 0, -1e9)
        return batch.mean(entropies(outputs, batch.y)), {"met": met}


def none_met(start: Tree, broadcast: Tree) -> Tree:
    """A clinic's first state: no letter was met."""
    return {"met": torch.zeros_like(list(start.values())[-1])}


def remember(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """Keep which letters were met, and send nothing."""
    return dict(given.state), {}


def masked(training: Training) -> Method:
    """FedAvg whose clinics do not train the outputs of letters that they lack."""
    rule = Rule(loss=Masked(), begin=none_met, finish=remember)
    return fedavg(training, name=MASKED, rule=rule)


def moments(net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree:
    """Of each image, in the row of its letter: one, its features, their squares."""
    h = net.features(params, x).flatten(1)
    letters = net.head(params, h).shape[1]
    row = torch.cat([torch.ones_like(h[:, :1]), h, h * h], 1)
    return {"moments": F.one_hot(y, letters)[:, :, None] * row[:, None]}


@dataclass(frozen=True)
class Refit:
    """FedAvg's average, judged with a head that is fit to drawn features."""

    draws: int = 50  # of each letter
    steps: int = 60
    lr: float = 0.5

    def __call__(self, now: Gathered) -> ServerState:
        mean, table = weighted_sum(now.models, now.weights), told(now)
        n, h, hh = table.sum(0).split([1, now.view.features, now.view.features], 1)
        mu = h / n.clamp(min=1)
        s = (hh / n.clamp(min=1) - mu * mu).clamp(min=0).sqrt()
        y = torch.nonzero(n[:, 0]).flatten().repeat(self.draws)
        g = torch.Generator().manual_seed(derive_seed(*now.key, PURPOSE) % 2**32)
        xi = torch.randn(len(y), mu.shape[1], generator=g).to(mu)
        drawn, above = mu[y] + s[y] * xi, deepcopy(cast(nn.Module, now.view.model.head))
        above.load_state_dict(subtree(mean, "head"))
        weights = [w.requires_grad_() for w in above.parameters()]
        for _ in range(self.steps):
            slopes = torch.autograd.grad(F.cross_entropy(above(drawn), y), weights)
            with torch.no_grad():
                for w, slope in zip(weights, slopes, strict=True):
                    w -= self.lr * slope
        model = mean | {f"head.{n}": w.detach() for n, w in above.named_parameters()}
        return ServerState(model, memory={"moments": table}, start=mean)


def told(now: Gathered) -> Tensor:
    """Sums over each clinic's images, as it last told them; zero where it never did."""
    means = now.uploads["moments"]
    new = now.members.sizes.to(means)[:, None, None] * means
    table = now.before.memory.get("moments", new.new_zeros(now.clients, *new.shape[1:]))
    table = table.clone()
    table[now.members.ids] = new
    return table


def refit(training: Training, **options) -> Method:
    """FedAvg whose server fits the average's head anew before it is judged.

    Clinics tell letter by letter what a mean and a spread of features are made of,
    by the model that they are sent, and begin from the plain average.
    """
    rule = Rule(exchange=Exchange(moments), sends=("moments",))
    server = Server("refit", Refit(**options), needs=("moments",))
    return fedavg(training, name=REFIT, server=server, rule=rule)


def twice_above(grads: Tree, params: Tree, given: ClientInput) -> Tree:
    """Gradients, those of the head twice as long."""
    return {n: 2 * g if n.startswith("head.") else g for n, g in grads.items()}


def doubled(training: Training) -> Method:
    """FedAvg whose clinics take steps twice as long in the head; nothing is shared."""
    return fedavg(training, name=TWICE, rule=Rule(gradient=twice_above))

"""FedImpro: train the upper part on features drawn from a shared distribution.

Citation: Tang et al. 2024, "FedImpro: Measuring and Improving Client Update in
Federated Learning" (ICLR 2024). Agreement: 8e-9 with FedImpro's code (83de4b9).

Symbols: phi_low -> `Net.features`; the upper part -> `Net.head`; mu, sigma of class c
-> row c of "mu" and "s" (a standard deviation); beta_m -> 1 - `omega`; beta_g ->
`momentum` of `Pooled`; sigma_epsilon -> its `noise`.

Algorithm: Eq. (5), the local loss -> `Impro`; Eq. (6), the client's statistics ->
`update`; Eq. (7), the server's -> `Pooled`.

Deviations from the paper, which leaves out what its code does (`form="code"`, the
default; every choice is also a parameter):
1. `omega`: a batch's statistics count min(1, D/5000) in the code, D being the length of
   a feature: 1 for most split points, so that earlier batches are forgotten. (5000 is
   the code's number for CIFAR-10; other data sets have others there.)
2. `cap`: no entry of s exceeds .1. The paper does not mention it.
3. s is a standard deviation, and what is averaged is a standard deviation.
4. `matching=False`: synthetic labels are all classes in turn, floor(B/C) + 1 times, not
   the labels of the batch.
5. `ramp`: the synthetic loss counts (epochs so far) / 500, with no bound, not 1.
6. `momentum=0` on the server, and no `noise` unless asked for.
7. B is `Training.batch_size` also for a short last mini-batch, of b samples; the code
   takes b there, which differs where floor(b/C) does.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.arguments import Count, Fading, Fraction, NotNegative, Seed, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, entropies
from fedlab_core.keys import derive_seed, normal
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Gathered, Method, Server, ServerState, ServerView
from fedlab_core.tree import Tree, weighted_sum


def statistics(start: Tree, broadcast: Tree) -> Tree:
    """First statistics of a round: the server's."""
    return {"mu": broadcast["mu"], "s": broadcast["s"]}


def report(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """Send the statistics, and keep none."""
    return {}, dict(given.state)


@checked
@dataclass(frozen=True)
class Impro:
    """CE of real features + alpha CE of synthetic ones. Paper: FedImpro Eq. (5)."""

    batch_size: Count
    alpha: NotNegative = 1.0
    ramp: bool = True  # alpha grows with the epochs: epochs / 500 * alpha
    epochs: NotNegative = 1.0
    omega: Fraction | None = None
    cap: NotNegative | None = 0.1  # of s; None: without one
    matching: bool = False
    needs_classes = "it draws features of each class"

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> tuple[Tensor, Tree]:
        mu, s = given.state["mu"], given.state["s"]
        real = net.features(params, batch.x)
        classes, width = mu.shape
        labels, counts = batch.y, batch.weight
        if not self.matching:
            turns = self.batch_size // classes + 1
            labels = torch.arange(classes, device=mu.device).repeat(turns)
            counts = torch.full_like(labels, 1 / len(labels), dtype=mu.dtype)
        draw = normal(batch.key, len(labels) * width).to(mu).view(-1, width)
        fake = (mu[labels] + s[labels] * draw).view(-1, *real.shape[1:])
        there = (batch.weight > 0).to(mu)
        # Synthetic rows come first: dropout masks then do not depend on padding.
        both = torch.cat([(counts > 0).to(mu), there])
        logits = net.head(params, torch.cat([fake, real]), both / both.sum())
        theirs, ours = logits[: len(fake)], logits[len(fake) :]
        loss = batch.mean(entropies(ours, batch.y))
        other = (counts * entropies(theirs, labels)).sum()
        changes = update(mu, s, real.detach().flatten(1), batch.y, there, self)
        return loss + self._weight(given) * other, changes

    def _weight(self, given: ClientInput) -> Tensor | float:
        if not self.ramp:
            return self.alpha
        return self.alpha * given.broadcast["round"] * self.epochs / 500


def update(
    mu: Tensor, s: Tensor, h: Tensor, y: Tensor, there: Tensor, rule: Impro
) -> Tree:
    """The statistics after a mini-batch. Paper: FedImpro Eq. (6).

    A class without a sample keeps both rows, one with a single sample its s.
    """
    classes, width = mu.shape
    omega = min(1.0, width / 5000) if rule.omega is None else rule.omega
    member = F.one_hot(y, classes).to(mu) * there[:, None]
    held = member.sum(0)[:, None]
    mean = member.T @ h / held.clamp(min=1)
    apart = (h - mean[y]).square()
    spread = (member.T @ apart / (held - 1).clamp(min=1)).sqrt()
    mu = torch.where(held > 0, (1 - omega) * mu + omega * mean, mu)
    s = torch.where(held > 1, (1 - omega) * s + omega * spread, s)
    return {"mu": mu, "s": s if rule.cap is None else s.clamp(max=rule.cap)}


@checked
@dataclass(frozen=True)
class Pooled:
    """The average model, and plain means of mu and s. Paper: FedImpro Eq. (7)."""

    momentum: Fading = 0.0
    noise: NotNegative = 0.0
    seed: Seed = 0

    def __call__(self, now: Gathered) -> ServerState:
        sent, rng = {}, None
        for name in ("mu", "s"):
            told = now.uploads[name]
            if self.noise:
                rng = rng or np.random.default_rng(derive_seed(*now.key, self.seed))
                eps = torch.from_numpy(rng.standard_normal(told.shape))
                told = told + self.noise * eps.to(told)
            old = now.before.broadcast[name]
            sent[name] = self.momentum * old + (1 - self.momentum) * told.mean(0)
        return ServerState(weighted_sum(now.models, now.weights), broadcast=sent)


@checked
@dataclass(frozen=True)
class Guessed:
    """The first statistics: mu uniform in [0, 1), `s` everywhere."""

    s: NotNegative = 0.1
    seed: Seed = 0

    def __call__(self, model: Tree, view: ServerView) -> ServerState:
        rng = np.random.default_rng([self.seed, 0x1A7])
        mu = torch.from_numpy(rng.random((len(view.classes), view.features)))
        mu = mu.to(view.like)
        sent = {"mu": mu, "s": torch.full_like(mu, self.s)}
        return ServerState(model, broadcast=sent)


@checked
def fedimpro(
    training: Training | None = None,
    form: Literal["code", "paper"] = "code",
    noise: NotNegative = 0.0,
    cap: NotNegative | None = 0.1,
    **options,
) -> Method:
    """FedAvg whose clients also train the head on drawn features.

    `form` is "code" or "paper" (Eqs. (5) to (7), with beta_m = .9 and beta_g = .5,
    which the paper does not give); `options` are those of `Impro`.
    """
    training = training or Training()
    options = {
        "batch_size": training.batch_size,
        "epochs": float(training.epochs),
        "cap": cap,
    } | options
    if form == "paper":
        options = {"omega": 0.1, "matching": True, "ramp": False} | options
    step = Pooled(0.5 if form == "paper" else 0.0, noise)
    told = ("mu", "s")
    rule = Rule(
        loss=Impro(**options),
        begin=statistics,
        finish=report,
        sends=told,
        needs=(*told, "round"),
    )
    server = Server("pooled", step, Guessed(), sends=told, needs=told)
    return fedavg(training, name="FedImpro", server=server, rule=rule)

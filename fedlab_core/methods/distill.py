"""FedDF, FedBE and Server-FT: the server trains FedAvg's model on data of its own.

Citation: Lin et al. 2020, "Ensemble Distillation for Robust Model Fusion in Federated
Learning" (FedDF); Chen and Chao 2021, "FedBE: Making Bayesian Model Ensemble Applicable
to Federated Learning"; both, and Server-FT, as baselines in Li et al. 2023 (FedLAW).

Symbols: z_k, logits of client k's model -> rows in `_mean_logits`; u_k -> `units`;
E_s -> `Fit.epochs`.

Algorithm: FedAvg's model, then for FedDF and FedBE -> `Distil`: KL(softmax(mean of the
teachers' logits) || softmax(student's logits)), mean over the mini-batch, without
labels; FedBE's sample of a teacher -> `sampled`; for Server-FT -> `FineTune`.

Deviations from the FedLAW paper:
1. Its App. D.6 trains with Adam, betas (.5, .999): `optimiser="adam"`; no learning rate
   is given, and .001 is PyTorch's. Its code, and so its tables, use the server's SGD of
   rate .08, momentum .9 and weight decay .0005, as clients do: `"sgd"`, the default.
2. That SGD is made once, so its velocity goes on from round to round, even though the
   model begins anew: `keep_velocity=True`, the default with SGD.
3. The variance of FedBE's sample has a floor in the code, which decides where a tensor
   has more than some 100,000 numbers: `floor=1e-5`; 0 leaves it out. A tensor that did
   not move stays where it is; the code divides by zero.
4. Only parameters are sampled; the sample's running statistics are FedAvg's. All
   teachers are in evaluation mode; in the code FedAvg's model and the sample are not,
   which matters only where there is a BatchNorm or a Dropout.
5. The student's running statistics follow its steps from FedAvg's
   (`statistics="running"`, as in the code), stay FedAvg's ("average"), or are measured
   again on the server's data ("reestimate"). The paper does not speak of them.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.client import Batch, ClientInput, Loss, Net, Training, cross_entropy
from fedlab_core.errors import require
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.methods.descent import Adam, Sgd
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.server_steps import (
    ServerSteps,
    server_key,
    statistics_of,
    with_proxy,
)
from fedlab_core.models.network import Network
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, copied, nest, subtree, take, weighted_sum, with_grad

_STEPS, _SAMPLE = range(2)  # what a key is for
_RATES = {"sgd": 0.08, "adam": 0.001}


@dataclass(frozen=True)
class Fit:
    """How a server trains a model on its data.

    Paper: FedLAW App. D.6; the rates are in the authors' code only.
    """

    epochs: int = 100
    optimiser: Literal["sgd", "adam"] = "sgd"
    lr: float | None = None  # the optimiser's usual one
    batch: int = 128
    momentum: float = 0.9  # of SGD
    weight_decay: float = 5e-4  # of SGD
    keep_velocity: bool = True  # of SGD, from round to round
    betas: tuple[float, float] = (0.5, 0.999)  # of Adam
    statistics: Literal["running", "average", "reestimate"] = "running"

    def __post_init__(self) -> None:
        known = self.optimiser in _RATES
        require(known, f"optimiser must be sgd or adam, not {self.optimiser!r}")
        known = self.statistics in ("running", "average", "reestimate")
        text = "statistics must be running, average or reestimate, not"
        require(known, f"{text} {self.statistics!r}")
        sound = self.lr is None or 0 < self.lr < math.inf
        require(sound, f"lr must be a finite number above 0, not {self.lr}")
        require(self.epochs >= 0, f"epochs must be 0 or more, not {self.epochs}")
        require(self.batch >= 1, f"batch must be 1 or more, not {self.batch}")
        require(0 <= self.momentum < 1, f"momentum must be in [0, 1): {self.momentum}")

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.lr or _RATES[self.optimiser]

    def make(self, w: Tensor, velocity: Tensor | None) -> Adam | Sgd:
        """What moves this tensor, SGD with the velocity that it had."""
        if self.optimiser == "adam":
            return Adam(w, self.betas)
        return Sgd(w, self.momentum, self.weight_decay, velocity)


@dataclass(frozen=True)
class Distil:
    """FedAvg's model learns what the clients' models say together.

    `teacher` "mean" is FedDF, "bayes" FedBE. The history's "server_loss" is the mean
    divergence over the last epoch, in nats.
    """

    teacher: Literal["mean", "bayes"] = "mean"
    fit: Fit = Fit()
    spread: float = 0.1  # times the standard deviation, of FedBE's sample
    floor: float = 1e-5  # of its variance

    def __post_init__(self) -> None:
        known = self.teacher in ("mean", "bayes")
        require(known, f"teacher must be mean or bayes, not {self.teacher!r}")
        sound = min(self.spread, self.floor) >= 0
        require(sound, f"spread={self.spread}, floor={self.floor}: must be 0 or more")

    def __call__(self, now: Gathered) -> ServerState:
        average = weighted_sum(now.models, now.weights)
        x, _ = now.view.proxy_set("the server")
        k = len(now.weights)
        teachers = [take(now.models, row) for row in range(k)]
        if self.teacher == "bayes":
            teachers += [average, average | sampled(now, self.spread, self.floor)]
        wanted = _mean_logits(now.view.model, teachers, x).softmax(-1)
        return _trained(now, average, divergence, x, wanted, self.fit)


@dataclass(frozen=True)
class FineTune:
    """FedAvg's model is trained on the server's labels."""

    fit: Fit = Fit(epochs=2)

    def __call__(self, now: Gathered) -> ServerState:
        average = weighted_sum(now.models, now.weights)
        x, y = now.view.proxy_set("the server")
        return _trained(now, average, cross_entropy, x, y, self.fit)


def divergence(net: Net, params: Tree, batch: Batch, given: ClientInput) -> Tensor:
    """KL(y || softmax(logits)) in nats, mean over the mini-batch: y, distributions."""
    said = F.log_softmax(net(params, batch.x), dim=-1)
    return batch.mean(F.kl_div(said, batch.y, reduction="none").sum(-1))


def _mean_logits(model: nn.Module, teachers: list[Tree], x: Tensor) -> Tensor:
    net = Network(model)
    with torch.no_grad():
        each = [
            torch.cat([net(state, part) for part in x.split(2048)])
            for state in teachers
        ]
    return torch.stack(each).mean(0)


def sampled(now: Gathered, spread: float = 0.1, floor: float = 1e-5) -> Tree:
    """FedBE's one Gaussian sample of parameters, tensor by tensor.

    u_k, client k's move at unit length, has a mean and a variance over the members,
    all alike; the draw is mean + spread sd xi, times the mean length, from the start.
    """
    key = fold(keys_of(torch.tensor(server_key(now))), _SAMPLE)
    result = {}
    for i, (name, moves) in enumerate(now.moves().items()):
        if name not in now.view.parameters:
            continue
        flat = moves.flatten(1)
        lengths = torch.linalg.vector_norm(flat, dim=1)
        units = flat / torch.where(lengths > 0, lengths, 1)[:, None]
        mean, var = units.mean(0), units.var(0, correction=0).clamp(min=floor)
        xi = normal(fold(key, i), flat.shape[1]).to(flat)
        draw = lengths.mean() * (mean + spread * var.sqrt() * xi)
        begin = now.before.begin[name]
        result[name] = begin + draw.view_as(begin)
    return result


def _trained(
    now: Gathered, state: Tree, loss: Loss, x: Tensor, y: Tensor, fit: Fit
) -> ServerState:
    """The state after some epochs on (x, y), in mini-batches of the server's own."""
    names = now.view.parameters
    params = with_grad(copied({n: w for n, w in state.items() if n in names}))
    buffers = {n: b for n, b in state.items() if n not in names}
    kept = fit.optimiser == "sgd" and fit.momentum > 0 and fit.keep_velocity
    velocity = subtree(now.before.memory, "velocity") if kept else {}
    moves = {n: fit.make(w, velocity.get(n)) for n, w in params.items()}
    how = {"buffers": buffers, "loss": loss, "purpose": _STEPS}
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


def feddf(training: Training | None = None, **options) -> Method:
    """FedAvg, distilled from the clients' models; `options` are those of `Fit`."""
    step = Distil("mean", Fit(**options))
    server = Server("FedDF", step, with_proxy("FedDF"))
    return fedavg(training, name="FedDF", server=server)


def fedbe(
    training: Training | None = None,
    spread: float = 0.1,
    floor: float = 1e-5,
    **options,
) -> Method:
    """FedAvg, distilled from a Bayesian ensemble; `options` are those of `Fit`."""
    step = Distil("bayes", Fit(**options), spread, floor)
    server = Server("FedBE", step, with_proxy("FedBE"))
    return fedavg(training, name="FedBE", server=server)


def server_ft(training: Training | None = None, epochs: int = 2, **options) -> Method:
    """FedAvg, fine-tuned on the server's labels; `options` are those of `Fit`."""
    step = FineTune(Fit(epochs, **options))
    server = Server("Server-FT", step, with_proxy("Server-FT"))
    return fedavg(training, name="Server-FT", server=server)

"""FedLAW: the server learns how much clients count, and how much the sum shrinks.

Citation: Li et al. 2023, "Revisiting Weighted Aggregation in Federated Learning with
Neural Networks" (ICML 2023). Agreement: 4e-15 with FedLAW's code (83de4b9).

Symbols: gamma -> `gamma`; lambda -> `shares`, `ServerState.memory["lambda"]`; w_i ->
rows of `Gathered.models`; g_g -> minus the mean of `Search.moves`; eta_g ->
`global_lr`; eta_s -> `lr`; E_s -> `server_epochs`; x -> `Knobs.x`; r -> "r" in the
history.

Algorithm: Eq. (3) -> `_finished`; fixed gamma -> `Shrink`; adaptive GWS, attentive LAW
and Alg. 1 l. 10-15 -> `Law` and `Search`; the variant with SWA of Sec. 6.1 -> `LawSwa`.

Deviations from the paper:
1. One backward pass gives the gradient G at w = gamma w_mean, and inner products with
   it those of all numbers learned; nothing is derived through the sum. Same numbers.
2. Learning rate .01, halved every 20 epochs, mini-batches of 128, network in training
   mode: from the code, where the rate is .005 for all data but CIFAR-10, and the number
   of epochs 20 unless asked for more; the paper says 100.
3. `start="weights"` begins from the sizes, as Alg. 1 says; with `parameters="quad"` the
   code begins from equal weights: `start="equal"`. The paper does not say where gamma
   begins with "quad" (Eq. (10) is of lambda); here, as in the code, gamma = g^2, g = 1.
4. Only parameters are weighed and shrunk. A BatchNorm's running statistics, of which
   the paper does not speak, are averaged with lambda (`statistics="average"`), measured
   again on the proxy set ("reestimate"), or follow the server's steps from those the
   round began with ("running"; the code, whose clients keep their own besides:
   `Training(statistics="local")`). They are not shrunk, so with "average" a shrunk
   network meets statistics of larger activations.
5. Attentive LAW is stopped early near the critical point of Sec. 5.2; the paper gives
   no rule for which round that is. Here `early_stop` says how many rounds learn lambda.
   After them it is by size; gamma, where it is learned, goes on.
6. `LawSwa(order="gamma first")` is the paper's order, "lambda first", the default, the
   code's. The rates and the epochs averaged are the code's. Without an epoch to average
   (`server_epochs` below 14) lambda is the last one; the code goes back to the sizes.
7. r is infinite where nothing shrinks (gamma = 1).
8. The clients of a round are drawn before they train; Alg. 1 trains all, then draws.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Count, Fading, Positive, Whole, checked
from fedlab_core.client import Batch, Training
from fedlab_core.errors import require
from fedlab_core.methods.descent import Adam
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.server_steps import ServerSteps, statistics_of, with_proxy
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, flatten, norm, weighted_sum

Rate = Callable[[int, float], float]  # of the epoch, and the rate to begin with
Slope = Callable[[Tensor, Batch], Tensor]  # at a vector of parameters, as a vector
_NAMES = {"gamma": "adaptive GWS", "lambda": "attentive LAW", "both": "FedLAW"}


@checked
@dataclass(frozen=True)
class Shrink:
    """w <- gamma sum_k p_k w_k with a fixed gamma. Paper: FedLAW Eq. (3), Table 1."""

    gamma: Positive = 0.95

    def __call__(self, now: Gathered) -> ServerState:
        return _finished(now, self.gamma, now.weights)


@checked
@dataclass(frozen=True)
class Law:
    """Weights learned on the server's data, anew in every round.

    `learn` "gamma" is adaptive GWS, "lambda" attentive LAW, "both" FedLAW.

    Paper: FedLAW Sec. 4.2, Eq. (7), Eq. (8), Alg. 1.
    """

    learn: Literal["gamma", "lambda", "both"] = "both"
    lr: Positive = 0.01
    x_lr: Positive | None = None  # lambda's, if not the same
    betas: tuple[Fading, Fading] = (0.5, 0.999)
    server_epochs: Whole = 100
    batch: Count = 128
    halve_every: Count = 20  # server epochs
    parameters: Literal["exp", "quad"] = "exp"
    start: Literal["weights", "equal"] = "weights"
    early_stop: Whole | None = None  # rounds that learn lambda
    statistics: Literal["average", "reestimate", "running"] = "average"
    global_lr: Positive = 1.0  # how far to follow the clients before weighing

    def __post_init__(self) -> None:
        sound = self.early_stop is None or self.learn != "gamma"
        require(sound, f"early_stop={self.early_stop}: only where lambda is learned")

    def __call__(self, now: Gathered) -> ServerState:
        law = self
        if self.early_stop is not None and now.key[1] >= self.early_stop:
            epochs = 0 if self.learn == "lambda" else self.server_epochs
            law = replace(self, learn="gamma", early_stop=None, server_epochs=epochs)
        steps, search = law.steps(now), Search.of(now, law)
        search.run(steps, law, law.halved)
        return search.finish(now, law, steps.buffers)

    def steps(self, now: Gathered) -> ServerSteps:
        """The mini-batches of a round, and gradients on them."""
        x, y = now.view.proxy_set("the server")
        state = now.before.begin
        return ServerSteps(now, x, y, self.server_epochs, self.batch, state=state)

    def halved(self, epoch: int, lr: float) -> float:
        """The learning rate of a server epoch."""
        return lr * 0.5 ** (epoch // self.halve_every)


@checked
@dataclass(frozen=True)
class LawSwa:
    """FedLAW in two stages of half the server epochs, lambda averaged over its epochs.

    Lambda's rate falls along a cosine of `period` epochs; from epoch `average_from` on,
    it goes in `anneal` epochs to `swa_lr`, and x is averaged after each.

    Paper: FedLAW Sec. 6.1; the constants are in the authors' code only.
    """

    law: Law = Law()
    order: Literal["lambda first", "gamma first"] = "lambda first"
    swa_lr: Positive = 0.05
    average_from: Whole = 6
    anneal: Count = 10
    period: Count = 100

    def __post_init__(self) -> None:
        both = self.law.learn == "both" and self.law.early_stop is None
        require(both, "FedLAW (SWA) learns both, in every round: leave learn as it is")

    def __call__(self, now: Gathered) -> ServerState:
        law, half = self.law, self.law.server_epochs // 2
        steps, search = law.steps(now), Search.of(now, law)
        gamma, shares = (
            replace(law, learn=name, server_epochs=half) for name in ("gamma", "lambda")
        )
        stages = [(shares, self.annealed, self.average_from), (gamma, law.halved, None)]
        for stage in stages if self.order == "lambda first" else stages[::-1]:
            search.run(steps, *stage)
        return search.finish(now, law, steps.buffers)

    def annealed(self, epoch: int, lr: float) -> float:
        """Lambda's learning rate in a server epoch."""
        before = min(epoch, self.average_from)
        cosine = lr * (1 + math.cos(math.pi * before / self.period)) / 2
        done = min((epoch - before) / self.anneal, 1)
        share = (1 - math.cos(math.pi * done)) / 2
        return share * self.swa_lr + (1 - share) * cosine


@dataclass
class Search:
    """Search for gamma and lambda on the server's data: the best found so far.

    Paper: FedLAW Eq. (7), Eq. (8).
    """

    begin: Tensor  # w, the parameters that the round began with
    moves: Tensor  # eta_g (w_i - w), a row a member
    gamma: Tensor
    shares: Tensor

    @classmethod
    def of(cls, now: Gathered, law: Law) -> "Search":
        """A round's, with nothing shrunk and the weights that `law` starts from."""
        begin = {n: w for n, w in now.before.begin.items() if n in now.view.parameters}
        rows = flatten({n: now.models[n] for n in begin}, client_axis=True)
        w, equal = flatten(begin), torch.full_like(now.weights, 1 / len(now.weights))
        shares = (now.weights if law.start == "weights" else equal).to(w.device)
        return cls(w, law.global_lr * (rows - w), torch.ones_like(shares[0]), shares)

    def run(
        self, steps: ServerSteps, law: Law, rate: Rate, average_from: int | None = None
    ) -> None:
        """Take some epochs of Adam's steps; x may be averaged over the last ones."""
        if law.server_epochs == 0:
            return
        knobs = Knobs.at(self.shares, law.parameters == "quad")
        adam = {"g": Adam(knobs.g, law.betas), "x": Adam(knobs.x, law.betas)}
        passed = []
        for epoch in range(law.server_epochs):
            lr = {"g": rate(epoch, law.lr), "x": rate(epoch, law.x_lr or law.lr)}
            for batch in steps.epoch():
                slopes = self.slopes(law.learn, knobs, batch, steps.gradient_at)
                for name, slope in slopes.items():
                    adam[name].step(slope, lr[name])
            if average_from is not None and epoch >= average_from:
                passed.append(knobs.x.clone())
        if passed:
            knobs = replace(knobs, x=torch.stack(passed).mean(0))
        self.gamma, self.shares = self.read(law.learn, knobs)

    def read(self, learn: str, knobs: "Knobs") -> tuple[Tensor, Tensor]:
        """Gamma and lambda: of the knobs if they are learned, otherwise as before."""
        gamma, shares = knobs.read()
        gamma = self.gamma if learn == "lambda" else gamma
        return gamma, self.shares if learn == "gamma" else shares

    def slopes(self, learn: str, knobs: "Knobs", batch: Batch, slope: Slope) -> Tree:
        """Gradients of the knobs that are learned, from one of the network.

        <G, w_mean> dgamma/dg, and gamma s_i <G, w_i - w_mean>: differences of moves,
        which are small beside the models.
        """
        gamma, shares = self.read(learn, knobs)
        mean = self.begin + shares.to(self.begin.dtype) @ self.moves
        gradient = slope(gamma * mean, batch)
        dg, dx = knobs.slopes(gamma, shares)
        slopes = {}
        if learn != "lambda":
            slopes["g"] = dg * (gradient @ mean)
        if learn != "gamma":
            along = (self.moves @ gradient).to(shares)
            slopes["x"] = gamma * dx * (along - shares @ along)
        return slopes

    def finish(self, now: Gathered, law: Law, buffers: Tree) -> ServerState:
        """The model with what was found, and its BatchNorms' statistics."""
        done = _finished(now, self.gamma, self.shares, law.global_lr)
        x, _ = now.view.proxy_set("the server")
        model = statistics_of(law.statistics, now, done.model, buffers, x)
        return replace(done, model=model)


@dataclass(frozen=True)
class Knobs:
    """Numbers that are really learned, without constraints. Paper: FedLAW Eq. (10)."""

    g: Tensor
    x: Tensor
    quad: bool

    @classmethod
    def at(cls, shares: Tensor, quad: bool) -> "Knobs":
        """Knobs of gamma = 1 and these shares."""
        one = torch.ones_like(shares[0])
        if quad:
            return cls(one, shares.sqrt(), quad)
        return cls(torch.zeros_like(one), shares.log(), quad)

    def read(self) -> tuple[Tensor, Tensor]:
        """Gamma, and lambda."""
        if self.quad:
            squares = self.x.square()
            return self.g.square(), squares / squares.sum()
        return self.g.exp(), self.x.softmax(0)

    def slopes(self, gamma: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """d gamma / d g, and s where d lambda_j / d x_i = s_i (1[i = j] - lambda_j)."""
        if self.quad:
            return 2 * self.g, 2 * self.x / self.x.square().sum()
        return gamma, shares


def _finished(
    now: Gathered, gamma: Tensor | float, shares: Tensor, global_lr: float = 1.0
) -> ServerState:
    """w <- gamma sum_i lambda_i w_i, and how large its two terms are.

    "g_norm" is |gamma eta_g g|, "w_norm" |(1 - gamma) w|, "r" their ratio, all over
    parameters only. Paper: FedLAW Eq. (3), Eq. (4).
    """
    gamma, begin = torch.as_tensor(gamma, dtype=torch.float64), now.before.begin
    mean = weighted_sum(now.models, shares)
    names = [n for n in mean if n in now.view.parameters]
    if global_lr != 1:
        mean |= {n: begin[n] + global_lr * (mean[n] - begin[n]) for n in names}
    model = mean | {n: gamma * mean[n] for n in names}
    moved = gamma.abs() * norm({n: begin[n] - mean[n] for n in names}).double()
    shrunk = (1 - gamma).abs() * norm({n: begin[n] for n in names}).double()
    said = {
        "gamma": gamma,
        "g_norm": moved,
        "w_norm": shrunk,
        "r": torch.where(shrunk > 0, moved / shrunk, math.inf),
        "lambda_max": shares.max(),
    }
    return ServerState(model, {"lambda": shares.cpu()}, metrics=said)


@checked
def shrunk(training: Training | None = None, gamma: Positive = 0.95) -> Method:
    """FedAvg whose sum is multiplied by a fixed gamma in every round."""
    return fedavg(training, name="Shrink", server=Server("shrink", Shrink(gamma)))


@checked
def gws(training: Training | None = None, **options) -> Method:
    """FedAvg with adaptive global weight shrinking; `options` are those of `Law`."""
    return fedavg(training, name="GWS", server=_learning(Law("gamma", **options)))


@checked
def attentive(training: Training | None = None, **options) -> Method:
    """Attentive learnable weights, nothing shrunk; `options` are those of `Law`."""
    server = _learning(Law("lambda", **options))
    return fedavg(training, name="Attentive", server=server)


@checked
def fedlaw(training: Training | None = None, **options) -> Method:
    """FedLAW, weights and shrinking learned together; `options` are those of `Law`."""
    return fedavg(training, name="FedLAW", server=_learning(Law(**options)))


@checked
def fedlaw_swa(
    training: Training | None = None,
    order: Literal["lambda first", "gamma first"] = "lambda first",
    swa_lr: Positive = 0.05,
    **options,
) -> Method:
    """FedLAW in two stages with averaged weights; `options` are those of `Law`."""
    step, name = LawSwa(Law(**options), order, swa_lr), "FedLAW (SWA)"
    server = Server(name, step, with_proxy(name))
    return fedavg(training, name=name, server=server)


def _learning(law: Law) -> Server:
    name = _NAMES[law.learn]
    return Server(name, law, with_proxy(name))

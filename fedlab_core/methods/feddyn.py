"""FedDyn: a moving linear term that makes local optima agree with the global one.

Citation: Acar et al. 2021, "Federated Learning Based on Dynamic Regularization".
Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: alpha -> `alpha`; theta^{t-1} -> `ClientInput.start` (x); h_k, the sum of a
client's moves, -> "h" of its state; m -> `clients`.

Algorithm: Alg. 1, the local objective -> `Dynamic`; the client's gradient state ->
`add_move`; the server's h and model -> `recentred` or `Shifted`.

Two forms circulate, and both are here (`form=`):
- "disco", of FedDisco's code: loss + alpha_k <y, h_k - x> + alpha/2 |y|^2, the last by
  weight decay, alpha_k = alpha / (K n_k); gradients clipped at 10; the judged model is
  the weighted mean, and clients begin from it plus the mean of all clients' h;
- "law", of FedLAW's code: loss - <g_k, y> + mu/2 |y - x| (not squared), g_k <- g_k -
  mu (y - x); the server's h <- h - mu sum p_k (y_k - x) and its model mean - h / mu.

Deviations from the paper:
1. The local objective is minimised by SGD, as everywhere.
2. `rescale=False` uses alpha for every client instead of alpha / (K n_k). The clip of
   10 is for a `Training` without one: what is asked for is kept.
3. The first round's x is the first model; h and g start at zero.
4. `squared=True` gives the "law" form the paper's squared distance.
5. Running statistics of a BatchNorm, which neither paper speaks of, are averaged as the
   models are; FedLAW's code keeps those of the first participant.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import Positive, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, cross_entropy
from fedlab_core.methods.fedavg import BySize, Equal, fedavg
from fedlab_core.methods.fedavgm import zero_memory
from fedlab_core.methods.fedprox import squared_distance
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, nest, subtree, weighted_sum


def inner(a: Tree, b: Tree) -> Tensor:
    """<a, b> over the names of a."""
    return torch.stack([(w * b[n]).sum() for n, w in a.items()]).sum()


def no_move(start: Tree, broadcast: Tree) -> Tree:
    """First client state: nothing has moved yet."""
    return nest("h", {n: torch.zeros_like(w) for n, w in start.items()})


def add_move(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """h_k <- h_k + y_k - x; nothing is sent."""
    h = subtree(given.state, "h")
    moved = {n: h[n] + y - given.start[n] for n, y in params.items()}
    return nest("h", moved), {}


@checked
@dataclass(frozen=True)
class Dynamic:
    """f_k(y) + alpha_k <y, h_k - x>; the quadratic term is weight decay alpha."""

    alpha: Positive
    rescale: bool = True

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        h = subtree(given.state, "h")
        pull = {n: h[n] - given.start[n] for n in params}
        scale = self.alpha
        if self.rescale:
            scale = self.alpha / (given.broadcast["clients"] * given.broadcast["share"])
        return cross_entropy(net, params, batch, given) + scale * inner(params, pull)


@checked
@dataclass(frozen=True)
class DynamicLaw:
    """f_k(y) - <g_k, y> + mu/2 |y - x|, where g_k = -mu h_k. Paper: FedDyn Alg. 1."""

    mu: Positive
    squared: bool = False

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        h = subtree(given.state, "h")
        far = squared_distance(params, given.start)
        if not self.squared:
            far = (far + 1e-24).sqrt()  # of no distance, the gradient is then 0
        pull = self.mu * (inner(params, h) + far / 2)
        return cross_entropy(net, params, batch, given) + pull


def recentred(now: Gathered) -> ServerState:
    """The mean is judged; clients begin from it plus the mean of all their moves.

    The server's memory is the sum of all moves so far, absent clients included.
    """
    moved, mean = now.moves(), weighted_sum(now.models, now.weights)
    total = {n: h + moved[n].sum(0) for n, h in now.before.memory.items()}
    start = mean | {n: mean[n] + h / now.clients for n, h in total.items()}
    return ServerState(mean, total, start=start)


@checked
@dataclass(frozen=True)
class Shifted:
    """h <- h - mu sum p_k (y_k - x); the model is the mean minus h / mu."""

    mu: Positive

    def __call__(self, now: Gathered) -> ServerState:
        moved = weighted_sum(now.moves(), now.weights)
        mean = weighted_sum(now.models, now.weights)
        memory = {n: h - self.mu * moved[n] for n, h in now.before.memory.items()}
        model = mean | {n: mean[n] - h / self.mu for n, h in memory.items()}
        return ServerState(model, memory)


@checked
def feddyn(
    training: Training | None = None,
    alpha: Positive = 0.01,
    form: Literal["disco", "law"] = "disco",
    rescale: bool = True,
    squared: bool = False,
) -> Method:
    """FedAvg with dynamic regularisation, in the form of FedDisco's or FedLAW's code.

    `alpha` is mu in the second form. The first weighs clients equally, the second by
    size.
    """
    training = training or Training()
    if form == "law":
        rule = Rule(DynamicLaw(alpha, squared), begin=no_move, finish=add_move)
        server = Server("shifted", Shifted(alpha), zero_memory)
        return fedavg(training, BySize(), name="FedDyn", server=server, rule=rule)
    told = ("clients", "share") if rescale else ()
    loss = Dynamic(alpha, rescale)
    rule = Rule(loss, begin=no_move, finish=add_move, needs=told)
    decay = training.weight_decay + alpha
    training = replace(training, weight_decay=decay, clip=training.clip or 10.0)
    server = Server("recentred", recentred, zero_memory)
    return fedavg(training, Equal(), name="FedDyn", server=server, rule=rule)

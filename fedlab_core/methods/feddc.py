"""FedDC: keep track of a client's drift, and correct it before averaging.

Citation: Gao et al. 2022, "FedDC: Federated Learning with Non-IID Data via Local Drift
Decoupling and Correction". Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: h_i -> "h" of a client's state; w -> `ClientInput.start` (x); theta_i ->
`params`; alpha -> `alpha`; Delta theta_i -> "move" of its state; Delta theta -> "g" of
the broadcast; K eta -> "lr_sum", the sum of the round's learning rates.

Algorithm: Alg. 1, the local objective -> `Drifting`; drift update -> `add_drift`; the
server's model -> `corrected`.

Deviations from the paper:
1. `correction=False` leaves the gradient-correction term out, as FedDisco's code does
   by mistake: it computes the term and never adds it.
2. alpha_k = alpha / (K n_k) with `rescale=True`, as FedDisco's code; gradients are
   clipped at 10 where `Training` does not say at what.
3. The judged model is the mean of the clients' models; clients begin from the mean plus
   the mean of all clients' drifts.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlab_core.arguments import Positive, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, cross_entropy
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.methods.feddyn import inner, recentred
from fedlab_core.rounds import Gathered, Method, Server, ServerState, ServerView
from fedlab_core.tree import Tree, nest, subtree


def no_drift(start: Tree, broadcast: Tree) -> Tree:
    """First client state: no drift, and no move yet."""
    zero = {n: torch.zeros_like(w) for n, w in start.items()}
    return nest("h", zero) | nest("move", zero)


def add_drift(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """h_i <- h_i + theta_i - w, and the move; sends how the move has changed."""
    h, last = subtree(given.state, "h"), subtree(given.state, "move")
    moved = {n: y - given.start[n] for n, y in params.items()}
    change = {n: (steps > 0) * (m - last[n]) for n, m in moved.items()}
    drift = nest("h", {n: h[n] + m for n, m in moved.items()})
    return drift | nest("move", moved), nest("change", change)


@checked
@dataclass(frozen=True)
class Drifting:
    """f_k + alpha_k/2 |y - (x - h_k)|^2 + <y, move_k - mean move> / (K eta)."""

    alpha: Positive
    correction: bool = True
    rescale: bool = True

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        h = subtree(given.state, "h")
        gap = [((y - given.start[n] + h[n]) ** 2).sum() for n, y in params.items()]
        scale = self.alpha
        if self.rescale:
            scale = self.alpha / (given.broadcast["clients"] * given.broadcast["share"])
        total = cross_entropy(net, params, batch, given)
        total = total + scale / 2 * torch.stack(gap).sum()
        if self.correction:
            mine, mean = subtree(given.state, "move"), subtree(given.broadcast, "g")
            turn = inner(params, {n: mine[n] - mean[n] for n in params})
            total = total + turn / given.broadcast["lr_sum"]
        return total


def zero_drift(model: Tree, view: ServerView) -> ServerState:
    """First server state: no drift, and no moves."""
    zero = {n: torch.zeros_like(model[n]) for n in sorted(view.parameters)}
    return ServerState(model, zero, nest("g", zero))


def corrected(now: Gathered) -> ServerState:
    """Server state as of FedDyn's `recentred`, on drifts; sends g besides.

    g is the mean of all clients' last moves, those of absent ones included.
    """
    after = recentred(now)
    changed, g = subtree(now.uploads, "change"), subtree(now.before.broadcast, "g")
    g = {n: v + changed[n].sum(0) / now.clients for n, v in g.items()}
    return replace(after, broadcast=nest("g", g))


@checked
def feddc(
    training: Training | None = None,
    alpha: Positive = 0.01,
    correction: bool = True,
    rescale: bool = True,
) -> Method:
    """FedAvg with drift variables."""
    needs = ("g", "lr_sum") + (("clients", "share") if rescale else ())
    rule = Rule(
        loss=Drifting(alpha, correction, rescale),
        begin=no_drift,
        finish=add_drift,
        sends=("change",),
        needs=needs,
    )
    training = training or Training()
    training = replace(training, clip=training.clip or 10.0)
    server = Server("corrected", corrected, zero_drift, sends=("g",), needs=("change",))
    return fedavg(training, Equal(), name="FedDC", server=server, rule=rule)

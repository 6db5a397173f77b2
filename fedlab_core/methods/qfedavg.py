"""q-FedAvg: clients with a large loss count more.

Citation: Li et al. 2020, "Fair Resource Allocation in Federated Learning".

Symbols: F_k -> "loss" of what a client answers before it trains; q -> `q`; L ->
`lipschitz`; Delta_k -> `scaled`; h_k -> `h`.

Algorithm: Alg. 2, the server's step -> `Fair`.

Deviations from the paper:
1. L is 1 / lr of the clients unless given; rFedAvg's code has L = 1.
2. `scaled_norm=True` takes the norm of F_k^q Delta_k in h_k, as rFedAvg's code does, in
   place of the norm of Delta_k.
3. Weights of `weigh` play no part, as in the paper; BatchNorm's statistics are averaged
   with them.
"""

from dataclasses import dataclass

import torch

from fedlab_core.arguments import NotNegative, Positive, checked
from fedlab_core.client import Exchange, Rule, Training, losses
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import flatten, weighted_sum


@checked
@dataclass(frozen=True)
class Fair:
    """w = x - sum_k F_k^q Delta_k / sum_k h_k. Paper: qFedAvg Alg. 2."""

    q: NotNegative
    lipschitz: Positive
    scaled_norm: bool = False

    def __call__(self, now: Gathered) -> ServerState:
        x, q, L = now.before.begin, self.q, self.lipschitz
        names = sorted(now.view.parameters)
        moves = now.moves()
        moved = {n: moves[n] for n in names}  # y_k - x, of what is trained
        F = now.uploads["loss"].double().clamp(min=1e-10)
        scaled = F**q if self.scaled_norm else torch.ones_like(F)
        squares = (L * scaled * flatten(moved, True).double().norm(dim=1)) ** 2
        h = q * F ** (q - 1) * squares + L * F**q
        step = weighted_sum(moved, L * F**q / h.sum())
        mean = weighted_sum(now.models, now.weights)
        return ServerState(mean | {n: x[n] + step[n] for n in names})


@checked
def qfedavg(
    training: Training | None = None,
    q: NotNegative = 1.0,
    lipschitz: Positive | None = None,
    scaled_norm: bool = False,
) -> Method:
    """Fair federated averaging."""
    training = training or Training()
    rule = Rule(exchange=Exchange(losses), sends=("loss",))
    step = Fair(q, lipschitz or 1 / training.lr, scaled_norm)
    server = Server("fair", step, needs=("loss",))
    return fedavg(training, Equal(), name="q-FedAvg", server=server, rule=rule)

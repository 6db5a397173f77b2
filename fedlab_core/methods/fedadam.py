"""FedAdam: the server follows the mean update like Adam.

Citation: Reddi et al. 2021, "Adaptive Federated Optimization".

Symbols: Delta_t -> `move`, the mean update; m, v -> "m", "v" of the server's memory;
beta_1, beta_2, tau, eta -> `beta1`, `beta2`, `tau`, `lr`.

Algorithm: Alg. 2 -> `ServerAdam`.

Deviations from the paper:
1. The defaults (.9, .99, 1e-5) are those of FedLAW's code; m and v start at 0 and are
   not corrected for it.
"""

from dataclasses import dataclass

import torch

from fedlab_core.arguments import Fading, Positive, checked
from fedlab_core.client import Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.fedavgm import mean_and_move
from fedlab_core.rounds import Gathered, Method, Server, ServerState, ServerView
from fedlab_core.tree import Tree, nest, subtree


@checked
@dataclass(frozen=True)
class ServerAdam:
    """m, v of the mean update; w <- w + lr m / (sqrt(v) + tau).

    Paper: FedAdam Alg. 2.
    """

    lr: Positive = 0.01
    beta1: Fading = 0.9
    beta2: Fading = 0.99
    tau: Positive = 1e-5

    def __call__(self, now: Gathered) -> ServerState:
        mean, move = mean_and_move(now)
        m, v = (subtree(now.before.memory, part) for part in ("m", "v"))
        m = {n: self.beta1 * m[n] + (1 - self.beta1) * d for n, d in move.items()}
        v = {n: self.beta2 * v[n] + (1 - self.beta2) * d**2 for n, d in move.items()}
        x = now.before.begin
        step = {n: self.lr * m[n] / (v[n].sqrt() + self.tau) for n in m}
        model = mean | {n: x[n] + d for n, d in step.items()}
        return ServerState(model, nest("m", m) | nest("v", v))


def zero_moments(model: Tree, view: ServerView) -> ServerState:
    """First server state: m = v = 0."""
    zero = {n: torch.zeros_like(model[n]) for n in sorted(view.parameters)}
    return ServerState(model, nest("m", zero) | nest("v", zero))


@checked
def fedadam(training: Training | None = None, lr: Positive = 0.01, **options) -> Method:
    """FedAvg with Adam on the server; `options` are those of `ServerAdam`."""
    server = Server("adam", ServerAdam(lr, **options), zero_moments)
    return fedavg(training, name="FedAdam", server=server)

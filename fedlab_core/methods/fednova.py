"""FedNova: average directions, not distances, where clients take unequal steps.

Citation: Wang et al. 2020, "Tackling the Objective Inconsistency Problem in
Heterogeneous Federated Optimization". Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: tau_i -> `Members.steps`; a_i -> `effective_steps`; p_i -> the weights of
`weigh`; tau_eff -> `effective`.

Algorithm: Alg. 1, the aggregation -> `Normalised`. It is a server's rule, so that any
weights fit in: FedDisco's p_k replaces n_k before tau_eff is computed, as in its code.

Deviations from the paper:
1. `momentum=None` takes a_i = tau_i, as FedDisco's and FedCollab's codes do even where
   clients use momentum; a number takes the paper's a_i for that local momentum.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.arguments import Fading, checked
from fedlab_core.client import Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import weighted_sum


def effective_steps(steps: Tensor, momentum: float | None) -> Tensor:
    """a_i: how often a client's gradients enter its update. Paper: FedNova Sec. 4."""
    tau = steps.to(torch.float64)
    if not momentum:
        return tau
    rho = momentum
    return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)


@checked
@dataclass(frozen=True)
class Normalised:
    """w = x - (sum_k p_k a_k) sum_k p_k (x - y_k) / a_k. Paper: FedNova Alg. 1."""

    momentum: Fading | None = None

    def __call__(self, now: Gathered) -> ServerState:
        x, trained = now.before.begin, now.view.parameters
        a = effective_steps(now.members.steps, self.momentum)
        effective = (now.weights * a).sum()
        share = effective * now.weights / a.clamp(min=1)
        moved = weighted_sum(now.moves(), torch.where(a > 0, share, 0.0))
        mean = weighted_sum(now.models, now.weights)
        return ServerState(mean | {n: x[n] + moved[n] for n in trained})


@checked
def fednova(training: Training | None = None, momentum: Fading | None = None) -> Method:
    """FedAvg of normalised updates; `momentum` is the clients', if it is to count."""
    server = Server("normalised", Normalised(momentum))
    return fedavg(training, name="FedNova", server=server)

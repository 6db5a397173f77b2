"""FedDisco: weigh a client by its size and by how far its labels are from the target.

Citation: Ye et al. 2023, "FedDisco: Federated Learning with Discrepancy-Aware
Collaboration" (ICML 2023). Agreement: 3e-15 with FedDisco's code (83de4b9).

Symbols: n_k -> `n`; d_k -> `d`; a, b -> `a`, `b`; D_k -> rows of `Members.counts`;
T -> `target`; e(D_k, T) -> `metrics.discrepancy`; p_k -> the weights returned.

Algorithm: Alg. 1, discrepancy and Eq. (3) -> `Disco`; the rest is FedAvg.

Deviations from the paper:
1. `normalise=True`, the default, divides d, of any metric, by its sum over the members.
   The paper does not say so. Its code does for KL, and at first did for every metric;
   its a and b make sense only then.
2. If Eq. (3) gives every member 0, the weights are n_k; the code stops with an error.
3. n_k and d_k are taken over the round's participants, as in the code.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, float64

from fedlab_core.arguments import NotNegative, Whole, checked
from fedlab_core.client import Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.metrics.labels import Metric, discrepancy, far_from
from fedlab_core.rounds import Members, Method


def disco_weights(n: Tensor, d: Tensor, a: float, b: float) -> Tensor:
    """p_k = ReLU(n_k - a d_k + b), normalised. Paper: FedDisco Eq. (3)."""
    p = torch.relu(n - a * d + b)
    return torch.where(p.sum() > 0, p / p.sum(), n)


@checked
@dataclass(frozen=True)
class Disco:
    """Discrepancy-aware weights. Paper: FedDisco Eq. (3)."""

    a: NotNegative = 0.5
    b: NotNegative = 0.1
    metric: Metric = "kl"
    normalise: bool = True
    target: tuple[NotNegative, ...] | None = None
    name: str = "disco"
    scalars: Whole = 1
    needs_classes = "it weighs clients by how skewed their classes are"

    def fits(self, counts: Tensor) -> None:
        """Refuse a target that does not go with the clients' classes."""
        goal = None if self.target is None else torch.tensor(self.target, dtype=float64)
        discrepancy(counts, goal, self.metric)

    def __call__(self, members: Members) -> Tensor:
        n = members.sizes.to(float64) / members.sizes.sum()
        d = far_from(members.counts, self.target, self.metric)
        d = torch.where(d.sum() > 0, d / d.sum(), d) if self.normalise else d
        return disco_weights(n, d, self.a, self.b)


@checked
def feddisco(training: Training | None = None, **options) -> Method:
    """FedAvg with discrepancy-aware weights; `options` are those of `Disco`."""
    return fedavg(training, weigh=Disco(**options), name="FedDisco")

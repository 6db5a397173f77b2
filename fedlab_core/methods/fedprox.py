"""FedProx: stay near the model you were sent.

Citation: Li et al. 2020, "Federated Optimization in Heterogeneous Networks".
Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: mu -> `mu`; w^t -> `ClientInput.start`; h_k -> `Proximal`.

Algorithm: Alg. 2, the local objective -> `Proximal`; the rest is FedAvg.

Deviations from the paper:
1. The local objective is minimised by SGD for some epochs, not to a stated exactness.
2. `half=False` leaves out the factor one half, as rFedAvg's experiments do: their mu is
   twice the usual one.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, cross_entropy
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Method
from fedlab_core.tree import Tree


def squared_distance(params: Tree, other: Tree) -> Tensor:
    """Squared Euclidean distance of parameters from others of the same names."""
    gaps = [(w - other[n]).square().sum() for n, w in params.items()]
    return torch.stack(gaps).sum()


@checked
@dataclass(frozen=True)
class Proximal:
    """f_k(w) + mu/2 |w - w^t|^2. Paper: FedProx Alg. 2."""

    mu: NotNegative = 0.01
    half: bool = True

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        pull = self.mu * squared_distance(params, given.start)
        return cross_entropy(net, params, batch, given) + pull / (2 if self.half else 1)


@checked
def fedprox(
    training: Training | None = None, mu: NotNegative = 0.01, half: bool = True
) -> Method:
    """FedAvg whose clients are drawn to the model they were sent."""
    return fedavg(training, name="FedProx", rule=Rule(loss=Proximal(mu, half)))

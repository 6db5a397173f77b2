"""FedBE: FedDF with more teachers, drawn from a Gaussian over the clients' models.

Citation: Chen and Chao 2021, "FedBE: Making Bayesian Model Ensemble Applicable to
Federated Learning"; as a baseline in Li et al. 2023 (FedLAW).
Agreement: 4e-15 with FedLAW's code (83de4b9).

Symbols: u_k -> `units`.

Algorithm: a teacher's sample -> `sampled`; the rest is FedDF's -> `DistilBayes`.

Deviations from the FedLAW paper:
1. The sample's variance has a floor in the code, which decides where a tensor has more
   than some 100,000 numbers: `floor=1e-5`; 0 leaves it out. A tensor that did not move
   stays where it is; the code divides by zero.
2. Only parameters are sampled; the sample's running statistics are FedAvg's. All
   teachers are in evaluation mode; in the code FedAvg's model and the sample are not,
   which matters only where there is a BatchNorm or a Dropout: there the two part in
   the first round.
"""

from dataclasses import dataclass

import torch

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.client import Training
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.feddf import taught
from fedlab_core.methods.server_steps import Fit, server_key, with_proxy
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, take, weighted_sum

_SAMPLE = 1  # what a key is for


def sampled(now: Gathered, spread: float = 0.1, floor: float = 1e-5) -> Tree:
    """FedBE's one Gaussian sample of parameters, tensor by tensor.

    u_k, client k's move at unit length, has a mean and a variance over the members,
    all alike; the draw is mean + spread sd xi, times the mean length, from the start.
    """
    key = fold(keys_of(torch.tensor(server_key(now))), _SAMPLE)
    result = {}
    every = now.moves()
    for i, name in enumerate(now.view.parameters):  # engines order trees otherwise
        flat = every[name].flatten(1)
        lengths = torch.linalg.vector_norm(flat, dim=1)
        units = flat / torch.where(lengths > 0, lengths, 1)[:, None]
        mean, var = units.mean(0), units.var(0, correction=0).clamp(min=floor)
        xi = normal(fold(key, i), flat.shape[1]).to(flat)
        draw = lengths.mean() * (mean + spread * var.sqrt() * xi)
        begin = now.before.begin[name]
        result[name] = begin + draw.view_as(begin)
    return result


@checked
@dataclass(frozen=True)
class DistilBayes:
    """FedAvg's model learns from the members', itself and a sample."""

    fit: Fit = Fit()
    spread: NotNegative = 0.1  # times the standard deviation, of the sample
    floor: NotNegative = 1e-5  # of its variance
    needs_classes = "it teaches what the models say of each class"

    def __call__(self, now: Gathered) -> ServerState:
        mean = weighted_sum(now.models, now.weights)
        teachers = [take(now.models, row) for row in range(len(now.weights))]
        teachers += [mean, mean | sampled(now, self.spread, self.floor)]
        return taught(now, mean, teachers, self.fit)


@checked
def fedbe(
    training: Training | None = None,
    spread: NotNegative = 0.1,
    floor: NotNegative = 1e-5,
    **options,
) -> Method:
    """FedAvg, distilled from a Bayesian ensemble; `options` are those of `Fit`."""
    step = DistilBayes(Fit(**options), spread, floor)
    server = Server("FedBE", step, with_proxy("FedBE"))
    return fedavg(training, name="FedBE", server=server)

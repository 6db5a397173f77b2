"""Per-FedAvg: train the model that is good after one step of a client's own.

Citation: Fallah et al. 2020, "Personalized Federated Learning with Theoretical
Guarantees".

Symbols: alpha, beta -> both `Training.lr`.

Algorithm: Alg. 1 -> `Ahead`; the step before judging -> `Personal(adapt=...)`.

Deviations from the paper:
1. The first-order form on one mini-batch cut in two; one of fewer than four samples
   does nothing.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlab_core.arguments import Positive, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training
from fedlab_core.methods.descent import follow
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Method, Personal
from fedlab_core.tree import Tree


@checked
@dataclass(frozen=True)
class Ahead:
    """The loss, and its gradient, one step ahead. Paper: PerFedAvg Alg. 1."""

    lr: Positive

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        there = batch.weight > 0
        n, place = there.sum(), torch.arange(len(there), device=there.device)
        first = (place < n // 2) & there
        halves = [(part / part.sum().clamp(min=1)) for part in (first, ~first & there)]

        def loss(at: Tree, half: Tensor) -> Tensor:
            each = net.each(net(at, batch.x), batch.y)
            return (half.to(each) * each).sum()

        moved = follow(lambda at: loss(at, halves[0]), params, self.lr, 1)
        ahead = {n: w + (moved[n] - w.detach()) for n, w in params.items()}
        return (n >= 4) * loss(ahead, halves[1])


@checked
def per_fedavg(training: Training | None = None) -> Method:
    """FedAvg towards a model that is good after one step. Judged after that step."""
    training = training or Training()
    adapt = replace(training, iterations=1)
    rule = Rule(loss=Ahead(training.lr))
    method = fedavg(training, name="Per-FedAvg", rule=rule)
    return replace(method, personal=Personal("one step", adapt=adapt))

"""MOON: features like the server's, unlike those of one's own last model.

Citation: Li et al. 2021, "Model-Contrastive Federated Learning".
Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: z, z_glob, z_prev -> features under `params`, `ClientInput.start` and "last" of
the client's state; tau -> `temperature`; mu -> `mu`.

Algorithm: Alg. 1, the local loss -> `Contrastive`; the rest is FedAvg.

Deviations from the paper:
1. z is what comes before the head, without a projection head, as in FedDisco's code.
2. A client that takes part for the first time has no last model: the term is 0. In
   FedDisco's code newcomers are contrasted with a random network.
3. One last model is kept, not several.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.arguments import NotNegative, Positive, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Method
from fedlab_core.tree import Tree, nest, subtree


def no_last(start: Tree, broadcast: Tree) -> Tree:
    """No last model yet."""
    seen = next(iter(start.values())).new_zeros(())
    return {"seen": seen} | nest("last", start)


def keep_last(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """The model as the client leaves it; nothing is sent."""
    return {"seen": torch.ones_like(lr_sum)} | nest("last", params), {}


@checked
@dataclass(frozen=True)
class Contrastive:
    """CE - mu log(e^(cos(z, z_glob)/tau) / (e^(...glob) + e^(cos(z, z_prev)/tau)))."""

    mu: NotNegative = 0.1
    temperature: Positive = 0.5

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        z = net.features(params, batch.x)
        old = given.start | subtree(given.state, "last")
        with torch.no_grad():
            glob = net.features(given.start, batch.x)
            prev = net.features(old, batch.x)
        near, far = (
            F.cosine_similarity(z.flatten(1), o.flatten(1), dim=1) for o in (glob, prev)
        )
        apart = F.softplus((far - near) / self.temperature)
        entropy = net.each(net.head(params, z), batch.y)
        return batch.mean(entropy + self.mu * given.state["seen"] * apart)


@checked
def moon(
    training: Training | None = None, mu: NotNegative = 0.1, temperature: Positive = 0.5
) -> Method:
    """FedAvg with a model-contrastive term."""
    loss = Contrastive(mu, temperature)
    rule = Rule(loss=loss, begin=no_last, finish=keep_last)
    return fedavg(training, name="MOON", rule=rule)

"""pFedMe: clients keep a model near the group's, by Moreau envelopes.

Citation: Dinh et al. 2020, "Personalized Federated Learning with Moreau Envelopes".

Symbols: lambda, K, inner eta -> `lam`, `inner_steps`, `inner_lr`; theta -> "theta" of a
client's state.

Algorithm: Alg. 1 -> `Moreau`.

Deviations from the paper:
1. The server is the plain weighted average.
2. A client that has not taken part yet is judged by the group's model.
"""

from dataclasses import dataclass, replace

from torch import Tensor

from fedlab_core.arguments import Count, Positive, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, cross_entropy
from fedlab_core.methods.descent import follow
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.fedprox import squared_distance
from fedlab_core.rounds import Method, Personal
from fedlab_core.tree import Tree, nest


@checked
@dataclass(frozen=True)
class Moreau:
    """lam/2 |y - theta|^2, theta near the minimum of f + lam/2 |theta - y|^2.

    Its gradient is lam (y - theta). Paper: pFedMe Alg. 1.
    """

    lam: Positive = 1.0
    inner_lr: Positive = 0.1
    inner_steps: Count = 5

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> tuple[Tensor, Tree]:
        y = {n: w.detach() for n, w in params.items()}

        def envelope(theta: Tree) -> Tensor:
            near = self.lam / 2 * squared_distance(theta, y)
            return cross_entropy(net, theta, batch, given) + near

        theta = follow(envelope, params, self.inner_lr, self.inner_steps)
        return self.lam / 2 * squared_distance(params, theta), nest("theta", theta)


def begin_theta(start: Tree, broadcast: Tree) -> Tree:
    """First client state: theta is the model."""
    return nest("theta", start)


@checked
def pfedme(training: Training | None = None, lam: Positive = 1.0, **options) -> Method:
    """FedAvg of Moreau envelopes; judged is theta. `options` are those of `Moreau`."""
    rule = Rule(loss=Moreau(lam, **options), begin=begin_theta)
    method = fedavg(training, name="pFedMe", rule=rule)
    return replace(method, personal=Personal("theta", kept="theta"))

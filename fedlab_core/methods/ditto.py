"""Ditto: beside the group's model, one of every client's own that stays near it.

Citation: Li et al. 2021, "Ditto: Fair and Robust Federated Learning Through
Personalization".

Symbols: lambda -> `lam`; v_k -> the model kept beside the group's.

Algorithm: Alg. 1 -> `Personal(own_model=...)` with `Tied`.

Deviations from the paper:
1. Alg. 1 is given the first v_k and does not say what they are: `begin="first"`, the
   default, takes w^0 for everyone. In FedCollab's code the v_k of a client that first
   takes part late is the group's model of that round: `begin="group"`.
2. A client that has not taken part yet is judged by the group's model.
"""

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, cross_entropy
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.fedprox import squared_distance
from fedlab_core.rounds import Method, Personal
from fedlab_core.tree import Tree, subtree


@checked
@dataclass(frozen=True)
class Tied:
    """f(v) + lam/2 |v - x|^2, x being the group's model of the round's start."""

    lam: NotNegative = 1.0

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        x = subtree(given.broadcast, "round")
        pull = self.lam / 2 * squared_distance(params, x)
        return cross_entropy(net, params, batch, given) + pull


@checked
def ditto(
    training: Training | None = None,
    lam: NotNegative = 1.0,
    begin: Literal["first", "group"] = "first",
) -> Method:
    """FedAvg, and beside it a model of each client's own that stays near it."""
    method = fedavg(training, name="Ditto")
    own = Personal("beside", own_model=Rule(loss=Tied(lam)), own_begin=begin)
    return replace(method, personal=own)

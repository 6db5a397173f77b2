"""FedDF: the server teaches FedAvg's model what the clients' models say together.

Citation: Lin et al. 2020, "Ensemble Distillation for Robust Model Fusion in Federated
Learning"; as a baseline in Li et al. 2023 (FedLAW).
Agreement: 4e-15 with FedLAW's code (83de4b9).

Symbols: z_k, logits of client k's model -> rows in `mean_logits`; E_s -> `Fit.epochs`.

Algorithm: KL(softmax(mean of the teachers' logits) || softmax(student's logits)), mean
over the mini-batch, without labels -> `taught`.

Deviations: how the server steps is FedLAW's, see `server_steps`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import checked
from fedlab_core.client import Batch, ClientInput, Net, Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.server_steps import Fit, fitted, with_proxy
from fedlab_core.models.network import Network
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import Tree, take, weighted_sum


def divergence(net: Net, params: Tree, batch: Batch, given: ClientInput) -> Tensor:
    """KL(y || softmax(logits)) in nats, mean over the mini-batch: y, distributions."""
    said = F.log_softmax(net(params, batch.x), dim=-1)
    return batch.mean(F.kl_div(said, batch.y, reduction="none").sum(-1))


def mean_logits(model: nn.Module, teachers: list[Tree], x: Tensor) -> Tensor:
    """Mean of the teachers' logits: (samples, classes)."""
    net = Network(model)
    with torch.no_grad():
        each = [
            torch.cat([net(state, part) for part in x.split(2048)])
            for state in teachers
        ]
    return torch.stack(each).mean(0)


def taught(now: Gathered, student: Tree, teachers: list[Tree], fit: Fit) -> ServerState:
    """The student after learning the teachers' outputs on the server's images."""
    x, _ = now.view.proxy_set("the server")
    wanted = mean_logits(now.view.model, teachers, x).softmax(-1)
    return fitted(now, student, divergence, x, wanted, fit)


@checked
@dataclass(frozen=True)
class Distil:
    """FedAvg's model learns from the members' models."""

    fit: Fit = Fit()
    needs_classes = "it teaches what the models say of each class"

    def __call__(self, now: Gathered) -> ServerState:
        teachers = [take(now.models, row) for row in range(len(now.weights))]
        return taught(now, weighted_sum(now.models, now.weights), teachers, self.fit)


@checked
def feddf(training: Training | None = None, **options) -> Method:
    """FedAvg, distilled from the clients' models; `options` are those of `Fit`."""
    server = Server("FedDF", Distil(Fit(**options)), with_proxy("FedDF"))
    return fedavg(training, name="FedDF", server=server)

"""Server-FT: the server trains FedAvg's model on labels of its own.

Citation: a baseline of Li et al. 2023 (FedLAW), without a paper of its own.
Agreement: 4e-15 with FedLAW's code (83de4b9).

Deviations: how the server steps is FedLAW's, see `server_steps`.
"""

from dataclasses import dataclass

from fedlab_core.arguments import Whole, checked
from fedlab_core.client import Training, cross_entropy
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.server_steps import Fit, fitted, with_proxy
from fedlab_core.rounds import Gathered, Method, Server, ServerState
from fedlab_core.tree import weighted_sum


@checked
@dataclass(frozen=True)
class FineTune:
    """FedAvg's model is trained on the server's labels."""

    fit: Fit = Fit(epochs=2)

    def __call__(self, now: Gathered) -> ServerState:
        x, y = now.view.proxy_set("the server")
        mean = weighted_sum(now.models, now.weights)
        return fitted(now, mean, cross_entropy, x, y, self.fit)


@checked
def server_ft(training: Training | None = None, epochs: Whole = 2, **options) -> Method:
    """FedAvg, fine-tuned on the server's labels; `options` are those of `Fit`."""
    step = FineTune(Fit(epochs, **options))
    server = Server("Server-FT", step, with_proxy("Server-FT"))
    return fedavg(training, name="Server-FT", server=server)

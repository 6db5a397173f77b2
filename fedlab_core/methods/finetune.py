"""Fine-tuning: FedAvg, and every client adapts the model before it is judged.

Citation: a baseline of Bao et al. 2023 (FedCollab), without a paper of its own.

Deviations: none; `steps` is FedCollab's number of local steps.
"""

from dataclasses import replace

from fedlab_core.arguments import Count, checked
from fedlab_core.client import Training
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Method, Personal


@checked
def finetune(training: Training | None = None, steps: Count = 2) -> Method:
    """FedAvg; every client takes some steps of its own before it is judged."""
    method = fedavg(training, name="Fine-tune")
    adapt = replace(method.training, iterations=steps)
    return replace(method, personal=Personal("fine-tune", adapt=adapt))

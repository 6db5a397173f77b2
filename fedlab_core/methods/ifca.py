"""IFCA: k models, and every client trains the one that suits it best.

Citation: Ghosh et al. 2020, "An Efficient Framework for Clustered Federated Learning".

Symbols: number of clusters -> `k`.

Algorithm: a client's choice of a model -> `ByLoss`; the rest is FedAvg in groups.

Deviations from the paper:
1. It averages models, the second of its two variants, and is run once; its authors
   restart it and keep the best.
2. A client that has never taken part is in group 0.
3. The `bytes` of a history count one model a round each way; IFCA sends all k.
"""

from dataclasses import dataclass

from fedlab_core.arguments import Count, checked
from fedlab_core.client import Training
from fedlab_core.methods.clustering import moved
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import GroupOf, Groups, Losses, Method, Weigh
from fedlab_core.rounds.groups import all_in_one


@dataclass(frozen=True)
class ByLoss:
    """Participants go to the model with the least loss on their data."""

    def __call__(self, group_of: GroupOf, ids: list[int], losses: Losses) -> GroupOf:
        return moved(group_of, ids, losses().argmin(1).tolist())


@checked
def IFCA(k: Count = 4) -> Groups:
    """k models, drawn apart; each participant trains the one that suits it best."""
    return Groups("ifca", all_in_one, pick=ByLoss(), models=k)


@checked
def ifca(
    training: Training | None = None, k: Count = 4, weigh: Weigh | None = None
) -> Method:
    """Iterative federated clustering, averaging models by size."""
    return fedavg(training, weigh, IFCA(k), "IFCA")

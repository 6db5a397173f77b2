"""k-means: groups found once, of models that were trained alone.

Citation: Ghosh et al. 2019, "Robust Federated Learning in a Heterogeneous Environment".

Symbols: number of clusters -> `k`.

Algorithm: clients train alone, `clustering.k_means` of their models -> `KMeans`; the
rest is FedAvg in groups.

Deviations from the paper:
1. The models that are clustered were trained for some rounds, not to the end.
2. Every client is asked before round 1, also one that never takes part; the `bytes` of
   a history do not count it.
"""

from dataclasses import dataclass

from fedlab_core.arguments import Count, checked
from fedlab_core.client import Training
from fedlab_core.keys import derive_seed
from fedlab_core.methods.clustering import check_k, k_means, trained_alone
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import GroupOf, Groups, Method, Weigh, World
from fedlab_core.tree import Tree, flatten


@dataclass(frozen=True)
class OfModels:
    """The groups of models that clients train alone, here unless they are given."""

    k: int
    training: Training | None
    alone: int

    def __call__(self, world: World, seed: int, models: Tree | None = None) -> GroupOf:
        models = models or trained_alone(world, self.training, self.alone, seed)
        return k_means(flatten(models, True), self.k, derive_seed(seed, 0x3EA25))


@checked
def KMeans(
    k: Count = 4, *, training: Training | None = None, alone: Count = 10
) -> Groups:
    """k-means, once, on models that clients have trained alone for some rounds.

    `training` is how they train then. The federation begins afresh in the clusters.
    """
    begin = OfModels(k, training, alone)
    return Groups("kmeans", begin, fits=lambda clients, _: check_k(k, clients))


@checked
def kmeans(
    training: Training | None = None,
    k: Count = 4,
    alone: Count = 10,
    weigh: Weigh | None = None,
) -> Method:
    """FedAvg in clusters of models trained alone, by the same training."""
    return fedavg(training, weigh, KMeans(k, training=training, alone=alone), "KMeans")

"""BatchNorm's running statistics, measured again on given data.

There are three policies: *average* (clients start from the server's, which are averaged
like parameters), *local* (`Training.statistics="local"`: each client goes on with its
own) and *re-estimated*, here: a server measures them on data that it has.
"""

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Count, checked
from fedlab_core.models.network import Network
from fedlab_core.tree import Tree


@checked
@torch.no_grad()
def reestimate(
    model: nn.Module, states: Tree, x: Tensor, batch_size: Count = 256
) -> Tree:
    """The states with running statistics of `x`: means over mini-batches, by size.

    The variance is the mean over the mini-batches of their unbiased variance, as in
    PyTorch's BatchNorm with `momentum=None`. Dropout is off.
    """
    network = Network(model, training=True)
    if not network.norms:
        return states
    network.model.eval()
    for norm in network.norms.values():
        norm.train()
        norm.momentum = 1.0  # what it leaves is this mini-batch's own

    def measured(state: Tree, part: Tensor) -> Tree:
        network(state, part)
        return network.take_fresh()

    found: Tree = {}
    for part in x.split(batch_size):
        share = len(part) / len(x)
        for name, v in torch.vmap(measured, (0, None))(states, part).items():
            found[name] = found[name] + share * v if name in found else share * v
    return states | found

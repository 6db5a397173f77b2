"""Means over clients' samples, without training: what a client reports of its data."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Count, checked
from fedlab_core.client import Quantity
from fedlab_core.engine.plan import Client
from fedlab_core.errors import require
from fedlab_core.keys import fold, keys_of, random_bits
from fedlab_core.models.losses import own_loss
from fedlab_core.models.network import Network, Samples, explained
from fedlab_core.tree import Tree, stack, take, tree_map

_SLICE, _DRAW = 2048, 4  # a key's use, beside those of `plan`


@checked
@torch.no_grad()
def client_means(
    model: nn.Module,
    states: Tree,
    x: Samples,
    y: Samples,
    cohort: Sequence[Client],
    of: Quantity,
    batch: Count | None = None,
) -> Tree:
    """The mean of `of` over each client's samples, under its row of `states`.

    `of` gives one value a sample, by name. With `batch`, the mean is over so many of
    a client's samples, drawn by its key.
    """
    require(len(cohort) > 0, "cohort: nobody is there")
    labels = not y.is_floating_point()
    ours = getattr(of, "__module__", "").startswith("fedlab_core.")
    own = not ours or own_loss(model) is not None
    require(labels or own, f"y must be labels, whole numbers, not {y.dtype}")
    net, rows = Network(model), []
    with explained(model, states, x, y if labels else None):
        for k, client in enumerate(cohort):
            mine = client.indices if batch is None else _some(client, batch)
            state, total = take(states, k), {}
            for part in mine.to(x.device).split(_SLICE):
                values = of(net, state, x[part], y[part])
                sums = {n: v.sum(0) for n, v in values.items()}
                total = tree_map(torch.add, total, sums) if total else sums
            rows.append({n: v / len(mine) for n, v in total.items()})
        return stack(rows)


def _some(client: Client, batch: int) -> Tensor:
    key = fold(keys_of(torch.tensor([client.key])), _DRAW)
    order = random_bits(key, len(client.indices))[0].argsort()
    return client.indices[order[:batch]]

"""Means over clients' samples, without training: what a client reports of its data."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedlab_core.engine.plan import Client
from fedlab_core.keys import fold, keys_of, random_bits
from fedlab_core.tree import Tree, stack, take, tree_map

_SLICE, _DRAW = 2048, 4  # a key's use, beside those of `plan`


class EvalNetwork:
    """The network in evaluation mode, whole or in its two parts (`local.Net`)."""

    def __init__(self, model: nn.Module):
        self.model = copy.deepcopy(model).eval() if model.training else model

    def __call__(self, params: Tree, x: Tensor) -> Tensor:
        return functional_call(self.model, params, (x,))

    def features(self, params: Tree, x: Tensor) -> Tensor:
        return self._part("features", params, x)

    def head(self, params: Tree, h: Tensor, weight: Tensor | None = None) -> Tensor:
        return self._part("head", params, h)

    def _part(self, name: str, params: Tree, x: Tensor) -> Tensor:
        inside = {
            n.removeprefix(f"{name}."): w
            for n, w in params.items()
            if n.startswith(f"{name}.")
        }
        return functional_call(self.model.get_submodule(name), inside, (x,))


@torch.no_grad()
def client_means(
    model: nn.Module,
    states: Tree,
    x: Tensor,
    y: Tensor,
    cohort: Sequence[Client],
    of: Callable[[EvalNetwork, Tree, Tensor, Tensor], Tree],
    batch: int | None = None,
) -> Tree:
    """The mean of `of` over each client's samples, under its row of `states`.

    `of` gives one value a sample, by name. With `batch`, the mean is over so many of
    a client's samples, drawn by its key.
    """
    net = EvalNetwork(model)
    rows = []
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

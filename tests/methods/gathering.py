"""What a server has in hand, made by hand."""

from dataclasses import replace

import torch
from torch import Tensor

from fedlab_core.rounds.method import Gathered, Members, ServerState
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree


def gathered(
    models: Tree, weights: Tensor, before: Tree | ServerState | None = None, **more
):
    """A round's end: these models, weighed like this, from that model."""
    k = len(weights)
    first = {n: torch.zeros_like(w[0]) for n, w in models.items()}
    begun = before if isinstance(before, ServerState) else ServerState(before or first)
    now = Gathered(
        before=begun,
        models=models,
        weights=weights,
        members=Members.holding(torch.ones(k, 1, dtype=torch.int64)),
        uploads={},
        clients=k,
        world=_OfWeights(frozenset(models)),  # pyright: ignore[reportArgumentType]
        key=(0, 0, 0),
    )
    return replace(now, **more)


class _OfWeights(World):
    """As much of a world as a rule on parameters asks for."""

    def __init__(self, names: frozenset[str]):
        object.__setattr__(self, "parameters", names)

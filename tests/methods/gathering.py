"""`Gathered` of a server, made by hand."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from fedlab_core.rounds.server import Gathered, ServerState, ServerView
from fedlab_core.rounds.weigh import Members
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
        view=ServerView(nn.Identity(), tuple(models), torch.zeros(1), ()),
        key=(0, 0, 0),
    )
    return replace(now, **more)

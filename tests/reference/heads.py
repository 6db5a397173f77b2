"""Private heads and bodies: FedPer, FedRep, LG-FedAvg, as their papers write them.

Each client keeps a part of the network; the server averages the rest. Client state
"model" is the server's new model with the client's own part, by which it is judged.
"""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from tests.reference.common import (
    Batches,
    Client,
    Round,
    Weights,
    averaged,
    entropy,
    state,
)


def fitted(model: nn.Module, stays: str, own: nn.Module) -> nn.Module:
    """A copy of the model with a client's own part in its place."""
    joined = deepcopy(model)
    setattr(joined, stays, deepcopy(own))
    return joined


def descend(
    model: nn.Module,
    trained: nn.Module,
    client: Client,
    batches: Sequence[Tensor],
    lr: float,
    momentum: float,
    weight_decay: float,
) -> None:
    """Steps of SGD of that part of the model alone, in place."""
    model.train()
    optimiser = torch.optim.SGD(
        trained.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay
    )
    for batch in batches:
        model.zero_grad()
        entropy(model, client[0][batch], client[1][batch]).backward()
        optimiser.step()


def run(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    momentum: float,
    weight_decay: float,
    weights: Weights,
    stays: str,
) -> list[Round]:
    """FedPer (Algorithm 1) where the "head" stays, LG-FedAvg where "features" do.

    A participant trains its own part and the server's of the round together. The
    server averages whole models; of these only what does not stay is used.
    """
    server = deepcopy(model)
    own = [deepcopy(getattr(model, stays)) for _ in clients]
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            local = fitted(server, stays, own[k])
            order = list(batches(k, t))
            descend(local, local, clients[k], order, lr, momentum, weight_decay)
            own[k] = getattr(local, stays)
            trained.append(local)
        server = averaged(server, trained, weights(t, participants[t]))
        judged = [state(fitted(server, stays, part)) for part in own]
        history.append(Round(state(server), {}, {"model": judged}))
    return history


def fedrep(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    momentum: float,
    weight_decay: float,
    weights: Weights,
    epochs: int,
    of: int,
) -> list[Round]:
    """FedRep (Collins et al. 2021, Algorithm 1): first the head, then the features.

    The head takes the batches of the first `epochs` of `of` epochs, with the features
    that were received; the features take the others, with that head.
    """
    server = deepcopy(model)
    heads = [deepcopy(model.get_submodule("head")) for _ in clients]
    sgd = (lr, momentum, weight_decay)
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            local = fitted(server, "head", heads[k])
            order = list(batches(k, t))
            turn = len(order) * epochs // of
            heads[k], features = map(local.get_submodule, ("head", "features"))
            descend(local, heads[k], clients[k], order[:turn], *sgd)
            descend(local, features, clients[k], order[turn:], *sgd)
            trained.append(local)
        server = averaged(server, trained, weights(t, participants[t]))
        judged = [state(fitted(server, "head", head)) for head in heads]
        history.append(Round(state(server), {}, {"model": judged}))
    return history

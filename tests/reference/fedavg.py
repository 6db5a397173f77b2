"""FedAvg as in Algorithm 1 of McMahan et al. 2017, one line after the other."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

Client = tuple[Tensor, Tensor]
Batches = Callable[[int, int], Iterable[Tensor]]
Weights = Callable[[int, Sequence[int]], list[float]]


def local_train(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    batches: Iterable[Tensor],
    lr: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> nn.Module:
    """A trained copy of the model: one SGD step for each batch of indices, in order.

    The loss of a batch is the mean over its own samples, however few.
    Paper: FedAvg Alg. 1, client update.
    """
    local = deepcopy(model)
    local.train()
    optimiser = torch.optim.SGD(
        local.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay
    )
    for batch in batches:
        optimiser.zero_grad()
        loss = cross_entropy(local(x[batch]), y[batch])
        loss.backward()
        optimiser.step()
    return local


def average(models: Sequence[nn.Module], weights: Sequence[float]) -> dict[str, Tensor]:
    """sum_k p_k w_k, entry by entry. Paper: FedAvg Alg. 1, last server line.

    Whole numbers among the entries (a layer's counter) are the first model's.
    """
    states = [model.state_dict() for model in models]
    result = {}
    for name, first in states[0].items():
        if not first.is_floating_point():
            result[name] = first.clone()
            continue
        total = torch.zeros_like(first, dtype=torch.float64)
        for state, weight in zip(states, weights, strict=True):
            total = total + weight * state[name].double()
        result[name] = total.to(first.dtype)
    return result


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
) -> list[dict[str, Tensor]]:
    """The global model's state after each round. Paper: FedAvg Alg. 1.

    `participants[t]` are the clients of round t; `batches(k, t)` gives client k's
    batches of that round, over all its epochs, as indices into its own data;
    `weights(t, ids)` gives one weight for each of these clients.
    """
    server = deepcopy(model)
    states = []
    for t in range(rounds):
        ids = participants[t]
        trained = []
        for k in ids:
            x, y = clients[k]
            order = batches(k, t)
            trained.append(local_train(server, x, y, order, lr, momentum, weight_decay))
        server.load_state_dict(average(trained, weights(t, ids)))
        states.append({key: v.clone() for key, v in server.state_dict().items()})
    return states


def size_weights(clients: Sequence[Client]) -> Weights:
    """n_k = m_k / sum_j m_j over the participants. Paper: FedAvg Alg. 1."""

    def weights(round: int, ids: Sequence[int]) -> list[float]:
        total = 0
        for k in ids:
            total += len(clients[k][1])
        return [len(clients[k][1]) / total for k in ids]

    return weights


def equal_weights(round: int, ids: Sequence[int]) -> list[float]:
    """1 / |S| for each of the participants S."""
    return [1 / len(ids) for _ in ids]

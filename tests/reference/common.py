"""Shared by the plain versions: parameter dicts, one client's training, one record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.reference.fedavg import Batches, Client, Weights, average

__all__ = ["Batches", "Client", "Loss", "Round", "State", "Weights", "average"]

State = dict[str, Tensor]
Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]


@dataclass
class Round:
    """Results of a round, to compare.

    `model` is the state of the model that is evaluated; `server` and `clients` hold
    the state of each for the next round, by the paper's letter. `clients[letter][k]` is
    client k's, of all clients and not of the participants only.
    """

    model: State
    server: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, list[Any]] = field(default_factory=dict)


def entropy(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The loss of FedAvg: cross-entropy, mean over the batch."""
    return cross_entropy(model(x), y)


def live(model: nn.Module) -> State:
    """The parameters themselves: gradients flow into them."""
    return dict(model.named_parameters())


def parameters(model: nn.Module) -> State:
    """A copy of the parameters, without buffers."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def state(model: nn.Module) -> State:
    """A copy of parameters and buffers."""
    return {name: v.clone() for name, v in model.state_dict().items()}


def zeros(model: nn.Module) -> State:
    return {name: torch.zeros_like(p) for name, p in parameters(model).items()}


def plus(a: Mapping[str, Tensor], b: Mapping[str, Tensor], scale: float = 1.0) -> State:
    """a + scale * b."""
    return {name: a[name] + scale * b[name] for name in a}


def minus(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> State:
    return {name: a[name] - b[name] for name in a}


def combine(states: Sequence[State], weights: Sequence[float]) -> State:
    """sum_k p_k a_k, whatever the weights sum to."""
    total = {name: torch.zeros_like(v) for name, v in states[0].items()}
    for a, p in zip(states, weights, strict=True):
        total = plus(total, a, p)
    return total


def mean(states: Sequence[State]) -> State:
    return combine(states, [1 / len(states)] * len(states))


def inner(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> Tensor:
    """<a, b> of the whole vectors."""
    return torch.stack([(a[name] * b[name]).sum() for name in a]).sum()


def square(a: Mapping[str, Tensor]) -> Tensor:
    """||a||^2 of the whole vector."""
    return inner(a, a)


def put(model: nn.Module, values: State) -> None:
    """Set the parameters, in place."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(values[name])


def averaged(
    server: nn.Module, models: Sequence[nn.Module], weights: Sequence[float]
) -> nn.Module:
    """A model like the server's with the clients' weighted average, buffers too."""
    result = deepcopy(server)
    result.load_state_dict(average(models, weights))
    return result


def train(
    model: nn.Module,
    client: Client,
    batches: Iterable[Tensor],
    lr: float,
    momentum: float,
    weight_decay: float,
    loss: Loss = entropy,
    clip: float | None = None,
) -> nn.Module:
    """A trained copy: one SGD step on `loss` for each batch, gradients cut at `clip`.

    The cut is of the whole gradient's norm, before weight decay and momentum.
    """
    local = deepcopy(model)
    local.train()
    optimiser = torch.optim.SGD(
        local.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay
    )
    x, y = client
    for batch in batches:
        optimiser.zero_grad()
        loss(local, x[batch], y[batch]).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(local.parameters(), clip)
        optimiser.step()
    return local


def loss_on(model: nn.Module, client: Client) -> float:
    """Mean cross-entropy over everything a client has, in evaluation mode."""
    tested = deepcopy(model)
    tested.eval()
    with torch.no_grad():
        return float(entropy(tested, *client))


def size_shares(clients: Sequence[Client]) -> list[float]:
    """n_k = m_k / sum_j m_j over all clients."""
    sizes = [len(y) for _, y in clients]
    return [m / sum(sizes) for m in sizes]

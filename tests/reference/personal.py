"""Personalised methods: fine-tuning, Per-FedAvg (FO), pFedMe, Ditto.

Each keeps or makes a model for every client: client state "model".
"""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from tests.reference.common import (
    Batches,
    Client,
    Round,
    State,
    Weights,
    averaged,
    entropy,
    live,
    minus,
    parameters,
    plus,
    put,
    square,
    state,
    train,
)
from tests.reference.fedprox import proximal


def fine_tune(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    momentum: float,
    weight_decay: float,
    weights: Weights,
    tuning: Batches,
) -> list[Round]:
    """FedAvg; every client then takes one step for each batch of `tuning(k, t)`.

    What that makes is tested and thrown away.
    """
    server = deepcopy(model)
    sgd = (lr, momentum, weight_decay)
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            trained.append(train(server, clients[k], batches(k, t), *sgd))
        server = averaged(server, trained, weights(t, participants[t]))
        own = []
        for k in range(len(clients)):
            own.append(state(train(server, clients[k], tuning(k, t), *sgd)))
        history.append(Round(state(server), {}, {"model": own}))
    return history


def gradient(model: nn.Module, client: Client, batch: Tensor) -> State:
    """grad f(model; batch), at a copy of the model."""
    local = deepcopy(model)
    entropy(local, client[0][batch], client[1][batch]).backward()
    found = {}
    for name, p in local.named_parameters():
        assert p.grad is not None
        found[name] = p.grad
    return found


def moved(model: nn.Module, direction: State, scale: float) -> nn.Module:
    """A copy of the model at w + scale * direction."""
    local = deepcopy(model)
    put(local, plus(parameters(model), direction, scale))
    return local


def per_fedavg(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    weights: Weights,
    adapting: Batches,
) -> list[Round]:
    """Per-FedAvg, first order (Fallah et al. 2020, Algorithm 1).

    A batch is cut in two, the first part the smaller: y~ = y - lr grad f(y; first),
    y = y - lr grad f(y~; second); batches below four samples are left out. Tested is
    the server's model after one plain step for each batch of `adapting(k, t)`.
    """
    server = deepcopy(model)
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            y = deepcopy(server)
            y.train()
            for batch in batches(k, t):
                if len(batch) < 4:
                    continue
                half = len(batch) // 2
                ahead = moved(y, gradient(y, clients[k], batch[:half]), -lr)
                y = moved(y, gradient(ahead, clients[k], batch[half:]), -lr)
            trained.append(y)
        server = averaged(server, trained, weights(t, participants[t]))
        own = []
        for k in range(len(clients)):
            tested = train(server, clients[k], adapting(k, t), lr, 0.0, 0.0)
            own.append(state(tested))
        history.append(Round(state(server), {}, {"model": own}))
    return history


def near(
    y: nn.Module,
    client: Client,
    batch: Tensor,
    lam: float,
    inner_lr: float,
    inner_steps: int,
) -> nn.Module:
    """theta: gradient steps on f(theta; batch) + lam/2 ||theta - y||^2 from y."""
    theta, centre = deepcopy(y), parameters(y)
    theta.train()
    optimiser = torch.optim.SGD(theta.parameters(), lr=inner_lr)
    for _ in range(inner_steps):
        optimiser.zero_grad()
        away = square(minus(live(theta), centre))
        fit = entropy(theta, client[0][batch], client[1][batch])
        (fit + lam / 2 * away).backward()
        optimiser.step()
    return theta


def pfedme(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    weights: Weights,
    lam: float = 1.0,
    inner_lr: float = 0.1,
    inner_steps: int = 5,
) -> list[Round]:
    """pFedMe (Dinh et al. 2020, Algorithm 1): y = y - lr lam (y - theta) a batch.

    The server averages y; tested is a client's last theta, from its last participation
    (the first model before that).
    """
    server = deepcopy(model)
    own = [state(model) for _ in clients]
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            y = deepcopy(server)
            for batch in batches(k, t):
                theta = near(y, clients[k], batch, lam, inner_lr, inner_steps)
                own[k] = state(theta)
                y = moved(y, minus(parameters(y), parameters(theta)), -lr * lam)
            trained.append(y)
        server = averaged(server, trained, weights(t, participants[t]))
        history.append(Round(state(server), {}, {"model": list(own)}))
    return history


def ditto(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    lr: float,
    momentum: float,
    weight_decay: float,
    weights: Weights,
    personal: Batches,
    lam: float = 1.0,
    begin: str = "first",
) -> list[Round]:
    """Ditto (Li et al. 2021, Algorithm 1): FedAvg, and beside it one's own model v_k.

    A participant also trains v_k, over the batches `personal(k, t)`, on
    f(v) + lam/2 ||v - x||^2 with x the server's model at the start of the round. v_k
    starts as the "first" model there was, or as the "server"'s at the start of the
    round in which its client first takes part. Before that round, client state "model"
    is the server's new model, by which the client is judged.
    """
    server = deepcopy(model)
    own: list[nn.Module | None] = [None for _ in clients]
    sgd = (lr, momentum, weight_decay)
    history = []
    for t in range(rounds):
        pull, trained = proximal(parameters(server), lam / 2), []
        for k in participants[t]:
            trained.append(train(server, clients[k], batches(k, t), *sgd))
            v = own[k]
            if v is None:
                v = model if begin == "first" else server
            own[k] = train(v, clients[k], personal(k, t), *sgd, pull)
        server = averaged(server, trained, weights(t, participants[t]))
        judged = [state(server if v is None else v) for v in own]
        history.append(Round(state(server), {}, {"model": judged}))
    return history

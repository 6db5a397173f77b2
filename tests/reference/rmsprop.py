"""FedAvg with a local optimiser that a client keeps from one round to the next.

RMSProp, for text, is the case that matters; momentum that lasts is another, and AdamW.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import nn

from tests.reference.common import (
    Batches,
    Client,
    Round,
    Weights,
    averaged,
    entropy,
    state,
)

Optimiser = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


def rmsprop(lr: float, alpha: float = 0.99, eps: float = 1e-8) -> Optimiser:
    """PyTorch's RMSProp: s = alpha s + (1 - alpha) g^2; w -= lr g / (sqrt(s) + eps)."""
    return lambda of: torch.optim.RMSprop(of, lr=lr, alpha=alpha, eps=eps)


def adam(lr: float, betas: tuple[float, float], decay: float) -> Optimiser:
    """PyTorch's AdamW, its moments and its count a client's own."""
    how: Any = {"lr": lr, "betas": betas, "weight_decay": decay}
    return lambda of: torch.optim.AdamW(of, **how)


def run(
    model: nn.Module,
    clients: Sequence[Client],
    rounds: int,
    participants: Sequence[Sequence[int]],
    batches: Batches,
    optimiser: Optimiser,
    weights: Weights,
) -> list[Round]:
    """Weights restart from the server's model each round, running averages do not.

    Client state "optimiser": the list of its state per parameter, or None.
    """
    server = deepcopy(model)
    memory: list[Any] = [None for _ in clients]
    history = []
    for t in range(rounds):
        trained = []
        for k in participants[t]:
            local = deepcopy(server)
            local.train()
            stepper = optimiser(local.parameters())
            if memory[k] is not None:
                stepper.load_state_dict(deepcopy(memory[k]))
            x, y = clients[k]
            for batch in batches(k, t):
                stepper.zero_grad()
                entropy(local, x[batch], y[batch]).backward()
                stepper.step()
            memory[k] = deepcopy(stepper.state_dict())
            trained.append(local)
        server = averaged(server, trained, weights(t, participants[t]))
        kept = [None if m is None else deepcopy(m["state"]) for m in memory]
        history.append(Round(state(server), {}, {"optimiser": kept}))
    return history

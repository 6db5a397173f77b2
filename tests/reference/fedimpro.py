"""FedImpro as in Algorithm 1 of the paper, and as in its authors' code.

The lower part of the network is `model.features`, the upper part `model.head`. The
server and the clients hold mu and s, one row of the flattened feature per class.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.reference.common import Batches, Client, Round, Weights, averaged, state

Normal = Callable[[int, int, int, torch.Size], Tensor]
Upload = Callable[[int, int, str, torch.Size], Tensor]


@dataclass(frozen=True)
class Variant:
    """Variant of FedImpro: the defaults are the authors' code."""

    omega: float | None = None  # weight of a batch's statistics; None: min(1, D/5000)
    cap: float | None = 0.1  # largest entry of s
    variance: bool = False  # s is a variance (Eq. 6), else a standard deviation
    matching: bool = False  # synthetic labels are the batch's, else class-balanced
    alpha: Callable[[int], float] = lambda t: t / 500  # weight of the synthetic loss
    beta_g: float = 0.0  # the server's momentum of mu and s


def paper(
    beta_m: float, beta_g: float, cap: float | None = 0.1, variance: bool = False
) -> Variant:
    """The text's variant, whose coefficients the text does not give."""
    return Variant(1 - beta_m, cap, variance, True, lambda t: 1.0, beta_g)


def synthetic_labels(y: Tensor, classes: int, matching: bool) -> Tensor:
    """The batch's own, or 0, 1, ..., C-1 over and over, floor(B / C) + 1 times."""
    if matching:
        return y
    labels = []
    for _ in range(len(y) // classes + 1):
        labels.extend(range(classes))
    return torch.tensor(labels)


def updated(
    mu: Tensor, s: Tensor, h: Tensor, y: Tensor, variant: Variant
) -> tuple[Tensor, Tensor]:
    """The local statistics after one batch. Paper: FedImpro Eq. (6).

    A class with one sample in the batch has a mean but no spread; one with none keeps
    its rows. Then no entry of s may exceed the cap.
    """
    omega = min(1.0, h.shape[1] / 5000) if variant.omega is None else variant.omega
    mu, s = mu.clone(), s.clone()
    for c in y.unique().tolist():
        mine = h[y == c]
        mu[c] = (1 - omega) * mu[c] + omega * mine.mean(0)
        if len(mine) > 1:
            spread = mine.var(0) if variant.variance else mine.std(0)
            s[c] = (1 - omega) * s[c] + omega * spread
    if variant.cap is not None:
        s = s.clamp(max=variant.cap)
    return mu, s


def local_train(
    model: nn.Module,
    client: Client,
    batches: Sequence[Tensor],
    optimiser: Callable[[nn.Module], torch.optim.Optimizer],
    mu: Tensor,
    s: Tensor,
    alpha: float,
    variant: Variant,
    normal: Callable[[int, torch.Size], Tensor],
) -> tuple[nn.Module, Tensor, Tensor]:
    """Steps on CE(real) + alpha CE(synthetic). Paper: FedImpro Eq. (5).

    Real and synthetic features pass the upper part together, as one batch.
    """
    local = deepcopy(model)
    local.train()
    low, high = local.get_submodule("features"), local.get_submodule("head")
    stepper = optimiser(local)
    x, y = client
    for step, batch in enumerate(batches):
        labels = synthetic_labels(y[batch], len(mu), variant.matching)
        spread = s.sqrt() if variant.variance else s
        xi = normal(step, torch.Size([len(labels), mu.shape[1]]))
        fake = mu[labels] + spread[labels] * xi
        real = low(x[batch])
        shaped = fake.reshape(len(fake), *real.shape[1:])
        logits = high(torch.cat([real, shaped]))
        ours, theirs = logits[: len(batch)], logits[len(batch) :]
        loss = cross_entropy(ours, y[batch]) + alpha * cross_entropy(theirs, labels)
        stepper.zero_grad()
        loss.backward()
        mu, s = updated(mu, s, real.detach().flatten(1), y[batch], variant)
        stepper.step()
    return local, mu, s


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
    mu: Tensor,
    s: Tensor,
    normal: Normal,
    variant: Variant | None = None,
    noise: Upload | None = None,
) -> list[Round]:
    """FedImpro. Paper: FedImpro Alg. 1, Eq. (7).

    `mu` and `s` (classes x features) are the server's first. `normal(k, t, step,
    shape)` gives standard normal numbers, one row a synthetic sample; `noise(k, t,
    "mu" or "s", shape)` is added to what a client sends. The server averages mu and s
    without regard to sizes. Server state "mu" and "s"; "sent": {client: (mu, s)},
    before noise.
    """
    variant = Variant() if variant is None else variant
    server, mu, s = deepcopy(model), mu.clone(), s.clone()

    def optimiser(local: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            local.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay
        )

    def draws(k: int, t: int) -> Callable[[int, torch.Size], Tensor]:
        return lambda step, shape: normal(k, t, step, shape)

    history = []
    for t in range(rounds):
        trained, sent = [], {}
        total_mu, total_s = torch.zeros_like(mu), torch.zeros_like(s)
        for k in participants[t]:
            order, alpha = list(batches(k, t)), variant.alpha(t)
            local, mu_k, s_k = local_train(
                server, clients[k], order, optimiser, mu, s, alpha, variant, draws(k, t)
            )
            trained.append(local)
            sent[k] = (mu_k, s_k)
            if noise is not None:
                mu_k = mu_k + noise(k, t, "mu", mu_k.shape)
                s_k = s_k + noise(k, t, "s", s_k.shape)
            total_mu, total_s = total_mu + mu_k, total_s + s_k
        beta, count = variant.beta_g, len(participants[t])
        mu = beta * mu + (1 - beta) * total_mu / count
        s = beta * s + (1 - beta) * total_s / count
        server = averaged(server, trained, weights(t, participants[t]))
        history.append(Round(state(server), {"mu": mu, "s": s, "sent": sent}))
    return history

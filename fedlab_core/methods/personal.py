"""Methods that leave every client a model of its own.

Citation: fine-tuning; Fallah et al. 2020, "Personalized Federated Learning with
Theoretical Guarantees" (Per-FedAvg); Dinh et al. 2020, "Personalized Federated Learning
with Moreau Envelopes" (pFedMe); Li et al. 2021, "Ditto: Fair and Robust Federated
Learning Through Personalization".

Symbols: Per-FedAvg's alpha, beta -> both `Local.lr`; pFedMe's lambda, K, inner eta ->
`lam`, `inner_steps`, `inner_lr`, theta -> "theta" of a client's memory; Ditto's lambda
-> `lam`, v_k -> the model kept beside the group's.

Algorithm: Per-FedAvg Alg. 1 -> `Ahead`; pFedMe Alg. 1 -> `Moreau`; Ditto Alg. 1 ->
`Personal(beside=...)` with `Tied`.

Deviations from the papers:
1. Per-FedAvg is the first-order form on one mini-batch cut in two; one of fewer than
   four samples does nothing.
2. pFedMe's server is the plain weighted average.
3. Who has not taken part yet is judged by the group's model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlab_core.client.local import Batch, Given, Local, Net, cross_entropy, entropies
from fedlab_core.errors import require
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.methods.fedprox import apart
from fedlab_core.rounds.method import Method, Personal
from fedlab_core.tree import Tree, named, prefixed


def _follow(of: Callable[[Tree], Tensor], params: Tree, lr: float, steps: int) -> Tree:
    """Parameters after some plain gradient steps, as constants."""
    now = {n: w.detach() for n, w in params.items()}
    for _ in range(steps):
        grads = torch.func.grad(of)(now)
        now = {n: (w - lr * grads[n]).detach() for n, w in now.items()}
    return now


@dataclass(frozen=True)
class Ahead:
    """The loss, and its gradient, one step ahead. Paper: PerFedAvg Alg. 1."""

    lr: float

    def __call__(self, net: Net, params: Tree, batch: Batch, given: Given) -> Tensor:
        there = batch.weight > 0
        n, place = there.sum(), torch.arange(len(there), device=there.device)
        first = (place < n // 2) & there
        halves = [(part / part.sum().clamp(min=1)) for part in (first, ~first & there)]

        def loss(at: Tree, half: Tensor) -> Tensor:
            each = entropies(net(at, batch.x), batch.y)
            return (half.to(each) * each).sum()

        moved = _follow(lambda at: loss(at, halves[0]), params, self.lr, 1)
        ahead = {n: w + (moved[n] - w.detach()) for n, w in params.items()}
        return (n >= 4) * loss(ahead, halves[1])


@dataclass(frozen=True)
class Moreau:
    """lam/2 |y - theta|^2, theta near the minimum of f + lam/2 |theta - y|^2.

    Its gradient is lam (y - theta). Paper: pFedMe Alg. 1.
    """

    lam: float = 1.0
    inner_lr: float = 0.1
    inner_steps: int = 5

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: Given
    ) -> tuple[Tensor, Tree]:
        y = {n: w.detach() for n, w in params.items()}

        def envelope(theta: Tree) -> Tensor:
            near = self.lam / 2 * apart(theta, y)
            return cross_entropy(net, theta, batch, given) + near

        theta = _follow(envelope, params, self.inner_lr, self.inner_steps)
        return self.lam / 2 * apart(params, theta), prefixed("theta", theta)


def begin_theta(start: Tree, sent: Tree) -> Tree:
    """theta is the model before it is anything else."""
    return prefixed("theta", start)


@dataclass(frozen=True)
class Tied:
    """f(v) + lam/2 |v - x|^2, x being the group's model of the round's start."""

    lam: float = 1.0

    def __call__(self, net: Net, params: Tree, batch: Batch, given: Given) -> Tensor:
        x = named(given.sent, "round")
        return cross_entropy(net, params, batch, given) + self.lam / 2 * apart(
            params, x
        )


def finetune(local: Local | None = None, steps: int = 2) -> Method:
    """FedAvg; every client takes some steps of its own before it is judged."""
    require(steps >= 1, f"steps must be 1 or more, not {steps}")
    method = fedavg(local, name="Fine-tune")
    adapt = replace(method.local, iterations=steps)
    return replace(method, personal=Personal("fine-tune", adapt=adapt))


def per_fedavg(local: Local | None = None) -> Method:
    """FedAvg towards a model that is good after one step. Judged after that step."""
    rule = local or Local()
    adapt = replace(rule, iterations=1)
    method = fedavg(replace(rule, loss=Ahead(rule.lr)), name="Per-FedAvg")
    return replace(method, personal=Personal("one step", adapt=adapt))


def pfedme(local: Local | None = None, lam: float = 1.0, **options) -> Method:
    """FedAvg of Moreau envelopes; judged is theta. `options` are those of `Moreau`."""
    require(lam > 0, f"lam must be above 0, not {lam}")
    loss = Moreau(lam, **options)
    rule = replace(local or Local(), loss=loss, memory=begin_theta)
    method = fedavg(rule, name="pFedMe")
    return replace(method, personal=Personal("theta", kept="theta"))


def ditto(local: Local | None = None, lam: float = 1.0) -> Method:
    """FedAvg, and beside it a model of each client's own that stays near it."""
    require(lam >= 0, f"lam must be 0 or more, not {lam}")
    method = fedavg(local, name="Ditto")
    beside = replace(method.local, loss=Tied(lam))
    return replace(method, personal=Personal("beside", beside=beside))

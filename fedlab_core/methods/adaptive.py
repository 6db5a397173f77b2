"""FedAvgM and FedAdam: the server follows the mean update like an optimiser.

Citation: Hsu et al. 2019, "Measuring the Effects of Non-Identical Data Distribution for
Federated Visual Classification"; Reddi et al. 2021, "Adaptive Federated Optimization".

Symbols: Delta_t -> `move`, the mean update; v -> "v" of the server's state; m -> "m";
beta, beta_1, beta_2, tau, eta -> `beta`, `beta1`, `beta2`, `tau`, `lr`.

Algorithm: FedAvgM, the server's step -> `Momentum`; FedAdam, Alg. 2 -> `Adam`.

Deviations from the papers:
1. `damped=True`, the default, is v <- beta v + (1 - beta) Delta, as in FedDisco's code;
   `damped=False` is the paper's v <- beta v + Delta.
2. FedAdam's defaults (.9, .99, 1e-5) are those of FedLAW's code; m and v start at 0
   and are not corrected for it.
3. BatchNorm's statistics are averaged.
"""

from dataclasses import dataclass

import torch

from fedlab_core.client.local import Local
from fedlab_core.errors import require
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds.method import Gathered, Method, Next
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, named, prefixed, weighted_sum


def _mean_and_move(now: Gathered) -> tuple[Tree, Tree]:
    """The mean model, and how far its parameters are from where clients began."""
    mean, x = weighted_sum(now.models, now.weights), now.before.begin
    return mean, {n: mean[n] - x[n] for n in sorted(now.world.parameters)}


@dataclass(frozen=True)
class Momentum:
    """v <- beta v + (1 - beta) Delta, w <- w + v."""

    beta: float = 0.5
    damped: bool = True
    lr: float = 1.0
    name: str = "momentum"
    tells: tuple[str, ...] = ()
    hears: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(0 <= self.beta < 1, f"beta must be in [0, 1), not {self.beta}")
        require(self.lr > 0, f"lr must be above 0, not {self.lr}")

    def begin(self, model: Tree, world: World, clients: int) -> Next:
        names = sorted(world.parameters)
        return Next(model, {n: torch.zeros_like(model[n]) for n in names})

    def __call__(self, now: Gathered) -> Next:
        mean, move = _mean_and_move(now)
        share = 1 - self.beta if self.damped else 1.0
        v = {
            n: self.beta * old + share * move[n] for n, old in now.before.state.items()
        }
        x = now.before.begin
        return Next(mean | {n: x[n] + self.lr * v[n] for n in v}, v)


@dataclass(frozen=True)
class Adam:
    """m, v of the mean update; w <- w + lr m / (sqrt(v) + tau).

    Paper: FedAdam Alg. 2.
    """

    lr: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-5
    name: str = "adam"
    tells: tuple[str, ...] = ()
    hears: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.lr > 0, f"lr must be above 0, not {self.lr}")
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require(0 <= value < 1, f"{name} must be in [0, 1), not {value}")
        require(self.tau > 0, f"tau must be above 0, not {self.tau}")

    def begin(self, model: Tree, world: World, clients: int) -> Next:
        zero = {n: torch.zeros_like(model[n]) for n in sorted(world.parameters)}
        return Next(model, prefixed("m", zero) | prefixed("v", zero))

    def __call__(self, now: Gathered) -> Next:
        mean, move = _mean_and_move(now)
        m, v = (named(now.before.state, part) for part in ("m", "v"))
        m = {n: self.beta1 * m[n] + (1 - self.beta1) * d for n, d in move.items()}
        v = {n: self.beta2 * v[n] + (1 - self.beta2) * d**2 for n, d in move.items()}
        x = now.before.begin
        step = {n: self.lr * m[n] / (v[n].sqrt() + self.tau) for n in m}
        model = mean | {n: x[n] + d for n, d in step.items()}
        return Next(model, prefixed("m", m) | prefixed("v", v))


def fedavgm(
    local: Local | None = None, beta: float = 0.5, damped: bool = True, lr: float = 1.0
) -> Method:
    """FedAvg with momentum on the server."""
    return fedavg(local, name="FedAvgM", server=Momentum(beta, damped, lr))


def fedadam(local: Local | None = None, lr: float = 0.01, **options) -> Method:
    """FedAvg with Adam on the server; `options` are those of `Adam`."""
    return fedavg(local, name="FedAdam", server=Adam(lr, **options))

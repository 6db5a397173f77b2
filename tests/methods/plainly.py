"""Ours beside the plain version: the same world, model, draws and mini-batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlab_core import Method, Run, Training, World, run_all
from fedlab_core.engine import Client, batch_order
from fedlab_core.keys import derive_seed
from fedlab_core.models import initial_state
from fedlab_core.rounds.records import Round, draw_participants
from tests.reference import fedavg

ROUNDS, SEED = 3, 7
LOCAL = Training(lr=0.05, epochs=2, batch_size=16, momentum=0.5, weight_decay=1e-3)


Clients = list[tuple[Tensor, Tensor]]
Batches = Callable[[int, int], list[Tensor]]


@dataclass
class Setting:
    """Arguments that every plain `run` begins with."""

    model: torch.nn.Module
    clients: Clients
    rounds: int
    participants: list[list[int]]
    batches: Batches
    local: Training

    @property
    def start(self) -> tuple[torch.nn.Module, Clients, int, list[list[int]], Batches]:
        """The arguments up to the batches."""
        return (
            self.model, self.clients, self.rounds, self.participants, self.batches
        )  # fmt: skip

    @property
    def sgd(self) -> tuple[float, float, float]:
        return self.local.lr, self.local.momentum, self.local.weight_decay

    @property
    def by_size(self):
        return fedavg.size_weights(self.clients)

    @property
    def equal(self):
        return fedavg.equal_weights


def setting(
    w: World, local: Training, participants: int | None, rounds: int = ROUNDS
) -> Setting:
    """The setting of seed SEED in a world."""
    model = w.make()
    model.load_state_dict(initial_state(w.make, derive_seed(SEED, 0xF1257)))
    clients = [(w.x[i], w.y[i]) for i in w.partition.indices]

    def batches(k: int, t: int) -> list[Tensor]:
        mine = torch.arange(len(clients[k][1]))
        return batch_order(Client(mine, (SEED, t, k)), local)

    drawn = [draw_participants(len(w), participants, SEED, t) for t in range(rounds)]
    return Setting(model, clients, rounds, drawn, batches, local)


def played(
    w: World,
    method: Method,
    participants: Any,
    engine: str = "auto",
    rounds: int = ROUNDS,
) -> list[Round]:
    """Every round of ours."""
    seen: list[Round] = []
    play = Run(
        w, method, rounds, SEED, participants, observe=lambda r: seen.append(r) or {}
    )
    run_all([play], engine=engine)  # type: ignore[arg-type]
    return seen


def agree(ours: Sequence[Round], plain: Sequence, tolerance: float = 1e-5) -> None:
    """The judged model is the same after every round."""
    assert len(ours) == len(plain)
    for r, other in zip(ours, plain, strict=True):
        same(r.after, other.model, 0, tolerance)


def same(stacked: dict, state: dict, row: int, tolerance: float = 1e-5) -> None:
    for name, v in state.items():
        torch.testing.assert_close(
            stacked[name][row], v, rtol=tolerance, atol=tolerance
        )


def differ(a: Sequence[Round], b: Sequence[Round], least: float = 1e-4) -> None:
    """The two end in models that differ by more than rounding."""
    gap = max(float((v - b[-1].after[n]).abs().max()) for n, v in a[-1].after.items())
    assert gap > least, gap


def judged(world, states: list) -> float:
    """The mean test accuracy of every client's model, by a plain loop."""
    right = []
    for state in states:
        model = world.make()
        model.load_state_dict(state)
        model.eval()
        with torch.no_grad():
            hit = model(world.x_test).argmax(1) == world.y_test
        right.append(float(hit.double().mean()))
    return float(np.mean(right))

"""What a round has its clients look at: steps and samples, none of them played.

Who holds how much is enough to know it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fedlab_core import data
from fedlab_core.client import Training
from fedlab_core.engine import Client, count_steps
from fedlab_core.errors import require
from fedlab_core.rounds.records import draw_participants
from fedlab_ledger.model.cells import Setting, digest
from fedlab_ledger.run.build import data_of, scenario_of

AT_ONCE = 256  # clients that the stacked engine has in a cohort, at most
_ROUNDS = 8  # looked at, where another cohort takes part in each
_SIZES: dict[str, tuple[int, ...]] = {}


@dataclass(frozen=True)
class Load:
    """A cohort's training in a round, its seeds together: the mean of some rounds."""

    clients: float
    longest: float  # steps that all have to wait for, where they are taken side by side
    steps: float  # of all clients
    samples: float  # that these look at


def load_of(
    s: Setting, seeds: Sequence[int], training: Training, everyone: bool = False
) -> Load:
    """How much the participants train in a round, or how much everyone would."""
    held = [sizes(s, seed) for seed in seeds]
    take = None if everyone else s.participants
    drawn = training.iterations is not None or training.cap is not None
    same = not drawn and take in (None, len(held[0]))
    rounds = range(1 if same else min(_ROUNDS, s.rounds))
    found = [_round(held, seeds, take, t, training) for t in rounds]
    return Load(*(sum(part) / len(found) for part in zip(*found, strict=True)))


def _round(
    held: list[tuple[int, ...]],
    seeds: Sequence[int],
    take: int | None,
    t: int,
    training: Training,
) -> tuple[float, float, float, float]:
    cohort = [
        Client(torch.arange(mine[k]), (seed, t, k))
        for mine, seed in zip(held, seeds, strict=True)
        for k in draw_participants(len(mine), take, seed, t)
    ]
    steps, batch = count_steps(cohort, training).tolist(), training.batch_size
    samples = 0.0
    for n, client in zip(steps, cohort, strict=True):
        size = len(client.indices)
        epoch = size // batch * batch if training.drop_last else size
        samples += n * epoch / max(1, -(-epoch // batch))
    waited = sum(sorted(steps, reverse=True)[::AT_ONCE])
    return len(cohort), waited, sum(steps), samples


def sizes(s: Setting, seed: int) -> tuple[int, ...]:
    """How many training samples every client holds."""
    who = [s.dataset, s.data, s.sample, s.tail, s.pooled, s.kind, s.scenario, s.held]
    key = digest([*who, seed])
    if key not in _SIZES:
        check_there(s)
        made = scenario_of(s, data_of(s), seed)
        _SIZES[key] = tuple(made.train.sizes.tolist())
    return _SIZES[key]


def check_there(s: Setting) -> None:
    """Refuse a setting whose data are not on this machine: nothing is fetched."""
    path = data.data_root() / f"{s.dataset}.npz"
    there = s.dataset in data.BUILT_IN or path.exists()
    require(there, f"its data are not here: {path}")

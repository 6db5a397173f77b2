"""By which model every client is judged, and on what."""

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.client.rule import PLAIN, ClientInput
from fedlab_core.engine import Client, Trained
from fedlab_core.errors import require
from fedlab_core.metrics import Scores
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.judging import judged, means
from fedlab_core.rounds.method import nothing
from fedlab_core.rounds.records import Run, TrainRequest
from fedlab_core.tree import Tree, subtree, take


@dataclass(frozen=True)
class Evaluated:
    """The numbers of a round; the groups' scores, or each client's own.

    `models` are the clients' own, with a client axis, where a method makes some.
    """

    row: dict[str, float]
    scores: Scores | None = None
    clients: Tensor | None = None
    models: Tree | None = None


def evaluate_round(
    run: Run, t: int, models: Tree, group_of: list[int], kept: ClientStates
) -> Generator[TrainRequest, Trained, Evaluated]:
    """Test the groups' models on everything, or every client's on its own test.

    Accuracy, or the world's metric, and loss are means over clients, each with the
    model that it is given.
    """
    w, personal = run.world, run.method.personal
    if w.tests is None and personal is nothing:
        found = judged(w, models)
        each = found.of(group_of) if len(found.loss) > 1 else found
        return Evaluated(means(w, each), found.scores)
    states = yield from _personal(run, t, take(models, group_of), kept)
    lists = w.tests or [torch.arange(len(w.x_test))] * len(w)
    own = judged(w, states, lists)
    made = None if personal is nothing else states
    row = means(w, own, apart=True)
    return Evaluated(row, clients=own.value.cpu(), models=made)


def _personal(
    run: Run, t: int, states: Tree, kept: ClientStates
) -> Generator[TrainRequest, Trained, Tree]:
    """The models by which every client is judged, with a client axis."""
    w, personal, everyone = run.world, run.method.personal, range(len(run.world))
    if personal.adapt:
        cohort = [Client(w.client(k), (run.seed, t, k)) for k in everyone]
        given = ClientInput(states)
        trained = yield TrainRequest(cohort, given, personal.adapt, PLAIN, False)
        return trained.states
    for k in everyone if personal.kept or personal.own_model else ():
        if k in kept.of:
            mine = subtree(kept.of[k], personal.kept) if personal.kept else kept.of[k]
            there = bool(mine) and mine.keys() <= states.keys()
            require(there, f"personal={personal.name}: clients keep no {personal.kept}")
            for n, v in mine.items():
                states[n][k] = v.to(states[n])
    return states

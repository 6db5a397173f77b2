"""By which model every client is judged, and on what."""

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.client.rule import PLAIN, ClientInput
from fedlab_core.engine import Client, Trained
from fedlab_core.errors import require
from fedlab_core.metrics import Scores, evaluate, evaluate_own
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.method import nothing
from fedlab_core.rounds.records import Run, TrainRequest
from fedlab_core.tree import Tree, subtree, take


@dataclass(frozen=True)
class Evaluated:
    """The numbers of a round; the groups' scores, or the clients' accuracies.

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

    Accuracy and loss are means over clients, each with the model that it is given.
    """
    w, personal = run.world, run.method.personal
    if w.tests is None and personal is nothing:
        scores = evaluate(w.model, models, w.x_test, w.y_test, len(w.classes))
        accuracy, loss = scores.accuracy, scores.loss
        if len(accuracy) > 1:
            accuracy, loss = accuracy[group_of], loss[group_of]
        row = {"accuracy": float(accuracy.mean()), "loss": float(loss.mean())}
        return Evaluated(row, scores)
    states = yield from _personal(run, t, take(models, group_of), kept)
    lists = w.tests or [torch.arange(len(w.x_test))] * len(w)
    own = evaluate_own(w.model, states, w.x_test, w.y_test, lists)
    row = {"accuracy": float(own.accuracy.mean()), "loss": float(own.loss.mean())}
    row |= {"worst": float(own.accuracy.min()), "spread": float(own.accuracy.std())}
    made = None if personal is nothing else states
    return Evaluated(row, clients=own.accuracy.cpu(), models=made)


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

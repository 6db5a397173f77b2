"""Numbers that the page draws of a round, from the core's own round."""

from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import one_hot

from fedlab_core import tree
from fedlab_core.models.network import Network
from fedlab_core.rounds.records import Round


def _rates(now: Round) -> torch.Tensor:
    """Share of each class's letters that each client's model reads."""
    w = now.world
    models = now.personal or tree.take(now.after, now.group_of)
    net = Network(w.model)
    read = [net(tree.take(models, k), w.x_test).argmax(1) for k in range(len(w))]
    right = (torch.stack(read) == w.y_test).float()
    of_class = one_hot(w.y_test, w.counts.shape[1]).float()
    return right @ of_class / of_class.sum(0)


def own_letters(now: Round) -> list[float]:
    """Each client's accuracy, on letters as often as it has them."""
    counts = now.world.counts.float()
    return ((_rates(now) * counts).sum(1) / counts.sum(1)).tolist()


def own_accuracy(now: Round) -> float:
    """The clients' mean accuracy, each on letters as often as it has them."""
    return float(np.mean(own_letters(now)))


def letters_read(now: Round) -> list[float]:
    """Share of each class's letters that is read, mean over the clients' models."""
    return _rates(now).mean(0).tolist()


def counted(now: Round) -> list[torch.Tensor]:
    """Each group's weights: those that its server learnt, or those of its rule."""
    learnt = [server.memory.get("lambda") for server in now.servers]
    pairs = zip(now.weights, learnt, strict=True)
    return [w if own is None or not len(w) else own for w, own in pairs]


def _updates(now: Round) -> torch.Tensor:
    """How far each client that took part moved, as a row."""
    before = tree.take(now.before, [now.group_of[k] for k in now.ids])
    moved = {n: now.trained.states[n] - v for n, v in before.items()}
    return tree.flatten(moved, True).double()


def _shares(now: Round) -> tuple[float, float]:
    updates, parts = _updates(now), []
    for g, weights in enumerate(counted(now)):
        rows = [i for i, k in enumerate(now.ids) if now.group_of[k] == g]
        if rows:
            mine, share = updates[rows], weights.double()
            each = share * mine.norm(dim=1)
            parts.append([(share @ mine).norm() / each.sum(), each.norm() / each.sum()])
    left, unrelated = torch.tensor(parts).mean(0).tolist()
    return left, unrelated


def left(now: Round) -> float:
    """Share of the clients' weighted updates that is left once they are added up."""
    return _shares(now)[0]


def unrelated(now: Round) -> float:
    """Share that would be left if no two updates had a direction in common."""
    return _shares(now)[1]


def agreement(now: Round) -> float:
    """Mean cosine between the updates of two clients."""
    unit = torch.nn.functional.normalize(_updates(now), dim=1)
    pairs = (unit @ unit.T)[*torch.tril_indices(len(unit), len(unit), -1)]
    return float(pairs.mean()) if len(pairs) else 1.0


def walked(now: Round) -> float:
    """Mean length of an update."""
    return float(_updates(now).norm(dim=1).mean())


def _sum(now: Round) -> float:
    """Sum of its weights as a group's server has made it, mean over groups."""
    return float(np.mean([float(s.metrics.get("gamma", 1)) for s in now.servers]))


SEEN: dict[str, Callable[[Round], float]] = {
    "own": own_accuracy,
    "left": left,
    "unrelated": unrelated,
    "agreement": agreement,
    "walked": walked,
    "weight": lambda now: max(float(w.max()) for w in counted(now) if len(w)),
    "sum": _sum,
}

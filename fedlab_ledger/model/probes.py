"""Observers that try models out: mixtures of the clients' models, the curvature of the
loss, and the clients that learnt weights favour."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlab_core.metrics import discrepancy, evaluate
from fedlab_core.metrics.labels import weight_correlations
from fedlab_core.rounds.records import Round
from fedlab_core.tree import take
from fedlab_ledger.model.landscape import between, rescaled, simplex
from fedlab_use.analysis import top_curvature

Numbers = dict[str, float]
Observer = Callable[[Round], Numbers]
Memory = dict[str, Any]  # of an observer, of the rounds before

_FACTORS = np.linspace(0.9, 1.1, 21)  # what the final model is multiplied by
_SAMPLES = 1000  # of the test set, to find the curvature
_LATER = 5  # every so many rounds, after the first two


def learnt(now: Round) -> Tensor:
    """The participants' weights, of one group: those that the server learnt, if any."""
    found = now.servers[0].memory.get("lambda", now.weights[0])
    return found.detach().cpu().double()


def local(now: Round) -> Numbers:
    """Correlation of the clients' test accuracy with their size, and with balance.

    Pearson's r with the size, and with minus the L2 discrepancy.
    Paper: FedDisco Fig. 2.
    """
    accuracy = _accuracies(now)
    counts = now.world.counts[now.ids].double()
    size, apart = counts.sum(1).numpy(), discrepancy(counts, metric="l2").numpy()
    return {"size": _pearson(accuracy, size), "balance": _pearson(accuracy, -apart)}


def _pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r; NaN where one of the two does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(a, b)[0, 1])


def _accuracies(now: Round) -> np.ndarray:
    w = now.world
    found = evaluate(w.model, now.trained.states, w.x_test, w.y_test, len(w.classes))
    return found.accuracy.cpu().numpy()


def mixture(now: Round) -> Numbers:
    """Best weight, between 0 and 1, of the better of two clients of like size.

    The two are those whose sizes are nearest; "gain" is in %, over equal weights.
    Paper: FedDisco Fig. 2.
    """
    sizes, accuracy = now.world.counts.sum(1)[now.ids].tolist(), _accuracies(now)
    pairs = combinations(range(len(sizes)), 2)
    pair = min(pairs, key=lambda p: abs(sizes[p[0]] - sizes[p[1]]))
    worse, better = sorted(pair, key=lambda row: accuracy[row])
    w, states = now.world, now.trained.states
    a, b = take(states, worse), take(states, better)
    curve = between(w.model, a, b, w.x_test, w.y_test)
    best = int(np.argmax(curve.accuracy))
    half = curve.accuracy[np.argmin(np.abs(curve.at - 0.5))]
    gain = 100 * float(curve.accuracy[best] - half)
    return {"best": float(curve.at[best]), "gain": gain}


def triangle(now: Round) -> Numbers:
    """The best mixture of three clients' models, on the test set, in steps of .05.

    Client 0's weight in it, its distance from the weights used (half the sum of the
    differences), and how much lower its loss is. Without three clients, nothing.
    Paper: FedLAW Fig. 12.
    """
    if len(now.ids) != 3 or now.scores is None:
        return {}
    w = now.world
    found = simplex(w.model, now.trained.states, w.x_test, w.y_test)
    away = np.abs(found.best - learnt(now).numpy()).sum() / 2
    less = float(now.scores.loss[0]) - float(np.nanmin(found.loss))
    return {"first": float(found.best[0]), "away": float(away), "less": less}


def shrunk(now: Round) -> Numbers:
    """Factor from .9 to 1.1 with the lowest loss of the model; the loss added by .9.

    Paper: FedLAW Fig. 4.
    """
    w, state = now.world, take(now.after, 0)
    loss = rescaled(w.model, state, _FACTORS, w.x_test, w.y_test).loss
    at_one = loss[len(loss) // 2]
    best = float(_FACTORS[int(np.argmin(loss))])
    return {"best": best, "costs": float(loss[0] - at_one)}


def curvature(now: Round) -> Numbers:
    """Largest eigenvalue of the Hessian, and its ratio to the fifth, now and then.

    Paper: FedLAW Fig. 10.
    """
    if now.number > 2 and now.number % _LATER:
        return {}
    w, draws = now.world, torch.Generator().manual_seed(now.number)
    x, y = w.x_test[:_SAMPLES], w.y_test[:_SAMPLES]
    found = top_curvature(w.model, take(now.after, 0), x, y, draws)
    return {"top": found.top, "ratio": found.ratio}


def favour(now: Round, memory: Memory) -> Numbers:
    """Pearson's r of the weights of all rounds so far with size, and with balance.

    Paper: FedLAW Table 11.
    """
    none = torch.zeros(len(now.world), dtype=torch.float64)
    before = memory.get("total", none)
    memory["total"] = before.index_add(0, torch.tensor(now.ids), learnt(now))
    return weight_correlations(memory["total"], now.world.counts)

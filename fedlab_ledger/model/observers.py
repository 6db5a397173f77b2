"""Observers: numbers of every round beside accuracy and loss, for cells to report.

A cell whose metric is "last:classes.tail" has its runs watched by the observer
"classes", and reports its number "tail". A number that a round does not have is left
out. An observer's memory is a dict that it is given with every round, so that a run
can go on from a checkpoint.
"""

from collections.abc import Callable, Iterable

from torch import Tensor

from fedlab_core.errors import require
from fedlab_core.metrics import coherence, discrepancy, evaluate
from fedlab_core.metrics.labels import heterogeneity_coherence
from fedlab_core.rounds.records import Round
from fedlab_core.tree import Tree, flatten, norm, take
from fedlab_ledger.model import probes
from fedlab_ledger.model.probes import Memory, Numbers, Observer, learnt
from fedlab_use.analysis import (
    client_variance,
    head_middle_tail,
    layer_divergence,
    mean_divergence,
)

_SMALL = 0.01  # a parameter that counts as close to zero


def classes(now: Round) -> Numbers:
    """Accuracy by class, in %: frequent, middle and rare ones, mean and deviation.

    Paper: FedDisco Fig. 8.
    """
    if now.scores is None:
        return {}
    each = 100 * now.scores.per_class[0].cpu()
    parts = head_middle_tail(each, now.world.counts.sum(0))
    found = {"head": parts.head, "middle": parts.middle, "tail": parts.tail}
    spread = float(each.std(correction=0))
    return found | {"mean": float(each.mean()), "deviation": spread}


def clients(now: Round) -> Numbers:
    """The model on test data with each client's labels: variance in %², the worst.

    A client's accuracy is that of its classes, by how often it has them.
    Paper: FedDisco App. B.5.
    """
    if now.scores is None:
        return {}
    counts = now.world.counts.double()
    labels = counts / counts.sum(1, keepdim=True).clamp(min=1)
    own = 100 * (labels @ now.scores.per_class[0].double().cpu().nan_to_num())
    return {"variance": client_variance(own), "worst": float(own.min())}


def common(now: Round) -> Numbers:
    """Accuracy, in %, on the test samples that are no client's own.

    The mean over clients, each with the model that it is given.
    """
    w, models, given = now.world, now.personal, list(range(len(now.world)))
    if models is None:
        models, given = now.after, now.group_of
    x, y = w.x_test, w.y_test
    if w.common is not None:
        x, y = x[w.common], y[w.common]
    if not len(y):
        return {}
    found = evaluate(w.model, models, x, y, len(w.classes)).accuracy
    return {"accuracy": 100 * float(found[given].mean())}


def updates(now: Round) -> Numbers:
    """Mean cosine between two clients' updates: all, the first half's, the second's.

    Paper: FedLAW Sec. 5.1.
    """
    names = now.world.parameters
    models = {n: v for n, v in now.trained.states.items() if n in names}
    begun = {n: v for n, v in take(now.before, 0).items() if n in names}
    cosines = coherence(models, begun)
    half = len(now.world) // 2
    first = [row for row, k in enumerate(now.ids) if k < half]
    second = [row for row, k in enumerate(now.ids) if k >= half]
    groups = {"all": first + second, "first": first, "second": second}
    return {
        name: _pairs(cosines[rows][:, rows])
        for name, rows in groups.items()
        if len(rows) > 1
    }


def _pairs(table: Tensor) -> float:
    """Mean of the entries off the diagonal."""
    n = len(table)
    return float(table.sum() - table.diagonal().sum()) / (n * (n - 1))


def shares(now: Round) -> Numbers:
    """Weight of the first half of the clients, coherence of labels, largest weight.

    Weights are those learnt on the server, where it learns some.
    Paper: FedLAW Sec. 5.1.
    """
    weights = learnt(now)
    half = len(now.world) // 2
    first = sum(float(w) for w, k in zip(weights, now.ids, strict=True) if k < half)
    like = heterogeneity_coherence(now.world.counts, weights, now.ids)
    return {"first": first, "coherence": float(like), "most": float(weights.max())}


def holdings(now: Round) -> Numbers:
    """Mean KL divergence from uniform labels: the first half's clients, the second's.

    Paper: FedLAW App. D.2.
    """
    apart = discrepancy(now.world.counts)
    half = len(now.world) // 2
    return {"first": float(apart[:half].mean()), "second": float(apart[half:].mean())}


def model(now: Round) -> Numbers:
    """Norm of the model's parameters, and the share of them close to zero, in %.

    Paper: FedLAW Fig. 4, Fig. 10.
    """
    parameters = _parameters(now)
    every = flatten(parameters)
    small = 100 * float((every.abs() < _SMALL).double().mean())
    return {"norm": float(norm(parameters)), "small": small}


def _parameters(now: Round) -> Tree:
    whole = take(now.after, 0)
    return {n: v for n, v in whole.items() if n in now.world.parameters}


def drift(now: Round) -> Numbers:
    """Mean distance of the clients' models from their mean: whole, features and head.

    Paper: FedImpro Sec. 5.2.
    """
    names = now.world.parameters
    models = {n: v for n, v in now.trained.states.items() if n in names}
    return {"all": mean_divergence(models)} | layer_divergence(models, by="part")


def fading(now: Round, most: Memory) -> Numbers:
    """Divergence over the largest so far: first and last layer, features and head.

    Paper: FedImpro Fig. 3.
    """
    names = now.world.parameters
    models = {n: v for n, v in now.trained.states.items() if n in names}
    layers = list(layer_divergence(models).values())
    ends = {"first": layers[0], "last": layers[-1]}
    found = layer_divergence(models, by="part") | ends
    most.update({n: max(v, most.get(n, 0.0)) for n, v in found.items()})
    return {n: v / most[n] if most[n] > 0 else 0.0 for n, v in found.items()}


def deltas(now: Round) -> Numbers:
    """Bytes of mean features that a participant is sent: all of them, or their mean.

    Paper: rFedAvg Alg. 1, Alg. 2.
    """
    told = now.uploads.get("delta")
    if told is None:
        return {}
    one = 4 * told[0].numel()
    return {"all": float(one * len(told)), "one": float(one)}


def coalitions(now: Round) -> Numbers:
    """Number of groups, and the size of the largest."""
    sizes = [now.group_of.count(g) for g in set(now.group_of)]
    return {"number": float(len(sizes)), "largest": float(max(sizes))}


OBSERVERS: dict[str, Observer] = {
    "classes": classes,
    "clients": clients,
    "common": common,
    "updates": updates,
    "shares": shares,
    "holdings": holdings,
    "model": model,
    "drift": drift,
    "local": probes.local,
    "mixture": probes.mixture,
    "triangle": probes.triangle,
    "shrunk": probes.shrunk,
    "curvature": probes.curvature,
    "deltas": deltas,
    "coalitions": coalitions,
}
REMEMBERING: dict[str, Callable[[Round, Memory], Numbers]] = {
    "favour": probes.favour,
    "fading": fading,
}


def check_name(name: str) -> None:
    """Refuse a column "observer.number" whose observer is unknown."""
    observer, dot, _ = name.partition(".")
    every = OBSERVERS | REMEMBERING
    known = ", ".join(every)
    require(not dot or observer in every, f"no observer {observer!r}: {known}")


class Watching:
    """The observers that some columns need, as one observer of one run."""

    def __init__(self, columns: Iterable[str]):
        self.names = sorted({c.partition(".")[0] for c in columns if "." in c})
        self.memory: dict[str, Memory] = {n: {} for n in self.names if n in REMEMBERING}

    def __call__(self, now: Round) -> Numbers:
        found: dict[str, Numbers] = {}
        for name in self.names:
            if name in REMEMBERING:
                memory = dict(self.memory[name])  # the one of before stays as it was
                found[name] = REMEMBERING[name](now, memory)
                self.memory[name] = memory
            else:
                found[name] = OBSERVERS[name](now)
        return {f"{a}.{b}": v for a, each in found.items() for b, v in each.items()}

"""Numbers by which a world's models are judged: accuracy, or a metric of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from fedlab_core.metrics import Scores, evaluate, evaluate_own
from fedlab_core.metrics.measures import measured
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree


@dataclass(frozen=True)
class Judged:
    """A number a model by the world's metric, and its loss."""

    value: Tensor
    loss: Tensor
    scores: Scores | None = None  # where they are judged by accuracy on one test set

    def of(self, rows: list[int]) -> "Judged":
        """Some of the models, with repetitions."""
        return Judged(self.value[rows], self.loss[rows])


def judged(w: World, states: Tree, lists: Sequence[Tensor] | None = None) -> Judged:
    """Every model on the whole test set, or each on the samples of its list."""
    given = w.model, states, w.x_test, w.y_test
    if w.judged_by != "accuracy" or w.loss:
        metric = right if w.judged_by == "accuracy" else w.metric
        value, loss = measured(*given, metric, lists)
        return Judged(value, loss)
    if lists is None:
        scores = evaluate(*given, len(w.classes))
        return Judged(scores.accuracy, scores.loss, scores)
    own = evaluate_own(*given, lists)
    return Judged(own.accuracy, own.loss)


def right(outputs: Tensor, y: Tensor) -> Tensor:
    """The share of samples whose class has the largest output."""
    return (outputs.argmax(-1) == y).double().mean()


def means(w: World, found: Judged, apart: bool = False) -> dict[str, float]:
    """A round's numbers: means over clients, and if `apart` the worst and the spread.

    A client whose metric is NaN, as an AUC of one class is, is left out of its mean.
    """
    value = found.value
    there = value if value.isnan().all() else value[~value.isnan()]
    row = {w.judged_by: float(there.mean()), "loss": float(found.loss.mean())}
    if apart:
        worst = there.max() if w.judged_by == "loss" else there.min()
        row |= {"worst": float(worst), "spread": float(there.std())}
    return row

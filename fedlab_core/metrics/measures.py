"""Metrics of models that do not tell classes apart, and any of one's own.

A metric is a function of outputs and labels, of all samples at once, to a number; the
higher, the better. One that would pair each output with every label is given them in
one shape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Axes, checked
from fedlab_core.errors import require
from fedlab_core.models.losses import UNFIT, name_of, one_each
from fedlab_core.models.network import Network
from fedlab_core.tree import Tree, take

Metric = Callable[[Tensor, Tensor], float | Tensor]
Outputs = Annotated[Tensor, Axes("samples ...", "any")]
Wanted = Annotated[Tensor, Axes("samples ...", "any")]


def _columns(outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs and labels in double precision, a column for each number of a sample."""
    fits = outputs.numel() == labels.numel() > 0
    shapes = f"{tuple(outputs.shape)} outputs for {tuple(labels.shape)} labels"
    require(fits, f"outputs must be one for each label, not {shapes}")
    n = len(labels)
    return outputs.reshape(n, -1).double(), labels.reshape(n, -1).double()


@checked
def r2(outputs: Outputs, labels: Wanted) -> float:
    """The share of the labels' variance that is predicted; the mean over columns.

    It is 1 for what is exact, 0 for the labels' mean, and NaN where they do not vary.
    """
    said, truth = _columns(outputs, labels)
    left = (said - truth).square().sum(0)
    whole = (truth - truth.mean(0)).square().sum(0)
    return float((1 - left / torch.where(whole > 0, whole, torch.nan)).mean())


@checked
def auc(outputs: Outputs, labels: Wanted) -> float:
    """The area under the ROC curve of logits, for labels 0 or 1; the mean over columns.

    It is how often a sample of label 1 has the larger logit than one of 0, a tie being
    half. A column without both labels is left out; without any other it is NaN.
    """
    said, truth = _columns(outputs, labels)
    found = [_area(z, y > 0.5) for z, y in zip(said.T, truth.T, strict=True)]
    there = [area for area in found if not math.isnan(area)]
    return sum(there) / len(there) if there else math.nan


def _area(z: Tensor, positive: Tensor) -> float:
    _, place, size = z.unique(return_inverse=True, return_counts=True)
    rank = (size.cumsum(0) - (size - 1) / 2)[place]  # of equal ones, their mean
    ones = int(positive.sum())
    pairs = ones * (len(z) - ones)
    least = ones * (ones + 1) / 2
    return float((rank[positive].sum() - least) / pairs) if pairs else math.nan


def measured(
    model: nn.Module,
    states: Tree,
    x: Tensor,
    y: Tensor,
    metric: Metric | None,
    lists: Sequence[Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Each model's metric, or its loss if there is none, and its loss.

    On (x, y), or on the samples of its list.
    """
    net, values, losses = Network(model), [], []
    with torch.no_grad():
        for row in range(len(next(iter(states.values())))):
            one = take(states, row)
            at = slice(None) if lists is None else lists[row].to(x.device)
            out = torch.cat([net(one, part) for part in x[at].split(2048)])
            losses.append(float(net.each(out, y[at]).double().mean()))
            values.append(number(metric, out, y[at]) if metric else losses[-1])
    return torch.tensor(values).double(), torch.tensor(losses).double()


def number(metric: Metric, outputs: Tensor, labels: Tensor) -> float:
    """The number that a metric gives; refused if it is none."""
    said = metric(as_meant(metric, outputs, labels), labels)
    one = isinstance(said, (int, float)) or (
        isinstance(said, Tensor) and said.numel() == 1
    )
    require(one, f"metric {name_of(metric)} must give one number, not {said!r:.60}")
    return float(said)


def as_meant(metric: Metric, outputs: Tensor, labels: Tensor) -> Tensor:
    """The outputs as they come, or in the labels' shape if a metric means that.

    It does if, as they come, labels in another order are all the same to it, which
    they are to `outputs - labels` where that pairs each with every other.
    """
    if not labels.is_floating_point() or not one_each(outputs, labels):
        return outputs
    most = min(len(labels), 64)
    places = torch.linspace(0, len(labels) - 1, most, device=labels.device).long()
    some = labels.sort(0).values[places]

    def follows(right: Tensor) -> bool:
        try:
            a, b = (float(metric(right, y)) for y in (some, some.flip(0)))
        except UNFIT:
            return False
        return not math.isclose(a, b, rel_tol=1e-4)

    shaped = some.reshape(most, *outputs.shape[1:])
    flat = not follows(shaped) and follows(some)
    return outputs.reshape(labels.shape) if flat else outputs

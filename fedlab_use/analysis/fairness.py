"""Fairness in numbers: over clients, and over frequent and rare classes.

Accuracies are fractions, one a client; in points (percent), differences are 100 times
and variances 10,000 times as large.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from torch import Tensor

from fedlab_core.arguments import Axes, Fraction, Measured, checked
from fedlab_core.errors import require

Numbers = Annotated[np.ndarray | Tensor | Sequence[float], Axes("clients", "measured")]


@checked
def ipr(acc_fl: Numbers, acc_local: Numbers) -> float:
    """Share of the clients that do better together than alone; a tie does not count.

    The incentivised participation rate. Paper: FedCollab Eq. (11).
    """
    together, alone = _pair(acc_fl, acc_local)
    return float((together > alone).mean())


@checked
def rsd(acc_fl: Numbers, acc_local: Numbers) -> float:
    """Population standard deviation over clients of the gain over training alone.

    The reward standard deviation. Paper: FedCollab Eq. (12).
    """
    together, alone = _pair(acc_fl, acc_local)
    return float((together - alone).std())


@checked
def client_variance(accuracies: Numbers) -> float:
    """Population variance of accuracy over clients. Paper: FedDisco App. B.5."""
    return float(_clients(accuracies).var())


@checked
@dataclass(frozen=True)
class Frequency:
    """Mean accuracy of the frequent, the middle and the rare classes."""

    head: Measured
    middle: Measured
    tail: Measured


@checked
def head_middle_tail(
    per_class: Numbers, counts: Numbers, head: Fraction = 0.4, tail: Fraction = 0.3
) -> Frequency:
    """Accuracy of the classes by how often they occur in training.

    `per_class` is the accuracy of each class, `counts` the training samples of each;
    equal counts keep their order. The most frequent 40 % are the head, the rarest 30 %
    the tail, as in the paper. Classes of NaN accuracy are left out.

    Paper: FedDisco Fig. 8.
    """
    accuracy, held = _vector(per_class), _vector(counts)
    classes = len(accuracy)
    sound = accuracy.shape == held.shape and accuracy.ndim == 1 and classes >= 3
    need = "per_class and counts must be one number for each of 3 or more classes"
    require(sound, f"{need}, not of shapes {accuracy.shape} and {held.shape}")
    first, last = round(head * classes), classes - round(tail * classes)
    few = f"head = {head} and tail = {tail} of {classes} classes leave a group empty"
    require(0 < first < last < classes, few)
    ordered = accuracy[np.argsort(-held, kind="stable")]
    parts = np.split(ordered, [first, last])
    return Frequency(*(_mean(part[~np.isnan(part)]) for part in parts))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else math.nan


def _vector(values: Numbers) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=float)


def _clients(accuracies: Numbers) -> np.ndarray:
    values = _vector(accuracies)
    sound = values.ndim == 1 and len(values) > 0
    need = "accuracies must be one number a client"
    require(sound, f"{need}, not of shape {values.shape}")
    return values


def _pair(acc_fl: Numbers, acc_local: Numbers) -> tuple[np.ndarray, np.ndarray]:
    together, alone = _clients(acc_fl), _clients(acc_local)
    sizes = f"acc_fl has {len(together)} clients and acc_local {len(alone)}"
    same = together.shape == alone.shape
    require(same, f"{sizes}: give the same clients in the same order")
    return together, alone

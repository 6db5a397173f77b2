"""Measures: the number of a run that a table reports.

"last", "best", "at-20" (round 20), "mean-5" and "std-5" (of the last 5 rounds) are
accuracies in %; "to-55" is the first round with 55 % or more; "acc" is the last
accuracy as a fraction; "ipr" and "rsd" compare the clients' last accuracies with those
of another run of the same seed.

"mean-10:gamma" is the same of another column of the history, or, with a dot, of an
observer's column ("last:classes.tail"), as it is there. Besides last, at, mean and std
there are then "max", "min" and "middle", the mean of the rounds from 45 % to 55 %.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedlab_core.errors import require
from fedlab_core.rounds.history import History
from fedlab_ledger.model.observers import check_name

_PLAIN = ("last", "best", "acc")
_NUMBERED = ("mean", "to", "std", "at")
_OF_COLUMNS = ("last", "max", "min", "middle", "mean", "std", "at")
PAIRED = ("ipr", "rsd")
_DIGITS = 6


def check_metric(metric: str) -> None:
    """Refuse a metric that `measure` does not know."""
    how, colon, column = metric.partition(":")
    name, dash, number = how.partition("-")
    counted = name in _NUMBERED and number.isdigit() and int(number) > 0
    known = how in (*_PLAIN, *PAIRED) or counted
    if colon:
        known = name in _OF_COLUMNS and bool(column)
        known = known and (counted if name in _NUMBERED else not dash)
    require(known, f"unknown metric {metric!r}: last, best, acc, mean-5, to-55, ...")
    check_name(column)


def column_of(metric: str) -> str | None:
    """The column of the history that a metric reads, if not the accuracy's."""
    return metric.partition(":")[2] or None


def of_accuracy(metric: str) -> bool:
    """Whether a metric is read off the curve of the accuracy over all clients."""
    return column_of(metric) is None and metric not in PAIRED


def measure(
    metric: str, line: Mapping[str, Any], other: Mapping[str, Any] | None = None
) -> float | None:
    """The number that a metric is, of a run's curve; None where there is none."""
    check_metric(metric)
    if line["diverged"] is not None:
        return None
    column = column_of(metric)
    if column is not None:
        return _of_column(metric.partition(":")[0], line["seen"][column])
    curve = [v for v in line["curve"] if v is not None]
    if not curve:
        return None
    if metric in PAIRED:
        require(other is not None, f"{metric} compares two runs")
        return _paired(metric, line["clients"], (other or {})["clients"])
    name, _, number = metric.partition("-")
    if name == "to":
        least = int(number) / 100
        there = (t for t, v in enumerate(line["curve"], 1) if v is not None)
        return next((float(t) for t in there if line["curve"][t - 1] >= least), None)
    if name in ("mean", "std", "at"):
        value = _of_column(metric, line["curve"])
        return None if value is None else round(100 * value, _DIGITS)
    if name == "best":
        return round(100 * max(curve), _DIGITS)
    return curve[-1] if metric == "acc" else round(100 * curve[-1], _DIGITS)


def _of_column(how: str, values: Sequence[float | None]) -> float | None:
    """The number of a column, one entry a round; rounds without one do not count."""
    name, _, number = how.partition("-")
    if name == "at":
        return values[int(number) - 1] if int(number) <= len(values) else None
    if name == "middle":
        low, high = (-(-share * len(values) // 100) for share in (45, 55))
        values = values[max(0, low - 1) : max(high, 1)]
    there = [v for v in values if v is not None]
    if name in ("mean", "std"):
        there = there[-int(number) :]
    if not there:
        return None
    if name in ("last", "max", "min"):
        return there[-1] if name == "last" else {"max": max, "min": min}[name](there)
    return float(np.std(there) if name == "std" else np.mean(there))


def _paired(metric: str, mine: Sequence[float] | None, theirs: Any) -> float | None:
    """Share of clients that gain, or the deviation of the gains.

    Paper: FedCollab Eq. (11), Eq. (12).
    """
    if mine is None or theirs is None:
        return None
    gains = np.asarray(mine) - np.asarray(theirs)
    value = (gains > 0).mean() if metric == "ipr" else gains.std()
    return round(float(value), _DIGITS)


def finite(value: float | None) -> float | None:
    """The number, or None where it is none: JSON knows neither NaN nor infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


def column(h: History, name: str) -> list[float | None]:
    """A column of a history, rounded for a line: one number a round, or None."""
    if not h.diverged:
        known = ", ".join(sorted({n for row in h.rows for n in row}))
        there = any(name in row for row in h.rows)
        require(there, f"no round of this run has {name!r}: it has {known}")
    found = [finite(row.get(name)) for row in h.rows]
    return [None if v is None else float(f"{v:.{_DIGITS}g}") for v in found]


def seen(h: History) -> dict[str, Any]:
    """Fields of a line from a history: curve, last numbers, groups if several."""
    curve = [finite(row.get("accuracy")) for row in h.rows]
    curve = [None if v is None else round(v, _DIGITS) for v in curve]
    last = h.rows[-1]
    known = ("train_loss", "loss", "worst", "spread", "gamma", "lambda_max")
    clients = None
    if h.clients is not None:
        clients = [round(float(v), _DIGITS) for v in h.clients]
    line = {"curve": curve, "clients": clients, "diverged": h.diverged_at}
    metrics = {n: measure(n, line) for n in ("last", "best", "mean-5", "mean-10")}
    metrics |= {n: finite(last[n]) for n in known if n in last}
    counted = {"steps": sum(r["steps"] for r in h.rows), "bytes": last["bytes"]}
    homes = {"homes": list(h.group_of)} if len(set(h.group_of)) > 1 else {}
    return line | homes | counted | {"metrics": metrics}

"""How constants were chosen: each method's at every value tried, on seeds of its own.

The best has the highest mean accuracy over the seeds; of equals, it is the one nearest
the usual. Of four rounds, not of five, lest these runs be counted among those that are
reported.
"""

import math
from dataclasses import replace
from itertools import product
from statistics import fmean

from fedlab_ledger.model import Table
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers.field.arms import TRIED, TUNED, constant, how
from fedlab_ledger.papers.field.twice import JUDGED, cell
from fedlab_ledger.papers.field.worlds import FIELDS

SEEDS = (900, 901, 902)  # chosen by these; reported are others


def row(method: str, times: float) -> str:
    """Name of the row of a method with such a constant."""
    return f"{method}, {TUNED[method][0]} = {constant(method, times):g}"


def column(field: str, judged: str) -> str:
    """Name of the column of a judgement on a field."""
    return f"{field}, {judged.replace('_', ' ')}"


def _tuning() -> Table:
    cells = []
    for method, field, judged in product(TUNED, FIELDS, JUDGED):
        for times in TRIED[method]:
            given, metric = how(method, {method: times}), f"mean-4{JUDGED[judged]}"
            place = row(method, times), column(field, judged)
            made = cell("tuning", *place, given, metric)
            cells.append(replace(made, seeds=SEEDS))
    title = "Which constants are best, by seeds that are not reported"
    return Table("field", "tuning", title, tuple(cells))


TABLE = _tuning()


def tried(found: Found, method: str, field: str, judged: str) -> dict[float, float]:
    """Mean accuracy by what was tried; empty as long as a run is missing."""
    means = {}
    for times in TRIED[method]:
        there = TABLE.at(row(method, times), column(field, judged))
        lines = found.of(there.key("small")) if there else {}
        if not set(SEEDS) <= set(lines):
            return {}
        values = [lines[seed]["value"] for seed in SEEDS]
        means[times] = -math.inf if None in values else fmean(values)
    return means


def best(found: Found, method: str, field: str, judged: str) -> float | None:
    """Value of `TRIED` to choose; None as long as a run is missing."""
    means = tried(found, method, field, judged)
    if not means:
        return None
    top = max(means.values())
    return min((t for t in means if means[t] == top), key=lambda t: abs(math.log(t)))

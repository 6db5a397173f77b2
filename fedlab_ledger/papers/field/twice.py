"""Every arm on every field, judged twice; and why FedLAW ends at chance on one."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.common import Plain, joined, settings
from fedlab_ledger.papers.field.arms import ARMS, CHOSEN, how
from fedlab_ledger.papers.field.worlds import FIELDS, light, played, tiny

# How a run is judged, and the metric's column: clients' models on what is nobody's own,
# or each on its own test. Training is the same.
JUDGED = {"for_all": ":common.accuracy", "for_own": ""}
LACKS = "nothing is published to compare with"
_NEAR = 5.0  # points
_HOST = "FedImpro's"


def at_chance(line: Mapping[str, Any], classes: int = 10) -> bool:
    """Whether models end within 5 points of chance on their own clients' samples.

    The mean of the last five rounds; a run that diverged counts as such. It has learnt
    nothing or lost it: how far it is from another run says nothing of either method.
    Their own samples tell for both judgements: on everybody's, a client that knows its
    one label well is near chance, too.
    """
    ended = line["metrics"]["mean-5"]
    return ended is None or ended < 100 / classes + _NEAR


def cell(table: str, row: str, column: str, given: Plain, metric: str) -> Cell:
    """A cell of a field, the column, where a row's method is played."""
    field = FIELDS[column.partition(", ")[0]]
    made = settings(
        tiny=played(tiny(field), light(given), 2), small=played(field, given)
    )
    return Cell("field", table, row, column, made, None, metric=metric, lacks=LACKS)


def _judged(table: str, title: str) -> Table:
    cells = []
    for arm, field in product(ARMS, FIELDS):
        given = how(arm, CHOSEN[table].get(field))
        cells.append(cell(table, arm, field, given, f"mean-5{JUDGED[table]}"))
    return Table("field", table, title, tuple(cells))


# What may make FedLAW end at chance, one change at a time, with the code's server rate.
COLLAPSE: dict[str, Plain] = {
    "FedLAW": {"method": "fedlaw", "options": {"server_epochs": 40}},
    "10 server epochs": {"method": "fedlaw", "options": {"server_epochs": 10}},
    "weights only, γ = 1": {"method": "attentive", "options": {"server_epochs": 40}},
    "γ only, weights by size": {"method": "gws", "options": {"server_epochs": 40}},
}
TAKING_PART = {"5 of 10 clients": 5, "10 of 10 clients": 10}


def _collapse() -> Table:
    cells = []
    for (row, given), (column, clients) in product(
        COLLAPSE.items(), TAKING_PART.items()
    ):
        field = joined(FIELDS[_HOST], {"participants": clients})
        made = settings(small=played(field, given))
        metric, lacks = "mean-5:common.accuracy", "one question, at one scale"
        cells.append(
            Cell(
                "field", "collapse", row, column, made, None, metric=metric, lacks=lacks
            )
        )
    title = "Why FedLAW ends at chance on FedImpro's field"
    return Table("field", "collapse", title, tuple(cells))


TABLES = (
    _judged("for_all", "Every method on every field, all judged on the same samples"),
    _judged("for_own", "Every method on every field, each client on its own samples"),
    _collapse(),
)

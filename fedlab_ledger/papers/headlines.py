"""Which table each paper is known by, and where the paper draws its curves.

Every page that quotes a headline takes it from here. Rows are in the paper's order; of
a table with many columns it is those that can be run as published, without a GPU where
there is such a one.
"""

from collections.abc import Sequence

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.papers import fedcollab, feddisco, fedimpro, fedlaw, rfedavg
from fedlab_ledger.papers.fedcollab.tables import CLUSTERING
from fedlab_ledger.papers.fedcollab.worlds import BASES, LABEL, OURS
from fedlab_ledger.papers.fedimpro.worlds import ARMS


def _cells(
    tables: Sequence[Table], name: str, rows: Sequence[str], *columns: str
) -> tuple[Cell, ...]:
    """Cells of a table, column by column."""
    table = next(t for t in tables if t.name == name)
    places = [(row, column) for column in columns for row in rows]
    found = [table.at(*place) for place in places]
    missing = [p for p, cell in zip(places, found, strict=True) if cell is None]
    assert not missing, missing
    return tuple(cell for cell in found if cell is not None)


def _both(bases: Sequence[str], more: str) -> list[str]:
    """Each row, and the row with something more."""
    return [row for base in bases for row in (base, f"{base} + {more}")]


_DISCO = Headline(
    "feddisco",
    "ten of sixty clients a round, without and with Disco's weights",
    _cells(
        feddisco.TABLES,
        "table3",
        _both(("FedAvg", "SCAFFOLD", "FedDyn"), "Disco"),
        "accuracy",
        "to 55 %",
    ),
)
_ALIKE, _APART = "FMNIST MLP, α=100", "FMNIST MLP, α=0.1"
_LAW = Headline(
    "fedlaw",
    "twenty clients, under strong skew (α = .1) and nearly without (α = 100)",
    _cells(fedlaw.TABLES, "table3", ("FedAvg", "FedDF", "Server-FT", "FedLAW"), _APART)
    + _cells(fedlaw.TABLES, "table3", ("FedAvg", "FedLAW"), _ALIKE),
    curves="Figures 15 to 17",
)
_MMD = Headline(
    "rfedavg",
    "a hundred of five hundred clients a round, no two kinds of labels alike",
    _cells(rfedavg.TABLES, "table2", ("FedAvg", "rFedAvg+"), "MNIST 0 %"),
    curves="Figure 2",
)
_IMPRO = Headline(
    "fedimpro",
    "five of ten clients a round, one local epoch",
    _cells(fedimpro.TABLES, "table1", ARMS, "CIFAR-10, a=0.1, E=1, K=10"),
)
_ACC = f"Acc, {LABEL}"
_COLLAB = Headline(
    "fedcollab",
    "label shift: methods without and with FedCollab's coalitions, other clusterings",
    _cells(
        fedcollab.TABLES,
        "table1",
        ["Local", "FedAvg", OURS, *_both([*BASES], "FedCollab")],
        _ACC,
    )
    + _cells(fedcollab.TABLES, "table2", [*CLUSTERING], _ACC),
)

HEADLINES: dict[str, Headline] = {
    h.paper: h for h in (_DISCO, _LAW, _MMD, _IMPRO, _COLLAB)
}

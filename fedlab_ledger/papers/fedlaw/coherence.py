"""FedLAW's Figures 5 to 7 and 12 to 14 and its Table 11: whom learnt weights favour."""

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.common import Plain, table
from fedlab_ledger.papers.fedlaw.tables import STUDIED
from fedlab_ledger.papers.fedlaw.worlds import Place, cell, over

TABLE_11 = {
    "dataset size": "-0.098 0.21 0.035",
    "heterogeneity degree": "0.41 0.024 0.35",
    "both": "0.26 0.17 0.31",
}
_COLUMNS_11 = ("E=1", "E=5", "E=1 and E=5")
_FACTORS = {"dataset size": "size", "heterogeneity degree": "degree", "both": "product"}
LAWS = ("FedAvg", "attentive LAW", "attentive LAW, stopped early")
_HYBRID = Place(alpha=None, per_class=STUDIED, least=10)
_IID = Place(per_class=STUDIED)
_COHORT = Place(alpha=0.1, share=0.25, per_class=STUDIED, least=10)
_THREE = Place(alpha=None, clients=3, rounds=10, per_class=STUDIED, least=10)
_PLOT = "read off a plot in the paper: no number"
_SIMPLE = {"paper": "the network is not given: SimpleCNN"}
_BOTH_RUNS = "the correlation over two runs together is not a number of one run"
_EPOCHS = (
    "how the server's own training settles is inside a round: the chapter “Should the "
    "weights sum to one?” shows it under “How many steps?”"
)
_EARLY = {"round 2": "at-2", "round 20": "at-20", "last": "last"}


def _seen(
    name: str,
    where: Place,
    rows: dict[tuple[str, str], Plain],
    says: str,
    notes: Plain = _SIMPLE,
) -> list[Cell]:
    """Cells (row, column) of what is seen of a method, which is the column's end."""
    cells = []
    for (row, column), how in rows.items():
        method = column.split(" | ")[-1]
        more: Plain = {"where": f"Fig. {name[6:]}", "says": says, "notes": notes}
        cells.append(cell(name, row, column, None, where, method, **more, **how))
    return cells


def _figure_5() -> Table:
    cosine: Plain = {"unit": "cosine", "tolerance": 0.1}
    rows: dict[tuple[str, str], Plain] = {}
    for when, metric in _EARLY.items():
        for who, part in (("balanced", "first"), ("imbalanced", "second")):
            how = {"metric": f"{metric}:updates.{part}", **cosine}
            rows[f"coherence, {who} clients", f"{when} | FedAvg"] = how
        how = {"metric": f"{metric}:shares.first", "unit": "weight", "tolerance": 0.1}
        rows["weight of balanced clients", f"{when} | attentive LAW"] = how
    cells = _seen("figure5", _HYBRID, rows, _PLOT)
    for row in LAWS:
        beside = over("figure5", row, LAWS)
        says = f"{_PLOT}; stopped after 10 rounds" if row == LAWS[2] else _PLOT
        more: Plain = {"where": "Fig. 5", "over": beside, "says": says}
        more |= {"notes": _SIMPLE}
        cells.append(cell("figure5", row, "accuracy", None, _HYBRID, row, **more))
    title = "Balanced and imbalanced clients: coherence, learnt weights, accuracy"
    return Table("fedlaw", "figure5", title, tuple(cells))


def _figure_6() -> Table:
    rows: dict[tuple[str, str], Plain] = {
        ("coherence", f"{when} | {method}"): {
            "metric": f"{metric}:updates.all",
            "unit": "cosine",
            "tolerance": 0.1,
        }
        for when, metric in (_EARLY | {"last ten": "mean-10"}).items()
        for method in ("FedAvg", "adaptive GWS")
    }
    says = f"{_PLOT}; IID"
    title = "Coherence of the clients' updates, without and with shrinking"
    return Table("fedlaw", "figure6", title, tuple(_seen("figure6", _IID, rows, says)))


def _figure_7() -> Table:
    says = f"{_PLOT}; α=0.1, a quarter of the clients a round"
    rows: dict[tuple[str, str], Plain] = {
        ("coherence of labels", method): {
            "metric": "mean-10:shares.coherence",
            "unit": "cosine",
            "tolerance": 0.1,
        }
        for method in LAWS[:2]
    }
    cells = _seen("figure7", _COHORT, rows, says)
    for method in LAWS[:2]:
        more: Plain = {"where": "Fig. 7", "says": says, "notes": _SIMPLE}
        at = ("accuracy", method, None, _COHORT, method)
        cells.append(cell("figure7", *at, **more))
    title = "A round's clients: how balanced their weighted labels are, and accuracy"
    return Table("fedlaw", "figure7", title, tuple(cells))


def _table_11() -> Table:
    cells = []
    for (row, column), value in table(TABLE_11, _COLUMNS_11).items():
        more: Plain = {"metric": f"last:favour.{_FACTORS[row]}", "unit": "r"}
        more |= {"where": "Table 11", "tolerance": 0.15}
        if "and" in column:
            at = ("fedlaw", "table11", row, column, {}, value)
            cells.append(Cell(*at, lacks=_BOTH_RUNS, **more))
            continue
        epochs = int(column[2:])
        where = Place(
            alpha=1.0, epochs=epochs, per_class=STUDIED, least=10, small_epochs=epochs
        )
        says = "the skew is not given: α=1"
        more["notes"] = _SIMPLE
        at = (row, column, value, where, "attentive LAW")
        cells.append(cell("table11", *at, says=says, **more))
    title = "Correlation of attentive LAW's weights, summed over rounds, with clients"
    return Table("fedlaw", "table11", title, tuple(cells))


def _figure_12() -> Table:
    rows = {
        "balanced client's best weight": ("first", "weight"),
        "distance of FedAvg's weights": ("away", "weight"),
        "loss less at the best weights": ("less", "loss"),
    }
    says = f"{_PLOT}; the hybrid split, whose sizes differ; round 10"
    cells = []
    for row, (part, unit) in rows.items():
        how: Plain = {"metric": f"last:triangle.{part}", "unit": unit}
        how |= {"tolerance": 0.1, "where": "Fig. 12", "says": says, "notes": _SIMPLE}
        at = (row, "FedAvg", None, _THREE, "FedAvg")
        cells.append(cell("figure12", *at, **how))
    title = "Three clients: the best mixture of their models, and FedAvg's"
    return Table("fedlaw", "figure12", title, tuple(cells))


def _figure_13() -> Table:
    cells = []
    for row, part in (("balanced clients", "first"), ("imbalanced clients", "second")):
        how: Plain = {"metric": f"last:holdings.{part}", "unit": "nats"}
        how |= {"tolerance": 0.2, "where": "Fig. 13", "says": _PLOT}
        at = (row, "KL to uniform", None, _HYBRID, "FedAvg")
        cells.append(cell("figure13", *at, **how))
    title = "How skewed the two halves' labels are, in Figure 5"
    return Table("fedlaw", "figure13", title, tuple(cells))


def _figure_14() -> Table:
    more: Plain = {"unit": "epochs", "tolerance": 10.0, "metric": "last"}
    more |= {"where": "Fig. 14, App. B.3", "lacks": _EPOCHS}
    cells = [
        Cell("fedlaw", "figure14", row, "epochs to settle", {}, value, **more)
        for row, value in (("γ", 30.0), ("λ", 80.0))
    ]
    title = "Server epochs until what is learnt in a round settles"
    return Table("fedlaw", "figure14", title, tuple(cells))


TABLES = (
    _figure_5(),
    _figure_6(),
    _figure_7(),
    _table_11(),
    _figure_12(),
    _figure_13(),
    _figure_14(),
)

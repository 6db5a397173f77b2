"""FedLAW's Figures 1 to 4 and 9 to 11: what shrinking the global model does.

Their values are in the plots alone, but for a few that the text names.
"""

from dataclasses import replace

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.fedlaw.tables import GAMMAS, STUDIED, learned
from fedlab_ledger.papers.fedlaw.worlds import Place, cell, shrunk

EPOCHS = (1, 2, 3, 5)  # of Figure 2; the text does not give them
SKEWS = (100.0, 10.0, 1.0, 0.5, 0.2, 0.1)  # of Figure 9: those of Tables 1 and 9
BOTH = ("FedAvg", "adaptive GWS")
MIDDLE = "middle"  # the mean of rounds 90 to 110, as in the paper
_PLOT = "read off a plot in the paper: no number"
_ROWS = ("FedAvg", "adaptive GWS", "γ")


def place(alpha: float = 100.0, epochs: int = 2) -> Place:
    """Where shrinking is studied: SimpleCNN, and 2,000 proxy samples."""
    small = {1: 2, 2: 5, 3: 7, 5: 10}[epochs]  # letters drift in so many
    return Place(alpha=alpha, epochs=epochs, per_class=STUDIED, small_epochs=small)


def _world(alpha: float) -> str:
    return "IID" if alpha == 100 else f"α={alpha:g}"


def _figure_1() -> Table:
    cells = []
    where = Place(network="AlexNet", epochs=2, per_class=STUDIED, letters=True, least=2)
    for gamma in GAMMAS:
        for column, metric in (("round 20", "at-20"), ("round 100", "at-100")):
            cells.append(_curve(gamma, column, where, metric))
        cells.append(_curve(gamma, "last rounds", where, "mean-10"))
    title = "AlexNet with a fixed shrinking factor: early, half-way and late"
    return Table("fedlaw", "figure1", title, tuple(cells))


def _curve(gamma: float, column: str, where: Place, metric: str) -> Cell:
    beside = None if gamma == 1 else ("figure1", "γ=1")
    says = f"{_PLOT}; the skew is not given: IID"
    more: Plain = {"where": "Fig. 1", "over": beside, "metric": metric}
    at = (f"γ={gamma:g}", column, None, where, shrunk(gamma))
    return cell("figure1", *at, says=says, **more)


def _norms(table: str, column: str, at: Place, value: float | None = None) -> list:
    """How long the step is that adaptive GWS takes, how much it shrinks, and r."""
    rows: dict[str, Plain] = {
        "norm of the step": {"metric": f"{MIDDLE}:g_norm", "unit": "norm"},
        "norm of the shrinking": {"metric": f"{MIDDLE}:w_norm", "unit": "norm"},
        "r": {"metric": f"{MIDDLE}:r", "unit": "ratio", "tolerance": 3.0},
    }
    where = f"Fig. {table[6:]}"
    return [
        cell(
            table,
            row,
            column,
            value if row == "r" else None,
            at,
            "adaptive GWS",
            where=where,
            **how,
        )
        for row, how in rows.items()
    ]


def _figure_2() -> Table:
    columns, values = {}, {}
    for alpha in (100.0, 1.0):
        for epochs in EPOCHS:
            name = f"{_world(alpha)}, E={epochs}"
            columns[name] = (place(alpha, epochs), {}, {})
            values |= {(row, name): None for row in _ROWS}
    cells = learned("figure2", "Fig. 2", columns, values)
    for name, (at, *_) in columns.items():
        cells += _norms("figure2", name, at)[:1]
    title = "Adaptive shrinking by local epochs: gain, factor, norm of the step"
    return Table("fedlaw", "figure2", title, tuple(cells))


def _figure_3() -> Table:
    cells = _norms("figure3", "middle", place(), 19.0)
    for column, metric in (("round 20", "at-20"), ("last", "last")):
        for row, name, unit in (
            ("norm of the step", "g_norm", "norm"),
            ("norm of the shrinking", "w_norm", "norm"),
            ("r", "r", "ratio"),
            ("γ", "gamma", "γ"),
        ):
            how: Plain = {"metric": f"{metric}:{name}", "unit": unit, "tolerance": 3.0}
            at = (row, column, None, place(), "adaptive GWS")
            cells.append(cell("figure3", *at, where="Fig. 3", says=_PLOT, **how))
    how = {"metric": f"{MIDDLE}:gamma", "unit": "γ", "tolerance": 0.02}
    at = ("γ", "middle", None, place(), "adaptive GWS")
    cells.append(cell("figure3", *at, where="Fig. 3", says=_PLOT, **how))
    title = "Adaptive shrinking from round to round: both terms, their ratio r, γ"
    return Table("fedlaw", "figure3", title, tuple(cells))


def _looks(table: str, rows: dict[str, Plain]) -> list[Cell]:
    """What is seen of the models of FedAvg and of adaptive GWS."""
    cells = []
    for row, how in rows.items():
        for column in BOTH:
            more: Plain = {"where": f"Fig. {table[6:]}", "says": _PLOT}
            at = (row, column, None, place(), column)
            cells.append(cell(table, *at, **more, **how))
    return cells


def _figure_4() -> Table:
    rows: dict[str, Plain] = {
        "best factor": {"metric": "last:shrunk.best", "unit": "factor"},
        "loss more at 0.9": {"metric": "last:shrunk.costs", "unit": "loss"},
        "parameters near zero": {"metric": "last:model.small"},
        "sharpness": {"metric": "last:curvature.top", "unit": "eigenvalue"},
    }
    cells = _looks("figure4", rows)
    title = "The final models: rescaled, their parameters below 0.01, their sharpness"
    return Table("fedlaw", "figure4", title, tuple(cells))


def _figure_9() -> Table:
    columns, values = {}, {}
    for alpha in SKEWS:
        columns[_world(alpha)] = (place(alpha), {}, {})
        values |= {(row, _world(alpha)): None for row in _ROWS}
    cells = learned("figure9", "Fig. 9", columns, values)
    for name, (at, *_) in columns.items():
        cells += _norms("figure9", name, at)[:1]
    title = "Adaptive shrinking by skew: gain, factor, norm of the step"
    return Table("fedlaw", "figure9", title, tuple(cells))


def _figure_10() -> Table:
    rows: dict[str, Plain] = {
        "norm of the model": {"metric": "last:model.norm", "unit": "norm"},
        "top eigenvalue": {"metric": "last:curvature.top", "unit": "eigenvalue"},
        "top over fifth": {"metric": "last:curvature.ratio", "unit": "ratio"},
    }
    title = "How long the parameters are, and how flat the loss is"
    cells = _looks("figure10", {k: v | {"better": "low"} for k, v in rows.items()})
    return Table("fedlaw", "figure10", title, tuple(cells))


def _figure_11() -> Table:
    """r in every setting of Figures 2 and 9, whose distribution the paper draws."""
    places = {f"{_world(a)}, E={e}": place(a, e) for a in (100.0, 1.0) for e in EPOCHS}
    places |= {f"{_world(a)}, E=2": place(a) for a in SKEWS}
    says = "the paper's number is the mean over the settings of Figures 2 and 9"
    how: Plain = {"metric": f"{MIDDLE}:r", "unit": "ratio", "tolerance": 3.0}
    cells = [
        cell("figure11", "r", name, 20.5, at, "adaptive GWS", where="Fig. 11", **how)
        for name, at in places.items()
    ]
    cells = [replace(c, reading=says) for c in cells]
    title = "The ratio r of the step to the shrinking, in all settings"
    return Table("fedlaw", "figure11", title, tuple(cells))


TABLES = (
    _figure_1(),
    _figure_2(),
    _figure_3(),
    _figure_4(),
    _figure_9(),
    _figure_10(),
    _figure_11(),
)

"""FedDisco's Figures 2, 4, 5 and 8. Most of their values are in the plots alone: those
cells have no number of the paper, and `claims` says which sign they are to show."""

from fedlab_ledger.model import Cell, Setting, Table
from fedlab_ledger.papers.common import Plain, joined, letters, noted, settings
from fedlab_ledger.papers.feddisco.ablations import LONG_TAIL
from fedlab_ledger.papers.feddisco.worlds import (
    ARMS,
    FEDAVG,
    N1,
    N2,
    Place,
    cell,
    disco,
    pairs,
    scales,
)

A = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
B = (0.05, 0.1, 0.2, 0.4)
PANELS = {
    "MOON, CIFAR-10 NIID-1": ("MOON", Place("CIFAR-10", N1)),
    "FedAvg, CIFAR-10 NIID-1": ("FedAvg", Place("CIFAR-10", N1)),
    "FedAvg, CIFAR-10 NIID-2": ("FedAvg", Place("CIFAR-10", N2)),
    "FedAvg, CINIC-10 NIID-2": ("FedAvg", Place("CINIC-10", N2)),
}
WITHOUT = "without Disco"
_LETTERS = {"small": "letters in place of photographs, a small network"}
_PLOT = "read off a plot in the paper: no number"
# What Figure 2 looks at: (metric, unit, the paper's number, its tolerance)
FIGURE_2 = {
    "best weight of the better client": ("mixture.best", "weight", 0.8, 0.1),
    "gain over equal weights": ("mixture.gain", "%", None, 1.0),
    "accuracy with size": ("local.size", "r", None, 0.2),
    "accuracy with balance": ("local.balance", "r", None, 0.2),
}


def _figure_2_scales(metric: str) -> dict[str, Setting]:
    """One round of 10 epochs; letters are mixed after three rounds together."""
    made = scales(Place("CIFAR-10"), FEDAVG)
    clients = {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}}
    local = {"local": {"lr": 0.1, "epochs": 10, "batch_size": 32}}
    rounds = {"rounds": 4 if metric.startswith("mixture") else 1}
    small = joined(letters(0.35), clients, local, rounds, FEDAVG)
    paper = made["paper"].plain() | {"rounds": 1}
    return settings(tiny=made["tiny"].plain(), small=small, paper=paper)


def _figure_2() -> Table:
    cells = []
    for row, (metric, unit, value, tolerance) in FIGURE_2.items():
        says, notes = "Pearson's r over the clients, L2 discrepancy", _LETTERS
        if metric.startswith("mixture"):
            says = "of 10 clients the two of nearest size"
            notes = noted(("small",), _LETTERS, {"small": "after three rounds"})
        more: Plain = {"metric": f"last:{metric}", "unit": unit, "reading": says}
        more |= {"notes": notes}
        more |= {"where": "Fig. 2, Sec. 3", "tolerance": tolerance}
        made = _figure_2_scales(metric)
        cells.append(Cell("feddisco", "figure2", row, "CIFAR-10", made, value, **more))
    title = "Two clients' models mixed, and what makes a client's model good"
    return Table("feddisco", "figure2", title, tuple(cells))


def _figure_4() -> Table:
    cells = []
    rows: dict[str, Plain] = {WITHOUT: {}}
    rows |= {f"a={a:g}, b={b:g}": disco(a=a, b=b) for a in A for b in B}
    for row, how in rows.items():
        for name, (base, place) in PANELS.items():
            over = ("figure4", WITHOUT) if how else None
            more: Plain = {"where": "Fig. 4", "says": _PLOT, "over": over}
            at = (row, name, None, place, ARMS[base], how)
            cells.append(cell("figure4", *at, **more))
    title = "Best accuracy by a and b, in four settings"
    return Table("feddisco", "figure4", title, tuple(cells))


SWEEPS: dict[str, Place] = {
    "ρ=1": Place("CIFAR-10"),
    **{f"ρ={v}": Place("CIFAR-10", tail=(float(v), 1.0)) for v in (2, 5, 10, 20)},
    **{f"K={v}": Place("CIFAR-10", clients=v) for v in (10, 30, 50)},
    **{f"β={v:g}": Place("CIFAR-10", alpha=v) for v in (0.1, 0.3, 0.5)},
    **{f"E={v}": Place("CIFAR-10", epochs=v) for v in (2, 10, 20)},
}


def _figure_5() -> Table:
    cells = []
    for row, how in pairs(["FedAvg", "FedDyn"]):
        for name, place in SWEEPS.items():
            if row.startswith("FedDyn") and not name.startswith("ρ"):
                continue
            over = ("figure5", row.removesuffix(" + Disco")) if "Disco" in row else None
            more: Plain = {"where": "Fig. 5", "says": _PLOT, "over": over}
            cells.append(cell("figure5", row, name, None, place, how, **more))
    title = "Long tails ρ, clients K, skew β and local epochs E"
    return Table("feddisco", "figure5", title, tuple(cells))


# of the classes: metric's part, and which way is better
PARTS = {
    "head": "high",
    "middle": "high",
    "tail": "high",
    "mean": "high",
    "deviation": "low",
}


def _figure_8() -> Table:
    cells = []
    for row, how in pairs(["FedAvg"]):
        for part, better in PARTS.items():
            over = ("figure8", "FedAvg") if row != "FedAvg" else None
            more: Plain = {"metric": f"last:classes.{part}", "better": better}
            more |= {"where": "Fig. 8", "over": over, "says": _PLOT}
            at = (row, part, None, LONG_TAIL, how)
            cells.append(cell("figure8", *at, **more))
    title = "Accuracy of classes by how frequent they are, ρ=10: 4, 3 and 3 classes"
    return Table("feddisco", "figure8", title, tuple(cells))


TABLES = (_figure_2(), _figure_4(), _figure_5(), _figure_8())

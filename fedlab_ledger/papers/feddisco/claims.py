"""What FedDisco says beats what."""

from fedlab_ledger.model import Cell, Claim
from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.feddisco import ablations, appendix, figures, tables
from fedlab_ledger.papers.feddisco.worlds import ARMS

_TABLES = {
    t.name: t
    for module in (tables, ablations, appendix, figures)
    for t in module.TABLES
}
# Gains are smaller where everybody is near the top.
_TOLERANCE = {"FMNIST NIID-1": 0.3, "FMNIST NIID-2": 0.5}


def at(table: str, row: str, column: str) -> Cell:
    """A declared cell."""
    cell = _TABLES[table].at(row, column)
    assert cell is not None, (table, row, column)
    return cell


def _claim(name: str, sentence: str, cell: Cell, beside: Cell, **more) -> Claim:
    return Claim("feddisco", name, sentence, cell, beside, **more)


def _gain(
    table: str, base: str, column: str, *, over: str = "", place: str = "", **more
) -> Claim:
    """That a method is better with Disco's weights than without; `place` says where."""
    name = f"{table}: {base}, {column}"
    sentence = f"{base} is better with Disco's weights than without, {place or column}"
    cells = at(table, f"{base} + Disco", column), at(over or table, base, column)
    return _claim(name, sentence, *cells, **more)


def _methods() -> list[Claim]:
    """Tables 1 and 2 where the effect is visible, and FedAvg everywhere."""
    visible = ("FMNIST NIID-2", "CIFAR-10 NIID-2")
    other = [c for c in _TABLES["table1"].columns if c not in visible]
    wanted = [(base, column) for column in visible for base in ARMS]
    wanted += [("FedAvg", column) for column in other]
    return [
        _gain("table2", b, c, over="table1", tolerance=_TOLERANCE.get(c, 1.0))
        for b, c in wanted
    ]


def _best() -> list[Claim]:
    """FedDisco against the best of the others, in each column of Table 1."""
    made = []
    for column in _TABLES["table1"].columns:
        values = {row: at("table1", row, column).paper_value or 0 for row in ARMS}
        best = max(values, key=lambda row: values[row])
        cells = at("table1", "FedDisco", column), at("table1", best, column)
        sentence = f"FedDisco beats the best of the others, {best}, {column}"
        limit = _TOLERANCE.get(column, 1.0)
        made.append(
            _claim(f"table1: best, {column}", sentence, *cells, tolerance=limit)
        )
    return made


def _partial() -> list[Claim]:
    """10 of 60 clients a round: more accurate, steadier, sooner."""
    few: Plain = {"place": "10 of 60 clients a round", "tolerance": 2.0}
    made = [_gain("table3", base, "accuracy", **few) for base in ARMS]
    for base in tables.TABLE_10:
        for column, word, limit in (
            ("deviation", "steadier", 1),
            ("to 55 %", "sooner", 10),
        ):
            cells = (at("table10", f"{base}{s}", column) for s in (" + Disco", ""))
            name, says = f"table10: {base}, {column}", f"{base} with Disco is {word}"
            made.append(_claim(name, says, *cells, sign=-1, tolerance=limit))
    return made


def _others() -> list[Claim]:
    """Equal weights, metrics, text, long tails, CIFAR-100, stragglers, writers."""
    made = []
    for column in ("FMNIST NIID-2", "CIFAR-10 NIID-2", "CIFAR-10 NIID-1"):
        cells = (at("table13", r, column) for r in ("FedAvg + Disco", "FedAvg (1/K)"))
        name, says = f"table13: {column}", f"Disco's weights beat equal ones, {column}"
        limit = _TOLERANCE.get(column, 1.0)
        made.append(_claim(name, says, *cells, tolerance=limit))
    for metric in ("L1", "L2", "cosine"):
        cells = (at("table7", row, "CIFAR-10 NIID-1") for row in (metric, "KL"))
        says = f"{metric} is as good a discrepancy as KL"
        name, without = f"table7: {metric}", at("table1", "FedAvg", "CIFAR-10 NIID-1")
        made.append(_claim(name, says, *cells, sign=0, without=without))
    for base in ("FedAvg", "FedProx"):
        for column in ("full", "partial"):
            made.append(_gain("table4", base, column, tolerance=2.0))
    for column in ablations.TABLE_5:
        cells = (at("table5", row, column) for row in ("FedDisco", "FedAvg"))
        says = (
            f"FedDisco beats FedAvg where training and test have long tails, {column}"
        )
        made.append(_claim(f"table5: {column}", says, *cells))
    made += [_gain("table9", base, "ρ=10") for base in ARMS]
    made += [_gain("table11", b, "CIFAR-100 NIID-1") for b in ("FedAvg", "FedDyn")]
    late = "clients late, CIFAR-10 NIID-2"
    made.append(_gain("stragglers", "FedAvg", "CIFAR-10 NIID-2", place=late))
    made.append(_gain("femnist", "FedAvg", "FEMNIST"))
    cells = (at("table12", f"FedAvg{s}", "round 40") for s in (" + Disco", ""))
    says = "clients' accuracies vary less with Disco, round 40"
    made.append(_claim("table12: round 40", says, *cells, sign=-1, tolerance=20.0))
    return made


def _figures() -> list[Claim]:
    balance, size = (f"accuracy with {v}" for v in ("balance", "size"))
    cells = (at("figure2", row, "CIFAR-10") for row in (balance, size))
    says = "a client's discrepancy tells more of its accuracy than its size"
    made = [_claim("figure2: discrepancy", says, *cells)]
    for column in figures.PANELS:
        cells = (at("figure4", r, column) for r in ("a=0.5, b=0.1", figures.WITHOUT))
        says = f"a = .5, b = .1 is a safe choice, {column}"
        made.append(_claim(f"figure4: {column}", says, *cells))
    for column in figures.SWEEPS:
        made.append(_gain("figure5", "FedAvg", column))
    told = {"tail": (8.0, 3.0), "head": (0.0, 0.75), "middle": (0.0, 0.75)}
    for part, (gain, limit) in told.items():
        cells = (at("figure8", f"FedAvg{s}", part) for s in (" + Disco", ""))
        tie = gain == 0
        says = f"the {part} classes are {'as' if tie else 'more'} accurate with Disco"
        more = {"sign": 0 if tie else 1, "said": gain, "tolerance": limit}
        made.append(_claim(f"figure8: {part}", says, *cells, **more))
    cells = (at("figure8", f"FedAvg{s}", "deviation") for s in (" + Disco", ""))
    says = "classes differ less in accuracy with Disco"
    made.append(_claim("figure8: deviation", says, *cells, sign=-1))
    return made


CLAIMS = (*_methods(), *_best(), *_partial(), *_others(), *_figures())

"""What FedLAW says beats what."""

from fedlab_ledger.model import Cell, Claim
from fedlab_ledger.papers.fedlaw import coherence, robust, shrinking, tables

_TABLES = {
    t.name: t
    for module in (tables, robust, shrinking, coherence)
    for t in module.TABLES
}


def at(table: str, row: str, column: str) -> Cell:
    """A declared cell."""
    cell = _TABLES[table].at(row, column)
    assert cell is not None, (table, row, column)
    return cell


def _claim(name: str, sentence: str, cell: Cell, beside: Cell, **more) -> Claim:
    return Claim("fedlaw", name, sentence, cell, beside, **more)


def _between(
    table: str, one: tuple[str, str], other: tuple[str, str], sentence: str, **more
) -> Claim:
    """A claim on two places (row, column) of a table, with the paper's sign."""
    cell, beside = at(table, *one), at(table, *other)
    name = f"{table}: {one[0]}, {one[1]}"
    a, b = cell.paper_value, beside.paper_value
    if a is not None and b is not None and "sign" not in more:
        more["sign"] = 1 if a > b else -1
    return _claim(name, sentence, cell, beside, **more)


def _shrinking() -> list[Claim]:
    """Tables 1 and 9: some gamma below 1 is better; under strong skew .9 may not be."""
    made = []
    for table, rows in (("table1", tables.TABLE_1), ("table9", tables.TABLE_9)):
        for row in rows:
            cells = {g: at(table, f"{row}, γ={g:g}", "accuracy") for g in tables.GAMMAS}
            values = {g: cell.paper_value or 0 for g, cell in cells.items()}
            best = max(values, key=lambda g: values[g])
            if best == 1:
                continue
            says = f"γ = {best:g} beats γ = 1, {row}"
            made.append(_claim(f"{table}: {row}", says, cells[best], cells[1.0]))
    for network in ("AlexNet", "ResNet8"):
        rows = (f"{network}, α=0.1, γ={g}" for g in ("0.9", "1"))
        cells = (at("table9", row, "accuracy") for row in rows)
        says = f"shrinking by γ = .9 hurts under strong skew, {network}, α = .1"
        name = f"table9: {network}, α=0.1 at 0.9"
        made.append(_claim(name, says, *cells, sign=-1))
    return made


def _adaptive() -> list[Claim]:
    """Tables 2 and 10, Figures 2 and 9: a factor that is learnt."""
    made = []
    for table in ("table2", "table10", "figure2", "figure9"):
        for column in _TABLES[table].columns:
            says = f"adaptive GWS beats FedAvg, {column}"
            places = ("adaptive GWS", column), ("FedAvg", column)
            made.append(_between(table, *places, says))
    for world in ("IID", "α=1"):
        places = ("γ", f"{world}, decay 0.001"), ("γ", f"{world}, decay 0")
        says = f"with a larger weight decay γ is larger, {world}"
        made.append(_between("table2", *places, says, tolerance=0.005))
        places = ("γ", f"{world}, rate 1.5"), ("γ", f"{world}, rate 0.5")
        says = f"with a larger server's rate γ is smaller, {world}"
        made.append(_between("table10", *places, says, tolerance=0.01))
        places = ("γ", f"{world}, E=5"), ("γ", f"{world}, E=1")
        says = f"with more local epochs γ is smaller, {world}"
        made.append(_between("figure2", *places, says, sign=-1))
        step = "norm of the step"
        places = (step, f"{world}, E=5"), (step, f"{world}, E=1")
        says = f"with more local epochs the server's step is longer, {world}"
        made.append(_between("figure2", *places, says))
    says = "the more alike the clients' data, the smaller γ"
    made.append(_between("figure9", ("γ", "IID"), ("γ", "α=0.1"), says, sign=-1))
    places = ("γ", "last"), ("γ", "round 20")
    made.append(_between("figure3", *places, "γ rises from round 20 to the end"))
    return made


def _methods() -> list[Claim]:
    """Tables 3 to 8: FedLAW against FedAvg, and the others that use the proxy set."""
    made = []
    rivals = {"FedAvg": tables.COLUMNS_3}
    rivals |= {
        row: [c for c in tables.COLUMNS_3 if c.endswith(("MLP, α=100", "MLP, α=0.1"))]
        + ["CIFAR-10 SimpleCNN, α=100", "CIFAR-10 SimpleCNN, α=0.1"]
        for row in ("Server-FT", "FedDF")
    }
    for rival, columns in rivals.items():
        made += [_law("table3", rival, column) for column in columns]
    for table in ("table4", "table5", "table6", "table7", "table8"):
        made += [_law(table, "FedAvg", column) for column in _TABLES[table].columns]
    for column in tables.COLUMNS_4:
        made.append(_law("table4", "FedDF", column))
    for column in ("IID", "α=1"):
        made.append(_law("table7", "FedDF", column))
    return made


def _law(table: str, rival: str, column: str) -> Claim:
    cell, beside = at(table, "FedLAW", column), at(table, rival, column)
    gain = (cell.paper_value or 0) - (beside.paper_value or 0)
    says = f"FedLAW ends {'above' if gain > 0 else 'below'} {rival}, {column}"
    name = f"{table}: over {rival}, {column}"
    return _claim(name, says, cell, beside, sign=1 if gain > 0 else -1)


_ADAPTIVE, _LAW, _AVG = "adaptive GWS", "attentive LAW", "FedAvg"
# A table, a cell of it, the one beside it, what is claimed, which way
_SEEN = (
    ("figure1", ("γ=0.93", "round 20"), ("γ=1", "round 20"),
     "a smaller γ is ahead early", 1),
    ("figure5", ("coherence, balanced clients", "round 2 | FedAvg"),
     ("coherence, imbalanced clients", "round 2 | FedAvg"),
     "balanced clients pull more the same way, early", 1),
    ("figure5", ("weight of balanced clients", "round 2 | attentive LAW"),
     ("weight of balanced clients", "last | attentive LAW"),
     "balanced clients weigh more early than late", 1),
    ("figure5", ("attentive LAW, stopped early", "accuracy"), (_LAW, "accuracy"),
     "weights learnt in the first rounds only are as good", 0),
    ("figure6", ("coherence", "last ten | adaptive GWS"),
     ("coherence", "last ten | FedAvg"),
     "with shrinking, clients go on pulling the same way", 1),
    ("figure7", ("coherence of labels", _LAW), ("coherence of labels", _AVG),
     "learnt weights make a round's labels more balanced", 1),
    ("figure7", ("accuracy", _LAW), ("accuracy", _AVG),
     "attentive LAW beats FedAvg with few clients a round", 1),
    ("figure13", ("balanced clients", "KL to uniform"),
     ("imbalanced clients", "KL to uniform"),
     "the first half's labels are more balanced", -1),
    ("figure4", ("parameters near zero", _ADAPTIVE), ("parameters near zero", _AVG),
     "shrinking leaves more parameters near zero", 1),
    ("figure4", ("loss more at 0.9", _ADAPTIVE), ("loss more at 0.9", _AVG),
     "the shrunk model can be shrunk further at less cost", -1),
)  # fmt: skip


def _dynamics() -> list[Claim]:
    """Figures 1, 4 to 7, 10 and 13, Table 11."""
    nothing = at("figure5", _AVG, "accuracy")
    made = [
        _between(table, one, other, says, sign=sign, without=None if sign else nothing)
        for table, one, other, says, sign in _SEEN
    ]
    for row in ("norm of the model", "top eigenvalue", "top over fifth"):
        places = (row, _ADAPTIVE), (row, _AVG)
        made.append(_between("figure10", *places, f"{row}: lower with GWS", sign=-1))
    degree, size = "heterogeneity degree", "dataset size"
    for one, other, column in ((degree, size, "E=1"), (size, degree, "E=5")):
        says = f"with {column} weights go more with {one} than with {other}"
        places = (one, column), (other, column)
        made.append(_between("table11", *places, says, tolerance=0.2))
    return made


CLAIMS = (*_shrinking(), *_adaptive(), *_methods(), *_dynamics())

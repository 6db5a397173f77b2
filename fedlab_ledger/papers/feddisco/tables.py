"""FedDisco's cells: what is run for each number of `numbers.toml`."""

from dataclasses import replace
from pathlib import Path

from fedlab_ledger.papers.common import (
    TINY,
    TINY_LOCAL,
    Plain,
    joined,
    letters,
    noted,
    settings,
)
from fedlab_ledger.papers.feddisco.worlds import (
    ARMS,
    DISCO,
    FEDAVG,
    N1,
    N2,
    NO_SMALL,
    PARTIAL,
    DiscoWorld,
    disco,
    notes_of,
    scales,
)
from fedlab_ledger.papers.numbers import Printed, sheets, tables

NUMBERS = sheets(Path(__file__).with_name("numbers.toml"))
_CLASSES = 10
_WITH = " + Disco"

_SETTINGS = {
    f"{data} {split}": DiscoWorld(data, split)
    for data in ("CIFAR-10", "CINIC-10", "FMNIST")
    for split in (N1, N2)
}
_SETTINGS["HAM10000 NIID-1"] = DiscoWorld("HAM10000", alpha=5.0)
_PHOTOS = DiscoWorld("CIFAR-10")
_FEW, _LONG_TAIL = (
    DiscoWorld("CIFAR-10", PARTIAL),
    DiscoWorld("CIFAR-10", tail=(10.0, 1.0)),
)
_SWEEPS = {
    "ρ=1": _PHOTOS,
    **{f"ρ={v}": DiscoWorld("CIFAR-10", tail=(float(v), 1.0)) for v in (2, 5, 10, 20)},
    **{f"K={v}": DiscoWorld("CIFAR-10", clients=v) for v in (10, 30, 50)},
    **{f"β={v:g}": DiscoWorld("CIFAR-10", alpha=v) for v in (0.1, 0.3, 0.5)},
    **{f"E={v}": DiscoWorld("CIFAR-10", epochs=v) for v in (2, 10, 20)},
}
_PANELS = {
    f"{base}, {name}": (base, _SETTINGS[name])
    for base, name in (
        ("MOON", "CIFAR-10 NIID-1"),
        ("FedAvg", "CIFAR-10 NIID-1"),
        ("FedAvg", "CIFAR-10 NIID-2"),
        ("FedAvg", "CINIC-10 NIID-2"),
    )
}
# The world of a table, or of each of its columns
_WORLDS: dict[str, DiscoWorld | dict[str, DiscoWorld]] = {
    **dict.fromkeys(("table1", "table2", "table7", "table13"), _SETTINGS),
    **dict.fromkeys(("table3", "table10"), _FEW),
    **dict.fromkeys(("table9", "figure8"), _LONG_TAIL),
    "table4": {"full": DiscoWorld("AG News", N2)}
    | {"partial": DiscoWorld("AG News", PARTIAL)},
    "table5": {f"ρ={v:g}": DiscoWorld("CIFAR-10", tail=(v, v)) for v in (10.0, 50.0)},
    "table11": DiscoWorld("CIFAR-100", alpha=5.0),
    "table12": DiscoWorld("CIFAR-10", rounds=40),
    "figure4": {name: world for name, (_, world) in _PANELS.items()},
    "figure5": _SWEEPS,
    "stragglers": DiscoWorld("CIFAR-10", N2, steps=(50, 500)),
}
_GRID = {
    f"a={a:g}, b={b:g}": disco(a=a, b=b)
    for a in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    for b in (0.05, 0.1, 0.2, 0.4)
}
# Rows of Table 3 that are run otherwise: other constants, other clients
_TUNED, _FORTY = ", a=0.7, b=0.05", ", 40 + 10 clients"
_METRICS = {row: disco(metric=row.lower()) for row in ("L1", "L2", "cosine")}
_NO_NEWS = "no text that is drawn here: look at CIFAR-10 with 10 of 60 clients"
_AFTER = "± over the last 10 rounds, as in the next column"


def target(rho: float) -> list[float]:
    """The share of every class where the first is rho times as frequent as the last."""
    held = [rho ** (-c / (_CLASSES - 1)) for c in range(_CLASSES)]
    return [round(v / sum(held), 6) for v in held]


def _best(column: str) -> str:
    """The method that the paper's FedDisco is, in a column of Table 1."""
    return "SCAFFOLD" if column.startswith("FMNIST") else "FedDyn"


def _how(p: Printed) -> Plain:
    """The method of a row."""
    if p.table == "figure4":
        return joined(ARMS[_PANELS[p.column][0]], _GRID.get(p.row, {}))
    if p.table == "table7":
        return joined(FEDAVG, _METRICS.get(p.row, DISCO))  # KL is usual
    if p.table == "table5" and p.row == "FedDisco":
        rho = _world(p).tail or (1.0, 1.0)
        return joined(ARMS["FedDyn"], disco(target=target(rho[0])))
    if p.row == "FedDisco":
        return joined(ARMS[_best(p.column)], DISCO)
    if p.row == "FedAvg (1/K)":
        return joined(FEDAVG, {"weigh": {"name": "equal"}})
    if p.row.endswith(_TUNED):
        return joined(FEDAVG, _GRID[_TUNED.removeprefix(", ")])
    row = p.row.removesuffix(_FORTY)
    base = row.removesuffix(_WITH)
    return ARMS[base] if base == row else joined(ARMS[base], DISCO)


def _world(p: Printed) -> DiscoWorld:
    found = _WORLDS[p.table]
    world = found if isinstance(found, DiscoWorld) else found[p.column]
    return replace(world, biased=40) if p.row.endswith(_FORTY) else world


def _beside(p: Printed) -> Plain:
    """The row that one with Disco's weights is shown beside."""
    forty = _FORTY * p.row.endswith(_FORTY)
    row = p.row.removesuffix(forty).removesuffix(_TUNED)
    base = row.removesuffix(_WITH)
    if base == row or "over" in p.fields:
        return {}
    return {"over": ("table1" if p.table == "table2" else p.table, base + forty)}


def _mixed(p: Printed) -> Plain:
    """Figure 2: one round of 10 epochs; letters are mixed after three rounds."""
    made, mixed = scales(_PHOTOS, FEDAVG), "mixture" in p.fields["metric"]
    clients = {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}}
    local = {"local": {"lr": 0.1, "epochs": 10, "batch_size": 32}}
    rounds = {"rounds": 4 if mixed else 1}
    small = joined(letters(0.35), clients, local, rounds, FEDAVG)
    paper = made["paper"].plain() | {"rounds": 1}
    notes = {"small": "letters in place of photographs, a small network"}
    late = {"small": "after three rounds"} if mixed else {}
    return {
        "settings": settings(tiny=made["tiny"].plain(), small=small, paper=paper),
        "notes": noted(("small",), notes, late),
    }


def _writers(p: Printed) -> Plain:
    """FEMNIST: two hundred writers drawn, 10 a round."""
    paper = joined(
        {"dataset": "femnist", "model": "disco_cnn", "rounds": 100},
        {"local": {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-5}},
        {"local": {"epochs": 10, "batch_size": 64, "drop_last": True}},
        {"kind": "natural", "scenario": {"sample": 200, "min_size": 50}},
        {"participants": 10},
        _how(p),
    )
    clients = {"kind": "dirichlet", "scenario": {"clients": 5, "alpha": 0.5}}
    local = {"local": {**TINY_LOCAL, "momentum": 0.9}}
    tiny = joined(TINY, local, clients, _how(p))
    drawn = "200 writers drawn of those with 50 samples, 10 a round"
    return {
        "settings": settings(tiny=tiny, paper=paper),
        "notes": {"tiny": "NIID-1", "paper": drawn},
        "lacks": "no small part of FEMNIST is at hand",
    }


def run(p: Printed) -> Plain:
    """Settings of a number's runs, and what is to be said of it."""
    if "lacks" in p.fields:
        return {}
    if p.table == "figure2":
        return _mixed(p)
    if p.table == "femnist":
        return _writers(p) | _beside(p)
    world, late = _world(p), p.table == "stragglers"
    made, more = scales(world, _how(p)), _beside(p)
    more["notes"] = notes_of(world, made, {"small": "8 to 80 steps"} if late else {})
    more["lacks"] = "" if "small" in made else NO_SMALL
    if p.table == "table4":
        more["lacks"] = _NO_NEWS
    elif p.table == "table1" and p.row == "FedDisco":
        more["reading"] = f"the paper's best: {_best(p.column)}{_WITH}"
    elif p.table == "table10" and p.column == "accuracy":
        more["reading"] = f"{p.fields['reading']}; {_AFTER}"
        more["paper_spread"] = NUMBERS[p.table].at(p.row, "deviation").value
    return more | {"settings": made}


TABLES = tables("feddisco", NUMBERS, run)

"""FedCollab's cells: what is run for each number of `numbers.toml`.

Accuracy is a number of one run; the share of clients that gain (IPR) and the deviation
of the gains (RSD) are of that run beside training alone.
"""

from collections.abc import Mapping
from pathlib import Path

from fedlab_ledger.model import Setting
from fedlab_ledger.papers.common import (
    TINY,
    TINY_LOCAL,
    Plain,
    joined,
    letters,
    noted,
    settings,
)
from fedlab_ledger.papers.fedcollab.worlds import (
    BASES,
    CONCEPT,
    FEATURE,
    FIXED,
    LABEL,
    NO_IMAGENET,
    OURS,
    TRIED,
    chosen,
    looked,
    looking,
    scales,
    stand_in,
    why,
    worlds,
)
from fedlab_ledger.papers.numbers import Printed, sheets, tables

NUMBERS = sheets(Path(__file__).with_name("numbers.toml"))
SEEDS = (900, 901, 902)  # that choose C; reported are others
# The other ways of clustering, four clusters where that has to be said.
_CLUSTERING: dict[str, Plain] = {
    "IFCA": {"method": "ifca", "options": {"k": 4}},
    "FedCluster": {"method": "cfl"},
    "FeSEM": {"method": "fesem", "options": {"k": 4}},
    "KMeans": {"method": "kmeans", "options": {"k": 4, "alone": 10}},
}
# FedCluster's thresholds are lengths of updates: with those of common code twelve
# clients with letters are never split. These do split them, on seeds 900 to 903.
_SPLITS = {LABEL: {"eps1": 0.3, "eps2": 0.7}, FEATURE: {"eps1": 0.6, "eps2": 0.7}}
_ABLATION = {"Ignore quantities": "quantities", "Ignore distances": "distances"}
_MEASURES: dict[str, Plain] = {
    "Acc": {"metric": "acc", "tolerance": 0.02},
    "IPR": {"metric": "ipr", "tolerance": 0.15},
    "RSD": {"metric": "rsd", "tolerance": 0.03, "better": "low"},
}
_PROTOCOL = "several C are tried and the best is reported (App. B.1)"
# C at the paper's scale; at the smaller ones it is as many times their usual C
_CAPACITIES = {f"C = {10 * times:g}": times for times in TRIED}
_PAIRS = {
    f"distance {s / 10:g}, {m} samples": (s, m)
    for s, m in [(s, 200) for s in (0, 2, 4, 6, 8, 10)]
    + [(2, m) for m in (50, 100, 400, 800)]
}
_METHODS = {"global": "fedavg", "local": "local"}


def row(times: float) -> str:
    """The row of a value of C among those that were tried."""
    return f"{times:g} × C"


_TIMES = {row(times): times for times in TRIED}


def _two(classes_renamed: int, samples: int, name: str) -> dict[str, Setting]:
    """Two clients with so many samples, and classes that mean something else."""
    there = list(range(10))
    s = classes_renamed
    turned = there[1:s] + there[:1] + there[s:] if s else there
    made = {}
    for scale, tested, own in (("tiny", 30, 20), ("small", 300, samples)):
        whole = tested + own
        data: Plain = {"n_train": 2 * whole, "n_test": 10, "noise": 0.3}
        scenario = {
            "clients": 2,
            "own_test": tested / whole,
            "relabel": [there, turned],
        }
        world: Plain = {"kind": "stratified", "scenario": scenario, "data": data}
        begin = joined(TINY, {"local": TINY_LOCAL})
        if scale == "small":
            begin = letters(0.3) | {"rounds": 30, "network": {"hidden": [64, 64]}}
            begin["local"] = {"lr": 0.1, "batch_size": 16}
        made[scale] = joined(begin, world, {"method": name})
    return settings(**made)


def _tried(shift: str, times: float) -> dict[str, Setting]:
    """FedCollab with so many times the usual C."""
    how = {
        scale: {"method": "fedcollab", "options": looking(shift, scale, times)}
        for scale in worlds(shift)
    }
    return scales(OURS, shift, how)


def _tiny(p: Printed) -> str | None:
    """The shift of the smoke tests, where it is not the column's."""
    many = (*BASES, *_CLUSTERING, *_ABLATION)
    base = p.row.removesuffix(" + FedCollab")
    return LABEL if base in many else None


def _made(p: Printed, shift: str) -> dict[str, Setting]:
    """A row of Tables 1 to 3 at each scale."""
    tiny = _tiny(p)
    if p.row in _CLUSTERING:
        each = dict.fromkeys(worlds(shift), _CLUSTERING[p.row])
        if p.row == "FedCluster" and shift in _SPLITS:
            each["small"] = each["small"] | {"options": _SPLITS[shift]}
        return scales(p.row, shift, each, tiny)
    if p.row in _ABLATION:
        ignored = {"ignore": _ABLATION[p.row]}
        each = {
            s: {"method": "fedcollab", "options": chosen(shift, s) | ignored}
            for s in worlds(shift)
        }
        return scales(p.row, shift, each)
    return scales(OURS if p.row == "FedCollab" else p.row, shift, tiny=tiny)


def _beside(p: Printed) -> str:
    """The row that an accuracy is shown beside."""
    base = p.row.removesuffix(" + FedCollab")
    if p.table == "table3" and p.row != "FedCollab":
        return "FedCollab"
    if p.table != "table1" or p.row == "Local":
        return ""
    return base if base in BASES and base != p.row else "" if base in BASES else "Local"


def _chosen(p: Printed, shift: str) -> Plain:
    """The reading and notes of a row whose C is chosen, and thresholds that split."""
    if p.row == "FedCollab" or p.row.endswith(" + FedCollab"):
        said = filter(None, (p.fields.get("reading"), _PROTOCOL))
        return {"reading": "; ".join(said), "notes": why(shift)}
    if p.row == "FedCluster" and shift in _SPLITS:
        e1, e2 = _SPLITS[shift].values()
        return {"notes": {"small": f"splits by thresholds {e1} and {e2}"}}
    return {}


def _measured(p: Printed) -> Plain:
    """A number of Tables 1 to 3: a measure under a shift."""
    what, shift = p.column.split(", ", 1)
    made, more = _made(p, shift), _MEASURES[what] | _chosen(p, shift)
    says = noted(made, stand_in(shift), looked(made), more.get("notes", {}))
    more |= {"settings": made, "notes": says}
    if what != "Acc":
        more["against"] = scales("Local", shift, tiny=_tiny(p))
    elif _beside(p):
        more["over"] = (p.table, _beside(p))
    if shift == CONCEPT:
        more["lacks"] = NO_IMAGENET
    return more


def _noted(shift: str, made: Mapping[str, Setting]) -> Plain:
    return {"settings": made, "notes": noted(made, stand_in(shift), looked(made))}


def run(p: Printed) -> Plain:
    """Settings of a number's runs, and what is to be said of it."""
    if "lacks" in p.fields:
        return {}
    if p.table == "figure1":
        made = _two(*_PAIRS[p.column], _METHODS[p.row])
        says = {"small": "letters, some of which are renamed"}
        lacks = "neither data nor network are said"
        return {"settings": made, "notes": says, "lacks": lacks}
    if p.table == "tuning":
        return _noted(p.column, _tried(p.column, _TIMES[p.row])) | {"seeds": SEEDS}
    if p.table == "figure6":
        times = _CAPACITIES[p.column]
        constant = scales(FIXED, LABEL) if times == 1 else _tried(LABEL, times)
        return _noted(LABEL, constant)
    return _measured(p)


TABLES = tables("fedcollab", NUMBERS, run)

"""FedImpro's cells: what is run for each number of `numbers.toml`.

A curve counts as the mean of all its rounds: who learns faster is ahead of who ends at
the same height. Divergence is the mean of the last 20 rounds.
"""

from pathlib import Path

from fedlab_ledger.model import Setting
from fedlab_ledger.papers.common import Plain, joined, settings
from fedlab_ledger.papers.fedimpro.worlds import (
    NO_SMALL,
    NOTHING,
    WORLDS,
    Change,
    ImproWorld,
    notes_of,
    scales,
)
from fedlab_ledger.papers.numbers import Printed, sheets, tables

NUMBERS = sheets(Path(__file__).with_name("numbers.toml"))
_CIFAR, _SHORT = ImproWorld("CIFAR-10"), ImproWorld("CIFAR-10", rounds=100)
_SPEED = ImproWorld("CIFAR-10", 0.3, 1, 100, 10, 1400)
# The convolution after which features end: a stage of ResNet-18, and at small and tiny
# scale a layer as far up.
_CUTS = {
    "5th layer": {"tiny": "input", "small": "conv1", "paper": "stage1"},
    "9th layer": {"tiny": "hidden1", "small": "conv2", "paper": "stage2"},
    "13th layer": {"tiny": "hidden1", "small": "hidden1", "paper": "stage3"},
    "17th layer": {"tiny": "hidden2", "small": "hidden2", "paper": "stage4"},
}
_SIGMAS = {f"σ={v:g}": v for v in (0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5)}
# What is FedImpro's own in Table 10
_OWN = {
    "FedImpro": _SPEED,
    "FedImpro, a=0.1": ImproWorld("CIFAR-10", 0.1, 1, 100, 10, 1400),
    "FedImpro, 10 clients": _SHORT,
    "FedImpro, CIFAR-100": ImproWorld("CIFAR-100", rounds=100),
}
_TABLE_11 = {
    f"a={w.alpha:g}, E={w.epochs}, {w.participants} of {w.clients}": w
    for w in (
        ImproWorld("CIFAR-10", *split)
        for split in (
            (0.1, 1, 10, 5), (0.1, 1, 10, 10), (0.05, 1, 10, 5), (0.05, 1, 10, 10),
            (0.1, 5, 10, 5), (0.1, 5, 10, 10), (0.1, 1, 100, 10), (0.1, 1, 100, 20),
        )
    )
}  # fmt: skip
# All images and 200 rounds of the paper's mini-batches, with FedDisco's CNN
_WHOLE = Change.of(small={"sample": None, "rounds": 200, "local": {"batch_size": 128}})
_VGG = Change.of(paper={"model": "vgg9", "network": {"split": "block3"}})
_MOMENTUM: Plain = {"local": {"momentum": 0.9}}
_AFTER: Plain = {"options": {"after": True}}
_RATES = {"constant": {}, "decayed": {"local": {"decay": 0.997}}}
_QUOTED = "quoted from that method's own paper, in a setting of its own: nothing to run"
_LACKS = {
    "table2": "targets are those of the whole data: no small scale",
    **dict.fromkeys(("table8", "table9", "table10"), "no small stand-in"),
    "whole": "what the paper runs is Table 1's",
}
_GUESSES = (
    "all 3,400 writers, ResNet-18, mini-batches of 20, 500 rounds and a target of 80 % "
    "are guesses"
)
_AS_PRINTED = "100 rounds as printed, although the number is that of Table 1"
_NOTES = {
    "table6": "learning rates of Table 5",
    "table8": _GUESSES,
    "table9": "cut after the third block",
}
_FEMNIST: Plain = {
    "dataset": "femnist",
    "resize": 32,
    "kind": "natural",
    "participants": 20,
    "rounds": 500,
    "local": {"lr": 0.05, "epochs": 10, "batch_size": 20, "weight_decay": 1e-4},
}


def noisy(sigma: float) -> Change:
    """Noise on the statistics that clients report."""
    return Change.of({"options": {"noise": sigma}} if sigma else {})


def _writers(row: str) -> dict[str, Setting]:
    """Table 8: FEMNIST's writers as clients."""
    made = scales(row, _CIFAR)
    whole = made["paper"].plain()
    for gone in ("kind", "scenario", "participants", "local", "dataset"):
        whole.pop(gone)
    return {"tiny": made["tiny"], **settings(paper=joined(whole, _FEMNIST))}


def _made(p: Printed) -> dict[str, Setting]:
    """Settings of a number at each scale that it may have."""
    if p.table in ("figure3", "figure9"):  # of FedAvg's layers
        return scales("FedAvg", ImproWorld(p.column))
    if p.table == "figure8":
        name = p.column.removesuffix(", all rounds")
        if name in _SIGMAS:
            return scales(p.row, _CIFAR, noisy(_SIGMAS[name]))
        rate = Change.of(_RATES[p.column.split()[-1]])
        return scales(p.row, ImproWorld("CIFAR-10", rounds=10_000), rate)
    if p.table == "table3":
        cut = {s: {"network": {"split": n}} for s, n in _CUTS[p.column].items()}
        return scales(p.row, _CIFAR, Change.of(**cut), stand_in="FMNIST")
    if p.table == "table7":
        return scales(p.row, _CIFAR, noisy(_SIGMAS[p.column]))
    if p.table == "table8":
        return _writers(p.row)
    if p.table == "table10":
        return scales("FedImpro", _OWN[p.row]) if p.row in _OWN else {}
    if p.table == "whole":
        made = scales(p.row, ImproWorld("FMNIST"), _WHOLE)
        return {s: made[s] for s in ("tiny", "small")}
    if p.table in ("table9", "figure2"):
        return scales(p.row, _CIFAR, _VGG if p.table == "table9" else NOTHING)
    world = _TABLE_11.get(p.column) or WORLDS[p.column.split(", to ")[0]]
    if p.table == "table6":
        change = joined(_MOMENTUM, _AFTER if p.row == "SCAFFOLD" else {})
        return scales(p.row, world, Change.of(change))
    return scales(p.row, world)


def _says(p: Printed) -> Plain:
    """Fields that follow from the number: a reading, and a tolerance of a fifth."""
    more: Plain = {}
    if p.fields.get("metric", "").startswith("to-"):
        more["tolerance"] = round(0.2 * p.value) if p.value else 0.0
    if p.table == "table2" and not p.value:
        more["reading"] = "the paper: never reached"
    return more


def run(p: Printed) -> Plain:
    """Settings of a number's runs, and what is to be said of it."""
    made, lacks = _made(p), _LACKS.get(p.table, "")
    long = p.table == "figure8" and p.row == "FedAvg"
    if (lacks and p.table != "whole") or long:
        made.pop("small", None)
    if p.table == "table10" and not made:
        lacks = _QUOTED
    if long:
        lacks = "ten thousand rounds are not small"
    notes = {"paper": _NOTES[p.table]} if p.table in _NOTES else {}
    if p.table == "table3":
        notes = {scale: f"cut after {name}" for scale, name in _CUTS[p.column].items()}
    if p.row == "FedImpro, CIFAR-100":
        notes = {"paper": _AS_PRINTED}
    about = {"settings": made, "notes": notes_of(made, notes)}
    about["lacks"] = lacks or ("" if "small" in made else NO_SMALL)
    return about | _says(p)


TABLES = tables("fedimpro", NUMBERS, run)

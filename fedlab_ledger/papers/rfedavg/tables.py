"""rFedAvg's cells: what is run for each number of `numbers.toml`.

A curve counts as the mean of all its rounds: who learns faster is ahead of who ends at
the same height. What stands on the axes of Figures 9 to 12 can only be read off them:
the values here are ours.
"""

from dataclasses import replace
from pathlib import Path

from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.numbers import Printed, sheets, tables
from fedlab_ledger.papers.rfedavg.worlds import MeansWorld, cell

NUMBERS = sheets(Path(__file__).with_name("numbers.toml"))
_SILO = {
    f"{data} {share:.0%}".replace("%", " %"): MeansWorld(data, share)
    for data in ("MNIST", "CIFAR-10")
    for share in (0.0, 0.1, 1.0)
} | {
    "Sent140 non-IID": MeansWorld("Sent140"),
    "Sent140 IID": MeansWorld("Sent140", 1.0),
}
_ALIKE = {"0 %": 0.0, "10 %": 0.1, "non-IID": 0.0, "IID": 1.0}
_CURVES = {"figure2": "MNIST", "figure4": "CIFAR-10", "figure6": "Sent140"}
_CURVES |= {"figure3": "MNIST", "figure5": "CIFAR-10", "figure7": "Sent140"}
_DEVICE = MeansWorld("CIFAR-10", device=True, small="MNIST")


def _curves(dataset: str) -> dict[str, MeansWorld]:
    """The four panels of a figure of curves."""
    return {
        f"cross-{'device' if device else 'silo'} {name}": MeansWorld(
            dataset, share, device
        )
        for device in (True, False)
        for name, share in _ALIKE.items()
    }


# The world of each column of a table
_WORLDS: dict[str, dict[str, MeansWorld]] = {
    "table1": _SILO,
    "table2": {name: replace(w, device=True) for name, w in _SILO.items()},
    "steadiness": {
        f"{data} 0 %, across {'devices' if device else 'silos'}": MeansWorld(
            data, device=device
        )
        for data in ("MNIST", "CIFAR-10")
        for device in (False, True)
    },
    "table3": {
        f"{network}, cross-{'device' if device else 'silo'}": MeansWorld(
            dataset, device=device
        )
        for network, dataset in (("CNN", "MNIST"), ("RNN", "Sent140"))
        for device in (False, True)
    },
    **{name: _curves(dataset) for name, dataset in _CURVES.items()},
    "figure8": {
        f"{n} clients, {cost}": MeansWorld("FEMNIST", 0.0, True, n, share, epochs)
        for n in (100, 500)
        for cost, share, epochs in (("low cost", 0.1, 10), ("high cost", 0.2, 20))
    },
    "figure9": {
        f"λ × {v:g}": replace(_DEVICE, times=v) for v in (0.1, 1.0, 10.0, 100.0)
    }
    | {f"N = {v}": replace(_DEVICE, clients=v) for v in (50, 100, 200, 500)}
    | {f"E = {v}": replace(_DEVICE, epochs=v) for v in (1, 2, 5, 10)}
    | {f"SR = {v:g}": replace(_DEVICE, share=v) for v in (0.05, 0.1, 0.2, 0.5)},
    "figure10": {
        f"{dataset}, rounds to {level} %": MeansWorld(dataset, device=True)
        for dataset, level in (
            ("MNIST", 80),
            ("MNIST", 90),
            ("CIFAR-10", 30),
            ("CIFAR-10", 40),
        )
    },  # fmt: skip
    "figure11": {
        f"{dataset}, worst client": MeansWorld(dataset)
        for dataset in ("MNIST", "CIFAR-10")
    },
    "figure12": {
        f"{dataset}, σ₂ = {sigma:g}": MeansWorld(dataset, noise=sigma / 100)
        for dataset in ("MNIST", "CIFAR-10")
        for sigma in (0.0, 1.0, 5.0, 50.0, 500.0)
    },
}
_AS_THEIRS = "as in the authors' code, where it is FedAvg in effect"
_ENVELOPE = 760.0  # bytes that the authors' format adds to every vector


def run(p: Printed) -> Plain:
    """Settings of a number's runs, and what is to be said of it."""
    if "lacks" in p.fields:
        return {}
    world = _WORLDS[p.table][p.column]
    made = cell(p.row, world)
    if p.row == "Scaffold":
        made["reading"] = "; ".join(filter(None, (p.fields["reading"], _AS_THEIRS)))
    if p.table == "table3":
        every = 100 if world.device else 20
        made["tolerance"] = _ENVELOPE * (1 if p.row == "rFedAvg+" else every)
    return made


TABLES = tables("rfedavg", NUMBERS, run)

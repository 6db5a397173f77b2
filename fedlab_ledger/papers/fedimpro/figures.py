"""FedImpro: Figures 2, 3, 8 and 9. Most of what is drawn is not given as numbers.

A curve counts as the mean of all its rounds: who learns faster is ahead of who ends at
the same height. Divergence is the mean of the last 20 rounds.
"""

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.fedimpro.ablations import CIFAR, TABLE_7, noisy
from fedlab_ledger.papers.fedimpro.worlds import (
    ARMS,
    Change,
    Place,
    cell,
    scales,
    table,
)

_NOT_READ = "drawn, not printed"
_DIVERGING = tuple(arm for arm in ARMS if arm != "FedNova")  # too far to be drawn
# Rows of Figures 3 and 9, and what of the network they look at.
_LAYERS = {
    "a": {"first layer": "first", "last layer": "last"},
    "b": {"below the cut": "features", "above the cut": "head"},
}


def _figure_2() -> Table:
    cells = [
        cell(
            "figure2",
            arm,
            "accuracy, all rounds",
            scales(arm, CIFAR),
            None,
            where="Fig. 2a",
            metric="mean-1000",
            reading=_NOT_READ,
            over=None if arm == "FedAvg" else ("figure2", "FedAvg"),
        )
        for arm in ARMS
    ]
    for part, what in (("divergence", "all"), ("divergence of the head", "head")):
        cells += [
            cell(
                "figure2",
                arm,
                part,
                scales(arm, CIFAR),
                None,
                where="Fig. 2b",
                metric=f"mean-20:drift.{what}",
                unit="distance",
                better="low",
                reading=_NOT_READ,
                over=None if arm == "FedAvg" else ("figure2", "FedAvg"),
            )
            for arm in _DIVERGING
        ]
    return table("figure2", "Accuracy and weight divergence on CIFAR-10", cells)


def _fading(
    name: str, panel: str, column: str, place: Place, parts: dict
) -> list[Cell]:
    return [
        cell(
            name,
            row,
            column,
            scales("FedAvg", place),
            None,
            where=f"Fig. {name.removeprefix('figure')}{panel}",
            metric=f"mean-20:fading.{part}",
            unit="of its peak",
            better="low",
            reading=f"{_NOT_READ}: FedAvg's divergence over its largest",
        )
        for row, part in parts.items()
    ]


def _figure_3() -> Table:
    cells = []
    for panel, parts in _LAYERS.items():
        cells += _fading("figure3", panel, "CIFAR-10", CIFAR, parts)
    return table("figure3", "Divergence of FedAvg's layers, over its peak", cells)


def _figure_9() -> Table:
    cells = []
    for panel, dataset in zip("abc", ("FMNIST", "SVHN", "CIFAR-100"), strict=True):
        for parts in _LAYERS.values():
            cells += _fading("figure9", panel, dataset, Place(dataset), parts)
    return table("figure9", "The same on other data sets", cells)


def _figure_8() -> Table:
    """Ten thousand rounds, with and without decay; and accuracy with noise."""
    cells = []
    rates = {"constant": ({}, 88.5), "decayed": ({"local": {"decay": 0.997}}, 82.65)}
    for rate, (change, value) in rates.items():
        made = scales("FedAvg", Place("CIFAR-10", rounds=10_000), Change.of(change))
        del made["small"]
        cells.append(
            cell(
                "figure8",
                "FedAvg",
                f"10,000 rounds, rate {rate}",
                made,
                value,
                where="Fig. 8a, App. F.1",
                reading="best round; decayed by .3 % a round",
                lacks="ten thousand rounds are not small",
            )
        )
    for sigma in TABLE_7:
        cells.append(
            cell(
                "figure8",
                "FedImpro",
                f"σ={sigma:g}, all rounds",
                scales("FedImpro", CIFAR, noisy(sigma)),
                None,
                where="Fig. 8b",
                metric="mean-1000",
                reading=_NOT_READ,
            )
        )
    return table("figure8", "Longer training, and noise on what is shared", cells)


TABLES = (_figure_2(), _figure_3(), _figure_8(), _figure_9())

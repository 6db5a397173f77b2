"""rFedAvg: Figures 2 to 12. What is drawn there is not given as numbers.

A curve counts as the mean of all its rounds: who learns faster is ahead of who ends at
the same height. What stands on the axes of Figures 9 to 12 can only be read off them:
the values here are ours.
"""

from collections.abc import Iterator

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.rfedavg.worlds import OURS, ROWS, Place, cell, table

# data set, how alike the clients are, what the paper calls it
_ALIKE = {
    "MNIST": {"0 %": 0.0, "10 %": 0.1},
    "CIFAR-10": {"0 %": 0.0, "10 %": 0.1},
    "Sent140": {"non-IID": 0.0, "IID": 1.0},
}
_ROUNDS = {"MNIST": 60, "CIFAR-10": 200, "Sent140": 30}
_SETTINGS = {"cross-device": True, "cross-silo": False}
_PANELS = "abcd"
_NOT_READ = "drawn, not printed"


def _panels(dataset: str) -> list[tuple[str, str, Place]]:
    """The four panels of a figure of curves: letter, name, place."""
    some = _ALIKE[dataset]
    ways = [(how, alike) for alike in some for how in _SETTINGS]
    if dataset == "Sent140":  # the silos come last
        ways = [(how, alike) for how in _SETTINGS for alike in some]
    return [
        (
            panel,
            f"{how} {alike}",
            Place(dataset, _ALIKE[dataset][alike], _SETTINGS[how]),
        )
        for panel, (how, alike) in zip(_PANELS, ways, strict=True)
    ]


def _curves(number: int, dataset: str, loss: bool) -> Table:
    name, rounds = f"figure{number}", _ROUNDS[dataset]
    cells = (
        cell(
            name,
            row,
            column,
            place,
            where=f"Fig. {number}{panel}",
            metric=f"mean-{rounds}:train_loss" if loss else f"mean-{rounds}",
            unit="nats" if loss else "%",
            better="low" if loss else "high",
            reading=f"{_NOT_READ}: mean of all rounds",
            over=None if row == "FedAvg" else (name, "FedAvg"),
        )
        for panel, column, place in _panels(dataset)
        for row in ROWS
    )
    what = "Training loss" if loss else "Accuracy"
    return table(name, f"{what} on {dataset}, mean of all rounds", cells)


def _femnist() -> Table:
    ways = {"low cost": (0.1, 10), "high cost": (0.2, 20)}
    cells = (
        cell(
            "figure8",
            row,
            f"{clients} clients, {cost}",
            Place("FEMNIST", 0.0, True, clients, share, epochs),
            where="Fig. 8",
            reading=_NOT_READ,
            over=None if row == "FedAvg" else ("figure8", "FedAvg"),
        )
        for clients in (100, 500)
        for cost, (share, epochs) in ways.items()
        for row in ROWS
    )
    return table("figure8", "FEMNIST, mean of the last 5 of 80 rounds", cells)


def _studied() -> Iterator[tuple[str, str, dict]]:
    """Panel, column and what is changed, of Figure 9."""
    for times in (0.1, 1.0, 10.0, 100.0):
        yield "a", f"λ × {times:g}", {"times": times}
    for clients in (50, 100, 200, 500):
        yield "b", f"N = {clients}", {"clients": clients}
    for epochs in (1, 2, 5, 10):
        yield "c", f"E = {epochs}", {"epochs": epochs}
    for share in (0.05, 0.1, 0.2, 0.5):
        yield "d", f"SR = {share:g}", {"share": share}


def _parameters() -> Table:
    cells = []
    for panel, column, change in _studied():
        usual = {"dataset": "CIFAR-10", "device": True, "small": "MNIST"}
        place = Place(**usual | change)
        for row in OURS:
            if panel == "a" and row == "FedAvg":
                continue  # it has no lambda: it is in panel c
            cells.append(
                cell(
                    "figure9",
                    row,
                    column,
                    place,
                    where=f"Fig. 9{panel}",
                    reading=_NOT_READ,
                )
            )
    title = "CIFAR-10, similarity 0 %, cross-device: λ, N, E and SR"
    return table("figure9", title, cells)


def _efficiency() -> Table:
    cells = []
    levels = {"MNIST": (80, 90), "CIFAR-10": (30, 40)}
    for panel, (dataset, some) in zip("ab", levels.items(), strict=True):
        for level in some:
            for row in OURS:
                cells.append(
                    cell(
                        "figure10",
                        row,
                        f"{dataset}, rounds to {level} %",
                        Place(dataset, device=True),
                        where=f"Fig. 10{panel}",
                        metric=f"to-{level}",
                        unit="rounds",
                        better="low",
                        tolerance=5.0,
                        reading=f"{_NOT_READ}: which levels is our choice",
                    )
                )
    for panel, alike in zip("cd", ("0 %", "10 %"), strict=True):
        for row in OURS:
            cells.append(
                Cell(
                    "rfedavg",
                    "figure10",
                    row,
                    f"time of a round, {alike}",
                    {},
                    None,
                    unit="s",
                    where=f"Fig. 10{panel}",
                    better="low",
                    lacks="seconds of another machine, one client after another; not "
                    "computed in the book",
                )
            )
    return table("figure10", "Rounds to reach an accuracy, and their time", cells)


def _fairness() -> Table:
    cells = (
        cell(
            "figure11",
            row,
            f"{dataset}, worst client",
            Place(dataset),
            where="Fig. 11",
            unit="share",
            metric="last:worst",
            tolerance=0.02,
            reading=_NOT_READ,
            over=None if row == "FedAvg" else ("figure11", "FedAvg"),
        )
        for dataset in ("MNIST", "CIFAR-10")
        for row in OURS
    )
    return table("figure11", "The client that the model serves worst", cells)


def _privacy() -> Table:
    cells = (
        cell(
            "figure12",
            "rFedAvg+",
            f"{dataset}, σ₂ = {sigma:g}",
            Place(dataset, noise=sigma / 100),
            where="Fig. 12",
            reading=f"{_NOT_READ}; C₀ = 1 and L = 100 samples, added to every number",
        )
        for dataset in ("MNIST", "CIFAR-10")
        for sigma in (0.0, 1.0, 5.0, 50.0, 500.0)
    )
    return table("figure12", "Noise on what clients report", cells)


TABLES = (
    _curves(2, "MNIST", False),
    _curves(3, "MNIST", True),
    _curves(4, "CIFAR-10", False),
    _curves(5, "CIFAR-10", True),
    _curves(6, "Sent140", False),
    _curves(7, "Sent140", True),
    _femnist(),
    _parameters(),
    _efficiency(),
    _fairness(),
    _privacy(),
)

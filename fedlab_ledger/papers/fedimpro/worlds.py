"""FedImpro's worlds and methods at every scale.

"small" is Fashion-MNIST in part with a small CNN, and letters for photographs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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

ARMS = ("FedAvg", "FedProx", "SCAFFOLD", "FedNova", "FedDyn", "FedImpro")


@dataclass(frozen=True)
class ImproWorld:
    """A data set, its Dirichlet split, and who takes part how long."""

    dataset: str
    alpha: float = 0.1
    epochs: int = 1
    clients: int = 10
    participants: int = 5
    rounds: int | None = None  # else 400 of five epochs, 1,000 of one

    @property
    def name(self) -> str:
        """As the papers' rows are called here."""
        where = f"a={self.alpha:g}, E={self.epochs}, K={self.clients}"
        return f"{self.dataset}, {where}"


@dataclass(frozen=True)
class Change:
    """Changes of a method in an experiment: at every scale, and at single ones."""

    always: Plain
    tiny: Plain
    small: Plain
    paper: Plain

    @classmethod
    def of(cls, always: Plain | None = None, **scales: Plain) -> "Change":
        """A change; scales that are not named get nothing of their own."""
        parts = {"tiny": {}, "small": {}, "paper": {}} | scales
        return cls(always or {}, **parts)


NOTHING = Change.of()
_DATASETS = ("CIFAR-10", "FMNIST", "SVHN", "CIFAR-100")
_SPLITS = ((0.1, 1, 10, 5), (0.05, 1, 10, 5), (0.1, 5, 10, 5), (0.1, 1, 100, 10))
_EACH = (ImproWorld(data, *split) for data in _DATASETS for split in _SPLITS)
WORLDS = {world.name: world for world in _EACH}  # of Tables 1, 2 and 6
# learning rates where they are not .1 (Table 5)
_RATES = {
    ("SCAFFOLD", "CIFAR-10, a=0.05, E=1, K=10"): 0.01,
    ("SCAFFOLD", "CIFAR-10, a=0.1, E=1, K=100"): 0.01,
    ("SCAFFOLD", "FMNIST, a=0.05, E=1, K=10"): 0.001,
    ("SCAFFOLD", "FMNIST, a=0.1, E=1, K=100"): 0.01,
    ("SCAFFOLD", "SVHN, a=0.1, E=1, K=10"): 0.01,
    ("SCAFFOLD", "SVHN, a=0.05, E=1, K=10"): 0.01,
    ("SCAFFOLD", "SVHN, a=0.1, E=5, K=10"): 0.01,
    ("SCAFFOLD", "SVHN, a=0.1, E=1, K=100"): 0.001,
    ("FedProx", "SVHN, a=0.1, E=5, K=10"): 0.01,
    ("FedNova", "SVHN, a=0.1, E=5, K=10"): 0.01,
}
_METHODS: dict[str, Plain] = {
    "FedAvg": {"method": "fedavg"},
    "FedProx": {"method": "fedprox", "options": {"mu": 0.1}},
    "SCAFFOLD": {
        "method": "scaffold",
        "options": {"factor": False},
        "weigh": {"name": "size"},
    },
    "FedNova": {"method": "fednova"},
    "FedDyn": {"method": "feddyn", "options": {"alpha": 0.01}},
    "FedImpro": {"method": "fedimpro"},
}
_DATA: dict[str, Plain] = {
    "CIFAR-10": {"dataset": "cifar10", "local": {"crop": 4}},
    "FMNIST": {"dataset": "fashion_mnist", "resize": 32},
    "SVHN": {"dataset": "svhn"},
    "CIFAR-100": {"dataset": "cifar100", "model": "resnet50", "local": {"crop": 4}},
}
_PAPER: Plain = {
    "model": "resnet18",
    "network": {"split": "stage2"},
    "local": {"lr": 0.1, "weight_decay": 1e-4, "batch_size": 128},
}
_FMNIST: Plain = {
    "dataset": "fashion_mnist",
    "sample": 6000,
    "model": "disco_cnn",
    "network": {"split": "conv2"},
    "rounds": 40,
    "local": {"lr": 0.1, "weight_decay": 1e-4, "batch_size": 32},
}
_LETTERS: Plain = joined(
    letters(0.2),
    {"network": {"split": "hidden1"}, "rounds": 60},
    {"local": {"lr": 0.1, "weight_decay": 1e-4, "batch_size": 32}},
)
_SMALL = {"CIFAR-10": _LETTERS, "FMNIST": _FMNIST}
_STAND_INS = {
    "letters": "letters in place of photographs, a small network",
    "fashion_mnist": "6,000 images of Fashion-MNIST, a small CNN",
}
NO_SMALL = "small only for CIFAR-10 and FMNIST with E=1, K=10"


def split(alpha: float, clients: int, participants: int, least: int = 10) -> Plain:
    """A Dirichlet split, and how many clients take part."""
    scenario = {"clients": clients, "alpha": alpha, "min_size": least}
    return {"kind": "dirichlet", "scenario": scenario, "participants": participants}


def scales(
    arm: str, world: ImproWorld, change: Change = NOTHING, stand_in: str | None = None
) -> dict[str, Setting]:
    """A method's setting in a world at each scale that there is.

    `stand_in` names the data set whose small world takes its place.
    """
    how, share = _METHODS[arm], world.participants / world.clients
    tiny = joined(TINY, {"network": {"split": "hidden1"}, "local": TINY_LOCAL})
    tiny["network"] = {"hidden": [16, 16], "split": "hidden1"}
    tiny |= split(max(world.alpha, 0.5), 5, 3 if share < 1 else 5)
    begin = _SMALL.get(stand_in or world.dataset)
    small = None
    if world.clients == 10 and world.epochs == 1 and begin:
        where = split(world.alpha, 10, world.participants)
        rounds = change.small.get("rounds", begin["rounds"])
        ours = _ramp(rounds) if arm == "FedImpro" else {}
        small = joined(begin, where, how, ours, change.always, change.small)
    return settings(
        tiny=joined(tiny, how, change.always, change.tiny),
        small=small,
        paper=_paper(arm, world, change),
    )


def _ramp(rounds: int) -> Plain:
    """Synthetic features count more and more: up to 2, as after the paper's 1,000."""
    return {"options": {"alpha": 1000 / rounds}}


def _paper(arm: str, world: ImproWorld, change: Change) -> Plain:
    rounds = world.rounds or (400 if world.epochs == 5 else 1000)
    least = 100 if world.dataset == "CIFAR-100" else 10  # as many as there are classes
    begin = joined(_PAPER, _DATA[world.dataset])
    begin |= split(world.alpha, world.clients, world.participants, least)
    rate = _RATES.get((arm, world.name))
    tuned: Plain = {} if rate is None else {"local": {"lr": rate}}
    length = {"rounds": rounds, "local": {"epochs": world.epochs}}
    return joined(begin, length, _METHODS[arm], tuned, change.always, change.paper)


def notes_of(made: Mapping[str, Setting], more: Mapping[str, str]) -> dict[str, str]:
    """Notes on what stands in at the scales that there are, and some more."""
    small = made.get("small")
    says = "" if small is None else _STAND_INS[small.dataset]
    if small is not None and small.dataset != "letters" and small.sample is None:
        says = f"all of Fashion-MNIST, a small CNN, {small.rounds} rounds"
    return noted(made, {"small": says}, more)

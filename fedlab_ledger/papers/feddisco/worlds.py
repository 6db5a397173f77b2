"""FedDisco's worlds and methods at every scale.

"small" is 6,000 images of Fashion-MNIST, and letters for CIFAR-10's photographs.
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

N1, N2 = "NIID-1", "NIID-2"
PARTIAL = "partial"  # 10 of 60 clients a round, of which 50 hold two classes
ARMS: dict[str, Plain] = {
    "FedAvg": {"method": "fedavg"},
    "FedAvgM": {"method": "fedavgm", "options": {"beta": 0.5}},
    "FedProx": {"method": "fedprox", "options": {"mu": 0.01}},
    "SCAFFOLD": {
        "method": "scaffold",
        "options": {"after": True},
        "weigh": {"name": "size"},
    },
    "FedDyn": {"method": "feddyn", "options": {"alpha": 0.01}},
    "FedNova": {"method": "fednova"},
    "MOON": {"method": "moon", "options": {"mu": 0.1}},
    "FedDC": {"method": "feddc", "options": {"alpha": 0.01, "correction": False}},
}
FEDAVG = ARMS["FedAvg"]


def disco(**more) -> Plain:
    """Disco's weights with the code's a and b, or others."""
    return {"weigh": {"name": "disco", "a": 0.5, "b": 0.1} | more}


DISCO = disco()


@dataclass(frozen=True)
class DiscoWorld:
    """A data set, how it is divided and how long clients train.

    `alpha` and `clients` are NIID-1's; `biased` clients of two classes are among those
    of whom ten take part; `tail` is rho of the training and of the test
    classes; `steps` replaces epochs by so many steps, drawn between the two.
    """

    data: str
    split: str = N1
    alpha: float = 0.5
    clients: int = 10
    biased: int = 50
    epochs: int | None = None
    rounds: int | None = None
    tail: tuple[float, float] | None = None
    steps: tuple[int, int] | None = None


_SGD: Plain = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-5}
_PAPER: Plain = {
    "rounds": 100,
    "local": {**_SGD, "epochs": 10, "batch_size": 64, "drop_last": True},
}
_RESNET: Plain = {"model": "resnet18", "network": {"norm": "group", "groups": 2}}
_CNN: Plain = {"model": "disco_cnn"}
_CROP: Plain = {"local": {"crop": 4}}
_DATA: dict[str, Plain] = {
    "HAM10000": {"dataset": "ham10000", **_RESNET},
    "CIFAR-10": {"dataset": "cifar10", **_CNN, **_CROP},
    "CIFAR-100": {"dataset": "cifar100", **_RESNET, **_CROP},
    "CINIC-10": {"dataset": "cinic10", **_CNN, **_CROP},
    "FMNIST": {"dataset": "fashion_mnist", **_CNN},
    "AG News": {"dataset": "ag_news", "model": "textcnn", "network": {"hidden": 32}},
}
_LETTERS: Plain = joined(
    letters(0.2), {"rounds": 20, "local": {**_SGD, "epochs": 5, "batch_size": 32}}
)
_SMALL: dict[str, Plain] = {
    "CIFAR-10": _LETTERS,
    "FMNIST": {
        "dataset": "fashion_mnist",
        "sample": 6000,
        "model": "disco_cnn",
        "rounds": 20,
        "local": {**_SGD, "epochs": 3, "batch_size": 32},
    },
}
# Plain steps, as momentum hides what a few clients a round change.
_SMALL_PARTIAL: Plain = joined(
    letters(0.2), {"rounds": 30, "local": {"lr": 0.2, "epochs": 5, "batch_size": 16}}
)
_MANY: Plain = {"data": {"n_train": 5000, "n_test": 2000}}  # with long tails
NO_SMALL = "no small stand-in of its own: look at CIFAR-10 or FMNIST"


def _niid2(biased: int, unbiased: int) -> Plain:
    scenario = {"biased": biased, "unbiased": unbiased}
    return {"kind": "niid2", "scenario": scenario}


def _split(world: DiscoWorld, tiny: bool = False) -> Plain:
    news = world.data == "AG News" and not tiny  # 4 classes: 80 % hold two of them
    if world.split == PARTIAL:
        return _niid2(40 if news else world.biased, 10) | {"participants": 10}
    if world.split == N2:
        return _niid2(4, 1) if news else _niid2(5, 1)
    alpha, clients = (0.5, 5) if tiny else (world.alpha, world.clients)
    return {"kind": "dirichlet", "scenario": {"clients": clients, "alpha": alpha}}


def _long(world: DiscoWorld) -> Plain:
    """How long clients train, and how rare classes are, where a world says so."""
    more: Plain = {}
    if world.epochs is not None:
        more = joined(more, {"local": {"epochs": world.epochs}})
    if world.rounds is not None:
        more["rounds"] = world.rounds
    if world.tail is not None:
        more["tail"] = list(world.tail)
    return more


def scales(world: DiscoWorld, *parts: Plain) -> dict[str, Setting]:
    """A world at each scale, with the method of `parts`."""
    plain = {"tiny": _tiny(world), "small": _small(world), "paper": _paper(world)}
    return settings(**{s: w and joined(w, *parts) for s, w in plain.items()})


def _tiny(world: DiscoWorld) -> Plain:
    tiny = joined(TINY, {"local": TINY_LOCAL}, _split(world, tiny=True))
    if world.split == PARTIAL:
        return joined(tiny, {"data": {"n_train": 1200}})
    tiny = joined(tiny, {"local": {"momentum": 0.9}})
    if world.tail is not None:
        tiny["tail"] = [4.0, 1.0 if world.tail[1] == 1 else 4.0]
    if world.steps is not None:
        tiny = joined(tiny, {"local": {"iterations": [1, 3]}})
    return tiny


def _small(world: DiscoWorld) -> Plain | None:
    if world.data not in _SMALL:
        return None
    if world.split == PARTIAL:
        return joined(_SMALL_PARTIAL, _split(world), _long(world))
    small = joined(_SMALL[world.data], _split(world), _long(world))
    if world.tail is not None:
        small = joined(small, _MANY)
    if world.steps is not None:
        # as for an epoch: from a tenth of the steps of 5 epochs to all of them
        small = joined(small, {"local": {"iterations": [8, 80]}})
    return small


def _paper(world: DiscoWorld) -> Plain:
    paper = joined(_PAPER, _DATA[world.data], _split(world), _long(world))
    if world.steps is not None:
        paper = joined(paper, {"local": {"iterations": list(world.steps)}})
    return paper


# What one has to know of a data set at one scale.
_NOTES = {
    "HAM10000": {"paper": "images fetched by hand; not augmented, as nobody says how"},
    "CIFAR-10": {"small": "letters in place of photographs, a small network"},
    "FMNIST": {"small": "6,000 of the images"},
}


def notes_of(
    world: DiscoWorld, made: Mapping[str, Setting], more: Mapping[str, str]
) -> dict[str, str]:
    """Notes on a world at the scales that there are, and some more."""
    return noted(made, _NOTES.get(world.data, {}), more)

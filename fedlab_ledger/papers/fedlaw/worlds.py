"""FedLAW's worlds and methods at every scale.

"small" is letters for CIFAR-10, and 12,000 images of Fashion-MNIST with the MLP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

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

_NETWORKS: dict[str, Plain] = {
    "SimpleCNN": {"model": "simple_cnn"},
    "AlexNet": {"model": "alexnet"},
    "ResNet8": {"model": "law_resnet", "network": {"depth": 8}},
    "ResNet20": {"model": "law_resnet", "network": {"depth": 20}},
    "ResNet56": {"model": "law_resnet", "network": {"depth": 56}},
    "ResNet110": {"model": "law_resnet", "network": {"depth": 110}},
    "WRN56-4": {"model": "wrn56_4"},
    "DenseNet121": {"model": "densenet121"},
    "MLP": {"model": "mlp_200"},
    "LeNet": {"model": "lenet"},
}
NORMED = ("ResNet", "WRN", "DenseNet")  # have BatchNorm
_DATA: dict[str, Plain] = {
    "CIFAR-10": {"dataset": "cifar10", "normalise": [0.5, 0.5]},
    "CIFAR-100": {
        "dataset": "cifar100",
        "normalise": [0.5, 0.5],
        "local": {"lr": 0.01, "weight_decay": 5e-5},
    },
    "FMNIST": {"dataset": "fashion_mnist", "normalise": [0.0, 1.0]},
}
_PAPER: Plain = {
    "rounds": 200,
    "held": 0.3,
    "local": {
        "lr": 0.08,
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "keep_velocity": True,
        "decay": 0.99,
        "batch_size": 128,
    },
}
_LETTERS: Plain = joined(
    letters(0.35), {"rounds": 25, "local": {"lr": 0.1, "epochs": 5, "batch_size": 32}}
)
_FMNIST: Plain = {
    "dataset": "fashion_mnist",
    "normalise": [0.0, 1.0],
    "sample": 12000,
    "model": "mlp_200",
    "rounds": 30,
    "local": {"lr": 0.05, "momentum": 0.9, "epochs": 3, "batch_size": 64},
}
_NO_SMALL = "no small stand-in of its own: look at SimpleCNN on CIFAR-10, MLP on FMNIST"


@dataclass(frozen=True)
class LawWorld:
    """Data, a network, how clients' data differ and how long they train.

    `alpha` is Dirichlet's; None is the hybrid split, whose first half is balanced.
    `per_class` and `proxy_rho` are the proxy set's, which every method gives up; what
    is corrupted are two labels of a `corrupt` share of the clients. `small_per_class`
    is of the letters, `small_epochs` says how long clients train there.
    """

    data: str = "CIFAR-10"
    network: str = "SimpleCNN"
    alpha: float | None = 100.0
    clients: int = 20
    share: float | None = None  # of the clients, in a round
    epochs: int = 3
    rounds: int | None = None
    per_class: int = 10
    proxy_rho: float = 1.0
    resample: bool = False
    tail: float | None = None  # rho of the clients' classes
    corrupt: float | None = None
    decay: float | None = None  # of the weights
    least: int = 2  # samples that a client has, in the small world
    letters: bool | None = None  # whether letters stand in; else as the network says
    small_epochs: int = 5
    small_per_class: int = 20

    @property
    def stand_in(self) -> str:
        """Data set of the small scale; nothing without one."""
        if self.data == "FMNIST":
            return "FMNIST" if self.network == "MLP" else ""
        usual = self.data == "CIFAR-10" and self.network == "SimpleCNN"
        return "letters" if (usual if self.letters is None else self.letters) else ""


def _split(world: LawWorld, clients: int, least: int) -> Plain:
    scenario: Plain = {"clients": clients}
    if world.corrupt is not None:
        scenario["corrupt"] = world.corrupt
    if world.alpha is None:
        scenario["min_size"] = least
        return {"kind": "hybrid", "scenario": scenario}
    free = {"alpha": world.alpha, "capacity": False, "min_size": least}
    return {"kind": "dirichlet", "scenario": scenario | free}


def _server(world: LawWorld, per_class: int) -> Plain:
    """The proxy set."""
    proxy: Plain = {"per_class": per_class}
    if world.proxy_rho != 1:
        proxy["rho"] = world.proxy_rho
    if world.resample:
        proxy["resample"] = True
    return {"proxy": proxy}


def _clients(world: LawWorld, clients: int) -> Plain:
    """Options for who takes part, how rare classes are, how much weights decay."""
    more: Plain = {}
    if world.share is not None:
        more["participants"] = max(1, round(world.share * clients))
    if world.tail is not None:
        more["tail"] = [world.tail, 1.0]
    if world.decay is not None:
        more["local"] = {"weight_decay": world.decay}
    return more


def _tiny(world: LawWorld) -> Plain:
    clients = 3 if world.clients == 3 else 5
    usual = None if world.alpha is None else max(world.alpha, 0.5)
    usual = 100.0 if usual is not None and usual > 1 else usual
    mild = replace(world, alpha=usual, tail=world.tail and 4.0, decay=None)
    mild = replace(mild, share=world.share and 0.6, proxy_rho=min(world.proxy_rho, 2))
    parts = _split(mild, clients, 2), _server(mild, 2), _clients(mild, clients)
    return joined(TINY, {"local": TINY_LOCAL}, *parts)


def _small(world: LawWorld) -> Plain | None:
    if world.stand_in == "FMNIST":
        parts = _split(world, 20, world.least), _server(world, 10)
        return joined(_FMNIST, *parts, _clients(world, 20))
    if not world.stand_in:
        return None
    clients = world.clients // 2 if world.clients == 20 else world.clients
    # of 2,000 letters to test on: as large a part of all data as it can be
    parts = (
        _split(world, clients, world.least),
        _server(world, world.small_per_class),
        _clients(world, clients),
        {"local": {"epochs": world.small_epochs}},
    )
    made = joined(_LETTERS, *parts)
    return made if world.rounds is None else made | {"rounds": world.rounds}


def _paper(world: LawWorld) -> Plain:
    parts = (
        _split(world, world.clients, 2),
        _server(world, world.per_class),
        {"local": {"epochs": world.epochs}},
        _clients(world, world.clients),
    )
    made = joined(_PAPER, _DATA[world.data], _NETWORKS[world.network], *parts)
    return made if world.rounds is None else made | {"rounds": world.rounds}


def scales(world: LawWorld, how: dict[str, Plain]) -> dict[str, Setting]:
    """A world at each scale, with the method of that scale."""
    plain = {"tiny": _tiny(world), "small": _small(world), "paper": _paper(world)}
    return settings(**{s: w and joined(w, how[s]) for s, w in plain.items()})


def methods(world: LawWorld, scale: str) -> dict[str, Plain]:
    """Every method, with the numbers of its experiments in a world."""
    rate = 0.01 if world.data == "CIFAR-10" else 0.005
    epochs = {"tiny": 2, "small": 40, "paper": 100}[scale]
    normed = scale == "paper" and world.network.startswith(NORMED)
    law: Plain = {"options": {"server_epochs": epochs, "lr": rate}}
    if normed:
        law = joined(law, {"options": {"statistics": "running"}})
        law = joined(law, {"local": {"statistics": "local"}})
    # averages only what comes after its first epochs
    swa = joined(law, {"options": {"server_epochs": max(epochs, 4)}})
    distilled = {"epochs": epochs}
    bare = {"momentum": 0.0, "weight_decay": 0.0, "keep_velocity": False}
    early: Plain = {"options": {"early_stop": 1 if scale == "tiny" else 10}}
    return {
        "FedAvg": {"method": "fedavg"},
        "FedProx": {"method": "fedprox", "options": {"mu": 0.001}, "local": bare},
        "FedDyn": {"method": "feddyn", "options": {"alpha": 0.001, "form": "law"}},
        "FedDF": {"method": "feddf", "options": distilled},
        "FedBE": {"method": "fedbe", "options": distilled},
        "Server-FT": {"method": "server-ft"},
        "FedLAW": {"method": "fedlaw", **law},
        "FedLAW (SWA)": {"method": "fedlaw-swa", **swa},
        "adaptive GWS": {"method": "gws", **law},
        "attentive LAW": {"method": "attentive", **law},
        "attentive LAW, stopped early": {"method": "attentive", **joined(law, early)},
    }


def shrunk(gamma: float) -> Plain:
    """FedAvg whose sum is multiplied by gamma."""
    return {"method": "shrunk", "options": {"gamma": gamma}}


def _stand_in(made: Mapping[str, Setting]) -> dict[str, str]:
    """Notes on the small scale's stand-in for what the paper trains."""
    small = made.get("small")
    if small is None:
        return {}
    long = f"{small.rounds} rounds of {small.local['epochs']} epochs"
    if small.dataset != "letters":
        return {"small": f"{small.sample or 0:,} of the images, {long}"}
    clients, proxy = small.scenario["clients"], (small.proxy or {})["per_class"]
    says = (
        f"letters in place of photographs, a small network, {clients} clients, {long}"
    )
    return {"small": f"{says}, a proxy set of {proxy} a class"}


def cell(
    world: LawWorld, how: Plain | str, also: Plain, notes: Mapping[str, str]
) -> Plain:
    """Settings and notes in a world; `how` names a method, or is it at every scale."""
    parts = {}
    for scale in ("tiny", "small", "paper"):
        found = methods(world, scale)[how] if isinstance(how, str) else how
        parts[scale] = joined(found, also)
    made = scales(world, parts)
    lacks = "" if "small" in made else _NO_SMALL
    says = noted(made, _stand_in(made), notes)
    return {"settings": made, "lacks": lacks, "notes": says}

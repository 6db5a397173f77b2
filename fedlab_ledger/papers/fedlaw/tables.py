"""FedLAW's cells: what is run for each number of `numbers.toml`."""

from pathlib import Path

from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.fedlaw.worlds import LawWorld, cell, shrunk
from fedlab_ledger.papers.numbers import Printed, sheets, tables

NUMBERS = sheets(Path(__file__).with_name("numbers.toml"))
STUDIED = 200  # of each class are the server's where the dynamics are studied
GAMMAS = (1.0, 0.99, 0.97, 0.95, 0.93, 0.9)
DECAYS = (0.0, 5e-5, 1e-4, 5e-4, 1e-3)
RATES = (0.5, 1.0, 1.5)
SKEWS = (100.0, 10.0, 1.0, 0.5, 0.2, 0.1)  # of Figure 9: those of Tables 1 and 9
_EPOCHS = (1, 2, 3, 5)  # of Figure 2; the text does not give them
# places on the axes of Figure 8; the text does not give the paper's
_SHARES, _SIZES = (0.2, 0.4, 0.6, 0.8, 1.0), (10, 100, 1000, 5000)
_ALIKE = {"IID": 100.0, "α=1": 1.0}
_RESNET = "not given, and a guess: ResNet20, 3 epochs"
_SIMPLE = {"paper": "the network is not given: SimpleCNN"}


def _of(alpha: float) -> str:
    return "IID" if alpha == 100 else f"α={alpha:g}"


def studied(alpha: float = 100.0, epochs: int = 2) -> LawWorld:
    """The world where shrinking is studied: SimpleCNN, and 2,000 proxy samples."""
    small = {1: 2, 2: 5, 3: 7, 5: 10}[epochs]  # letters drift in so many
    return LawWorld(alpha=alpha, epochs=epochs, per_class=STUDIED, small_epochs=small)


_BY_EPOCHS = {
    f"{_of(alpha)}, E={e}": studied(alpha, e) for alpha in (100.0, 1.0) for e in _EPOCHS
}
_HYBRID = LawWorld(alpha=None, per_class=STUDIED, least=10)
_TABLE_3 = {
    f"{data} {network}, α={alpha:g}": LawWorld(data, network, alpha, least=10)
    for data, networks in (
        ("FMNIST", ("MLP", "LeNet")),
        ("CIFAR-10", ("SimpleCNN", "ResNet20")),
        ("CIFAR-100", ("SimpleCNN", "ResNet20")),
    )
    for alpha in (100.0, 0.1)
    for network in networks
}
_TABLE_6 = {
    f"{name}, {proxy} proxy": LawWorld(
        network="ResNet20",
        alpha=alpha,
        per_class=100,
        proxy_rho=1.0 if proxy == "balanced" else 10.0,
        resample=proxy == "resampled",
        letters=True,
    )
    for name, alpha in _ALIKE.items()
    for proxy in ("balanced", "long-tailed", "resampled")
}
_FIGURE_8 = {
    f"{100 * v:g} % of clients": LawWorld(alpha=1.0, share=v, least=10) for v in _SHARES
} | {
    f"{v} proxy samples": LawWorld(
        alpha=0.1, per_class=v // 10, small_per_class=min(v // 10, 100), least=10
    )
    for v in _SIZES
}
# The world of a table, or of each of its columns
_WORLDS: dict[str, LawWorld | dict[str, LawWorld]] = {
    "table2": {
        f"{name}, decay {v:g}": LawWorld(
            alpha=alpha, epochs=2, per_class=STUDIED, decay=v
        )
        for name, alpha in _ALIKE.items()
        for v in DECAYS
    },
    "table3": _TABLE_3,
    "table4": {
        f"{name}, {n} clients": LawWorld(
            network="ResNet20", alpha=alpha, clients=n, letters=True
        )
        for name, alpha in _ALIKE.items()
        for n in (50, 100)
    },
    "table5": {
        name: LawWorld(network=name, alpha=1.0, epochs=1, per_class=100)
        for name in ("ResNet20", "ResNet56", "ResNet110", "WRN56-4", "DenseNet121")
    },
    "table6": _TABLE_6,
    "table7": {
        name: LawWorld(network="ResNet20", alpha=alpha, tail=5.0, letters=True)
        for name, alpha in _ALIKE.items()
    },
    "table8": {
        f"{n} %": LawWorld(corrupt=n / 100, per_class=100) for n in (25, 50, 75)
    },
    "table10": {
        f"{name}, rate {v:g}": LawWorld(
            alpha=alpha, epochs=1, per_class=STUDIED, small_epochs=2
        )
        for name, alpha in _ALIKE.items()
        for v in RATES
    },
    "table11": {
        f"E={e}": LawWorld(
            alpha=1.0, epochs=e, per_class=STUDIED, least=10, small_epochs=e
        )
        for e in (1, 5)
    },
    "figure1": LawWorld(
        network="AlexNet", epochs=2, per_class=STUDIED, letters=True, least=2
    ),
    "figure2": _BY_EPOCHS,
    **dict.fromkeys(("figure3", "figure4", "figure10"), studied()),
    **dict.fromkeys(("figure5", "figure13"), _HYBRID),
    "figure6": LawWorld(per_class=STUDIED),
    "figure7": LawWorld(alpha=0.1, share=0.25, per_class=STUDIED, least=10),
    "figure8": _FIGURE_8,
    "figure9": {_of(alpha): studied(alpha) for alpha in SKEWS},
    "figure11": _BY_EPOCHS | {f"{_of(alpha)}, E=2": studied(alpha) for alpha in SKEWS},
    "figure12": LawWorld(alpha=None, clients=3, rounds=10, per_class=STUDIED, least=10),
}
_FIXED = {f"γ={gamma:g}": gamma for gamma in GAMMAS}  # of Tables 1 and 9, Figure 1
# Rows that show something of a method's run
_SEEN = {
    **dict.fromkeys(("γ", "r"), "adaptive GWS"),
    **dict.fromkeys(("norm of the step", "norm of the shrinking"), "adaptive GWS"),
}
_OF_COLUMN = ("figure4", "figure6", "figure7", "figure10", "figure12")
_NOTES = {
    **dict.fromkeys(("table11", "figure5", "figure6", "figure7", "figure12"), _SIMPLE),
    "table6": {"paper": f"{_RESNET}, a proxy set of up to 100 a class"},
    "table7": {"paper": f"{_RESNET}, a proxy set of 10 a class"},
}


def _method(p: Printed) -> str:
    """The method whose run has a number."""
    if p.table in _OF_COLUMN or " | " in p.column:
        return p.column.split(" | ")[-1]
    if p.table == "table11":
        return "attentive LAW"
    return "FedAvg" if p.table == "figure13" else _SEEN.get(p.row, p.row)


def _rate(p: Printed) -> Plain:
    """The server's learning rate in a column of Table 10."""
    (rate,) = (v for v in RATES if p.column.endswith(f"rate {v:g}"))
    if rate == 1:
        return {}
    if p.row == "FedAvg":
        return {"method": "fedavgm", "options": {"beta": 0.0, "lr": rate}}
    return {"options": {"global_lr": rate}}


def _shrunk(p: Printed) -> Plain:
    """Tables 1 and 9: a fixed gamma, two epochs; a row is network, skew and gamma."""
    network, skew, gamma = p.row.split(", ")
    (alpha,) = (v for v in SKEWS if _of(v) == skew)
    world = LawWorld(network=network, alpha=alpha, epochs=2, per_class=STUDIED, least=2)
    made = cell(world, shrunk(_FIXED[gamma]), {}, {})
    beside = {"over": (p.table, f"{network}, {skew}, γ=1")}
    return made | (beside if _FIXED[gamma] != 1 else {})


def run(p: Printed) -> Plain:
    """Settings of a number's runs, and what is to be said of it."""
    if "lacks" in p.fields:
        return {}
    if p.table in ("table1", "table9"):
        return _shrunk(p)
    found = _WORLDS[p.table]
    world = found if isinstance(found, LawWorld) else found[p.column]
    how = shrunk(_FIXED[p.row]) if p.table == "figure1" else _method(p)
    also = _rate(p) if p.table == "table10" else {}
    return cell(world, how, also, _NOTES.get(p.table, {}))


TABLES = tables("fedlaw", NUMBERS, run)

"""The small worlds in which differences are looked for, one for each paper.

Their sizes are chosen so that all differences together take well under a minute.
"""

from fedlab_ledger.model import Setting
from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.differences.record import Reading

_SGD: Plain = {"lr": 0.01, "momentum": 0.9, "epochs": 2, "batch_size": 32}
_LETTERS: Plain = {
    "dataset": "letters",
    "data": {"n_train": 1200, "n_test": 500, "noise": 0.2},
    "network": {"hidden": [32, 32]},
    "rounds": 10,
    "local": _SGD,
}
_DIRICHLET: Plain = {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}}
WORLDS: dict[str, Plain] = {
    "feddisco": joined(
        _LETTERS, {"kind": "niid2", "scenario": {"biased": 5, "unbiased": 1}}
    ),
    "uneven": joined(_LETTERS, _DIRICHLET),
    "fedlaw": joined(
        _LETTERS,
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 1.0}},
        {"data": {"noise": 0.35}, "proxy": {"per_class": 10}, "rounds": 8},
        {"local": {"lr": 0.1, "momentum": 0.0}},
    ),
    "rfedavg": joined(
        _LETTERS,
        {"kind": "similarity", "scenario": {"clients": 10, "s": 0.0}},
        {"local": {"lr": 0.1, "momentum": 0.0}},
    ),
    "fedimpro": joined(
        _LETTERS,
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}},
        {"participants": 5, "rounds": 20},
        {"local": {"lr": 0.1, "momentum": 0.0, "epochs": 1}},
    ),
}


def read(world: str, *parts: Plain, metric: str = "mean-5") -> Reading:
    """A reading in one of the worlds."""
    return Reading(Setting(**joined(WORLDS[world], *parts)), metric)


def method(name: str, **options) -> Plain:
    """A method with some of its options."""
    return {"method": name, "options": options}


def pair(world: str, stated: Plain, done: Plain, *both: Plain) -> Plain:
    """Two readings in one world; `both` is what they have in common."""
    return {"stated": read(world, *both, stated), "done": read(world, *both, done)}


def local(**options) -> Plain:
    """Options of the clients' training."""
    return {"local": options}

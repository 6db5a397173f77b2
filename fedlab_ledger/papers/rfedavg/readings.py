"""rFedAvg's differences as pairs of readings that can be run."""

from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.differences import LETTERS, Pair, method, pair

WORLD = joined(
    LETTERS,
    {"kind": "similarity", "scenario": {"clients": 10, "s": 0.0}},
    {"local": {"lr": 0.1, "momentum": 0.0}},
)
_PLUS = method("rfedavg-plus", lam=0.03)


def _option(name: str, stated, done, *both: Plain) -> Pair:
    """Two values of an option of a method."""
    return pair(WORLD, {"options": {name: stated}}, {"options": {name: done}}, *both)


READINGS: dict[str, Pair] = {
    "rFedAvg+'s means": _option("form", "paper", "code", _PLUS),
    "rFedAvg's means": _option(
        "form", "paper", "code", method("rfedavg", lam=0.03), {"participants": 5}
    ),
    "what E counts": pair(
        WORLD, {"local": {"iterations": 5}}, {"local": {"epochs": 5}}, _PLUS
    ),
    "rFedAvg's SCAFFOLD": pair(WORLD, method("scaffold"), method("equal")),
    "rFedAvg's FedProx": _option("half", True, False, method("fedprox", mu=1.0)),
    "rFedAvg's q-FedAvg": pair(
        WORLD, method("q-fedavg"), method("q-fedavg", lipschitz=1.0, scaled_norm=True)
    ),
}

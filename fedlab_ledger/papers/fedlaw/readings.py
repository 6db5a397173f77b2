"""FedLAW's differences as pairs of readings that can be run."""

from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.differences import LETTERS, Pair, method, pair

WORLD = joined(
    LETTERS,
    {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 1.0}},
    {"data": {"noise": 0.35}, "proxy": {"per_class": 10}, "rounds": 8},
    {"local": {"lr": 0.1, "momentum": 0.0}},
)
_FEDAVG: Plain = {"method": "fedavg"}
_FAST: Plain = {"local": {"lr": 0.02, "momentum": 0.9}}


def _option(name: str, stated, done, *both: Plain) -> Pair:
    """Two values of an option of a method."""
    return pair(WORLD, {"options": {name: stated}}, {"options": {name: done}}, *both)


READINGS: dict[str, Pair] = {
    "samples held back": pair(WORLD, {}, {"held": 0.3}, _FEDAVG),
    "momentum over rounds": pair(
        WORLD, {}, {"local": {"keep_velocity": True}}, _FEDAVG, _FAST
    ),
    "where lambda begins": _option(
        "start",
        "weights",
        "equal",
        method("fedlaw", parameters="quad", server_epochs=20),
    ),
    "FedDF's optimiser": _option(
        "optimiser", "adam", "sgd", method("feddf", epochs=20)
    ),
    "fine-tuning's optimiser": _option(
        "optimiser", "adam", "sgd", {"method": "server-ft"}
    ),
    "FedProx's optimiser": pair(
        WORLD, {}, {"local": {"momentum": 0.0}}, _FAST, method("fedprox", mu=0.001)
    ),
    "FedDyn's distance": _option(
        "squared", True, False, method("feddyn", form="law", alpha=0.01)
    ),
}

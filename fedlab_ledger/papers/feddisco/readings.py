"""FedDisco's differences as pairs of readings that can be run."""

from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.differences import LETTERS, Pair, method, pair

_TWO_LABELS: Plain = {"kind": "niid2", "scenario": {"biased": 5, "unbiased": 1}}
_DIRICHLET: Plain = {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}}
WORLD = joined(LETTERS, _TWO_LABELS)
UNEVEN = joined(LETTERS, _DIRICHLET)
_BY_SIZE: Plain = {"weigh": {"name": "size"}}
_FEDDC = method("feddc", correction=False)


def _disco(**options) -> Plain:
    return {"method": "fedavg", "weigh": {"name": "disco", **options}}


def _local(stated: Plain, done: Plain) -> Pair:
    return pair(WORLD, {"local": stated}, {"local": done}, _disco())


READINGS: dict[str, Pair] = {
    "normalised discrepancies": pair(WORLD, _disco(normalise=False), _disco()),
    "momentum of clients": _local({"momentum": 0.0}, {"momentum": 0.9}),
    "weight decay": _local({}, {"weight_decay": 1e-5}),
    "short mini-batches": _local({}, {"drop_last": True}),
    "FedDyn's average": pair(UNEVEN, _BY_SIZE, {}, method("feddyn")),
    "FedDyn's linear term": pair(
        UNEVEN, method("feddyn", rescale=False), method("feddyn")
    ),
    "FedDC's average": pair(UNEVEN, _BY_SIZE, {}, _FEDDC),
    "FedDC's correction": pair(UNEVEN, method("feddc"), _FEDDC),
    "where SCAFFOLD corrects": pair(
        UNEVEN,
        method("scaffold"),
        method("scaffold", after=True),
        {"local": {"momentum": 0.5}},
    ),
    "FedAvgM's momentum": pair(
        UNEVEN, method("fedavgm", damped=False), method("fedavgm")
    ),
}

"""FedImpro's differences as pairs of readings that can be run."""

from fedlab_ledger.papers.common import joined
from fedlab_ledger.papers.differences import LETTERS, Pair, method, pair

WORLD = joined(
    LETTERS,
    {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.3}},
    {"participants": 5, "rounds": 20},
    {"local": {"lr": 0.1, "momentum": 0.0, "epochs": 1}},
)
_CODE = method("fedimpro", alpha=1000 / 20)  # 0 to 2, as over the paper's 1000 rounds


def _stated(**options) -> Pair:
    """FedImpro with options as the paper states them, and as its code has them."""
    return pair(WORLD, {"options": options}, {}, _CODE)


READINGS: dict[str, Pair] = {
    "all of FedImpro": pair(WORLD, method("fedimpro", form="paper"), _CODE),
    "memory of the statistics": _stated(omega=0.1),
    "cap of the deviations": _stated(cap=1e9),
    "synthetic labels": _stated(matching=True),
    "weight of the synthetic loss": _stated(ramp=False, alpha=1.0),
    "FedImpro's SCAFFOLD": pair(
        WORLD, method("scaffold"), method("scaffold", factor=False)
    ),
}

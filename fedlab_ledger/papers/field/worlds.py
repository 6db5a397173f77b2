"""The fields: small worlds, each with the training of the paper at home there."""

from fedlab_core.partition import FEDCOLLAB_LABEL_SHIFT
from fedlab_ledger.papers.common import TINY, TINY_LOCAL, Plain, joined, letters

_SHARES = [list(shares) for shares in FEDCOLLAB_LABEL_SHIFT]
# What a client gives up is its own test; 4,000 letters less these are the usual 3,000.
_OWN: Plain = {"data": {"n_train": 4000}, "scenario": {"own_test": 0.25}}
REAL = "Fashion-MNIST"  # at home to no paper

FIELDS: dict[str, Plain] = {
    "FedDisco's": joined(
        letters(0.2),
        {"kind": "niid2", "scenario": {"biased": 5, "unbiased": 1}, "rounds": 12},
        {"local": {"lr": 0.01, "momentum": 0.9, "epochs": 5, "batch_size": 32}},
        _OWN,
    ),
    "FedLAW's": joined(
        letters(0.35),
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 1.0}, "rounds": 20},
        {"local": {"lr": 0.1, "epochs": 5, "batch_size": 32}},
        _OWN,
    ),
    "rFedAvg's": joined(
        letters(0.2),
        {"kind": "similarity", "scenario": {"clients": 20, "s": 0.0}, "rounds": 40},
        {"participants": 5, "local": {"lr": 0.1, "epochs": 5, "batch_size": 32}},
        _OWN,
    ),
    "FedImpro's": joined(
        letters(0.2),
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.1}, "rounds": 60},
        {"scenario": {"min_size": 10}, "participants": 5},
        {"local": {"lr": 0.1, "weight_decay": 1e-4, "batch_size": 32}},
        _OWN,
    ),
    "FedCollab's": joined(
        letters(0.3),
        {"data": {"n_train": 8000, "n_test": 1000}},
        {"kind": "clusters", "scenario": {"shares": _SHARES, "clients_each": 3}},
        {"scenario": {"own_test": 0.4, "keep": [1.0, 0.05]}, "rounds": 40},
        {"network": {"hidden": [64, 64]}, "local": {"lr": 0.1, "batch_size": 16}},
    ),
    REAL: {
        "dataset": "fashion_mnist",
        "sample": 4000,
        "resize": 14,
        "kind": "dirichlet",
        "scenario": {"clients": 10, "alpha": 0.3, "min_size": 20, "own_test": 0.25},
        "rounds": 20,
        "network": {"hidden": [64]},
        "local": {"lr": 0.05, "momentum": 0.9, "epochs": 2, "batch_size": 32},
    },
}


def tiny(field: Plain) -> Plain:
    """A field in a few seconds: letters, and fewer of them, for two rounds."""
    small = joined(TINY, {"local": TINY_LOCAL})
    small |= {"kind": field["kind"], "scenario": dict(field["scenario"])}
    if field["kind"] == "clusters":
        own: Plain = {"clients_each": 1, "own_test": 0.2, "keep": [1.0, 0.3]}
        small["scenario"] = field["scenario"] | own
    elif "clients" in field["scenario"]:
        small["scenario"] |= {"clients": 4}
        if "alpha" in small["scenario"]:
            small["scenario"] |= {"alpha": max(1.0, small["scenario"]["alpha"])}
    return small


_LIGHT: dict[str, Plain] = {
    "fedcollab": {"rounds": 20, "restarts": 2, "hidden": 16},
    "fedlaw": {"server_epochs": 2},
}


def light(how: Plain) -> Plain:
    """A method that spends as little as it can on what is not training."""
    less = {
        choice: part | _LIGHT.get(part["of"], {})
        for choice, part in how.get("parts", {}).items()
    }
    options = how.get("options", {}) | _LIGHT.get(how["method"], {})
    return how | {"options": options, "parts": less}


def played(field: Plain, how: Plain, per_class: int = 20) -> Plain:
    """A method in a field; a server that learns has some samples of each class.

    A `rate` among the method's options is in parts of the field's learning rate.
    """
    rate = how.get("options", {}).get("rate")
    if rate is not None:
        lr = round(rate * field["local"]["lr"], 6)
        how = {"method": how["method"], "local": {"lr": lr}}
    server = how.get("parts", {}).get("server", {}).get("of")
    learns = {"fedlaw", "attentive", "gws", "server-ft"} & {how["method"], server}
    proxy: Plain = {"proxy": {"per_class": per_class}} if learns else {}
    return joined(field, {"network": {"split": "hidden1"}}, proxy, how)

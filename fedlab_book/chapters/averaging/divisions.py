"""Ways to divide a data set among clients, each drawn as who holds what.

made = divisions(data)
frames(partial(picture, made), Axis("division", list(made), "dropdown"))
"""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import fedlab_core as fl
from fedlab_book.draw import scenario_plot
from fedlab_core.partition import FEDCOLLAB_LABEL_SHIFT
from fedlab_core.partition.scenarios import fedcollab_concept_shift

Made = dict[str, tuple[str, fl.Scenario]]  # by name: what is told of it
_CHANCE = "Each class by chance (Dirichlet)"
_FREE = {"capacity": False, "min_size": 5}
_FOUR = {"shares": FEDCOLLAB_LABEL_SHIFT, "clients_each": 3}
_TURNED = (-15.0, 15.0, 75.0, 105.0)
_WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "at random": ("Equal random shares, often called IID.", "iid", {}),
    "Dirichlet, α = 100": (f"{_CHANCE}: nearly alike.", "dirichlet", {"alpha": 100}),
    "Dirichlet, α = 0.5": (f"{_CHANCE}.", "dirichlet", {**_FREE, "alpha": 0.5}),
    "Dirichlet, α = 0.1": (f"{_CHANCE}.", "dirichlet", {**_FREE, "alpha": 0.1}),
    "Dirichlet, α = 0.1, capped": (
        "The same, but who is full gets no more.",
        "dirichlet",
        {"alpha": 0.1, "min_size": 5},
    ),
    "a tenth shared": ("rFedAvg: sorted, but for a tenth.", "similarity", {"s": 0.1}),
    "half even, half uneven": ("FedLAW: five of α = 10, five of 0.1.", "hybrid", {}),
    "large and small": ("Labels are alike.", "long_tail_sizes", {"rho": 20}),
    "four types": ("FedCollab: types that overlap in pairs.", "clusters", _FOUR),
    "turned images": (
        "FedCollab: a group has an angle.",
        "iid",
        {"clients": 12, "rotate": _TURNED},
    ),
    "renamed labels": (
        "FedCollab: a group renames classes.",
        "stratified",
        {"clients": 12, "own_test": "same"},
    ),
    "wrong labels": (
        "FedLAW: crossed clients have two labels swapped.",
        "stratified",
        {"corrupt": 0.3},
    ),
    "rare classes": ("FedDisco: rare everywhere.", "dirichlet", {"alpha": 0.5}),
}


def divisions(data: fl.Dataset, seed: int = 1) -> Made:
    """Divisions that this book's papers use, of ten classes."""
    tail = fl.long_tail(data.y_train, rho=10, seed=seed)
    rarer = replace(data, x_train=data.x_train[tail], y_train=data.y_train[tail])
    maps = {"relabel": fedcollab_concept_shift(len(data.classes))}
    made: Made = {}
    for name, (told, kind, options) in _WAYS.items():
        ten = {} if name == "four types" else {"clients": 10}
        given: dict[str, Any] = (
            ten | options | (maps if name == "renamed labels" else {})
        )
        of = rarer if name == "rare classes" else data
        made[name] = told, fl.scenario(of, kind, seed=seed, **given)
    return made


def picture(made: Made, name: str) -> tuple[Figure, str]:
    """Bars of who holds what in one of them, and the same in words."""
    told, s = made[name]
    sizes, kinds = s.counts.sum(1), (s.counts > 0).sum(1)
    alt = (
        f"Who holds what, {name}: a bar for each of {len(s)} clients, a segment for "
        f"each class. Sizes run from {sizes.min()} to {sizes.max()} samples; a client "
        f"holds {kinds.min()} to {kinds.max()} classes. {told}"
    )
    return scenario_plot(s, told, height=360), alt


def largest(labels: np.ndarray, capped: bool, draws: int = 50) -> float:
    """Mean size of the largest of ten clients, over Dirichlet splits with α = .1."""
    how = {"capacity": capped, "min_size": 5}
    splits = (fl.dirichlet(labels, 10, 0.1, seed=s, **how) for s in range(draws))
    return float(np.mean([split.sizes.max() for split in splits]))

"""Small worlds and ways to join options that the papers' files share."""

from collections.abc import Iterable, Mapping
from typing import Any

from fedlab_ledger.model import Setting

Plain = dict[str, Any]

# The built-in letters of the smoke tests, and a network for them.
TINY: Plain = {
    "dataset": "letters",
    "data": {"n_train": 400, "n_test": 200, "noise": 0.2},
    "network": {"hidden": [16]},
    "rounds": 2,
}
TINY_LOCAL: Plain = {"lr": 0.05, "epochs": 1, "batch_size": 16}


def letters(noise: float) -> Plain:
    """The built-in letters at their usual size."""
    return {"dataset": "letters", "data": {"noise": noise}}


def settings(**scales: Plain | None) -> dict[str, Setting]:
    """One setting a scale, of those that there are."""
    return {scale: Setting(**given) for scale, given in scales.items() if given}


def noted(made: Iterable[str], *parts: Mapping[str, str]) -> dict[str, str]:
    """Notes on scales that there are; several on one scale are joined."""
    found = {scale: [p[scale] for p in parts if p.get(scale)] for scale in made}
    return {scale: "; ".join(said) for scale, said in found.items() if said}


def joined(*parts: Plain) -> Plain:
    """Options laid over each other; dicts inside are joined, not replaced."""
    whole: Plain = {}
    for part in parts:
        for name, value in part.items():
            old = whole.get(name)
            if isinstance(old, dict) and isinstance(value, dict):
                value = {**old, **value}
            whole[name] = value
    return whole

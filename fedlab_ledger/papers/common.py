"""What the papers' files share: small worlds, and reading typed numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedlab_ledger.model import Setting, Table

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


def numbers(text: str) -> list[float | None]:
    """The numbers of a row, as typed from a paper; a dash is none."""
    return [None if word == "-" else float(word) for word in text.split()]


def table(rows: Mapping[str, str], columns: Sequence[str]) -> Mapping:
    """{(row, column): number} of typed rows."""
    found = {}
    for row, text in rows.items():
        for column, value in zip(columns, numbers(text), strict=True):
            found[row, column] = value
    return found


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


def in_order(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Tables by their number, then figures by theirs, then what has none."""

    def place(t: Table) -> tuple[int, int]:
        kind = t.name.rstrip("0123456789")
        first = ("table", "figure").index(kind) if kind in ("table", "figure") else 2
        return first, int(t.name[len(kind) :] or 0)

    return tuple(sorted(tables, key=place))

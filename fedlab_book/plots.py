"""Pictures of histories, in the book's looks: the core's `History.plot`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedlab_core.arguments import checked
from fedlab_core.atomic_files import replacing
from fedlab_core.errors import InputError, require
from fedlab_core.rounds.history import History


@dataclass(frozen=True)
class Picture:
    """A figure with its text alternative: a notebook shows it, `save` writes it."""

    figure: Any
    alt: str

    def _repr_html_(self) -> str:
        from fedlab_book.figures import framed, svg

        return str(framed(svg(self.figure, self.alt)))

    def save(self, path: str | os.PathLike) -> Path:
        """Write it as SVG, PNG or PDF, by the ending of the file's name."""
        kind = can_draw(path)
        with replacing(path) as file:
            self.figure.savefig(file, format=kind, facecolor="white")
        return Path(path)


def can_draw(path: str | os.PathLike) -> str:
    """The kind of a picture's file; refused if it cannot be drawn or written here."""
    kind = Path(path).suffix.lstrip(".").lower()
    known = kind in ("svg", "png", "pdf")
    require(known, f"a picture is saved as .svg, .png or .pdf, not {path}")
    _figures()
    return kind


def _figures() -> Any:
    try:
        from fedlab_book.figures import canvas, look
    except ModuleNotFoundError as error:
        said = f"plot needs {error.name or error}: pip install matplotlib"
        raise InputError(said) from None
    return canvas, look


@checked
def plot(histories: Sequence[History], column: str = "accuracy") -> Picture:
    """Curves of a column by round, and bars of the clients' accuracies at the end.

    Histories of one method are its mean, and their range as a band. Bars are drawn
    where clients have tests of their own.
    """
    canvas, look = _figures()
    curves: dict[str, list[dict[int, float]]] = {}
    for h in histories:
        have = {n: None for row in h.rows for n in row}
        said = f"{h.method} has no column {column!r}, but {', '.join(have)}"
        require(column in have, said)
        seen = {row["round"]: row[column] for row in h.rows if column in row}
        curves.setdefault(h.method, []).append(seen)
    own = {h.method: h.clients for h in histories if h.clients is not None}
    wide = (640 if len(curves) > 1 else 520) + (260 if own else 0)
    fig, axes = canvas(wide, 320, 1, 2 if own else 1, squeeze=False)
    ends = [_curve(axes[0, 0], n, runs, look(n)) for n, runs in curves.items()]
    axes[0, 0].set(xlabel="round", ylabel=column.replace("_", " "))
    axes[0, 0].grid(axis="y")
    if len(curves) > 1:
        axes[0, 0].legend()
    for i, (name, clients) in enumerate(own.items()):
        places = np.arange(len(clients)) + (i - (len(own) - 1) / 2) * 0.8 / len(own)
        colour = look(name)["color"]
        axes[0, 1].bar(places, np.sort(clients), 0.8 / len(own), color=colour)
    if own:
        metric = histories[0].metric
        first = "lowest" if metric == "loss" else "worst"
        names = {"xlabel": f"clients, from the {first}", "ylabel": f"own test {metric}"}
        axes[0, 1].set(**names)
    alt = f"Curves of {column.replace('_', ' ')} by round. At the end: "
    alt += f"{'; '.join(ends)}."
    what = {h.metric for h in histories} - {"accuracy"} or {"accuracies"}
    bars = f" Beside it, bars of the clients' {' and '.join(what)} on their own tests."
    return Picture(fig, alt + (bars if own else ""))


OFFERS = {"plot": plot, "can_draw": can_draw}


def _curve(ax: Any, name: str, runs: list[dict[int, float]], how: dict) -> str:
    """One method's curve, with a band if it was run more than once; where it ends."""
    rounds = sorted(set.intersection(*(set(run) for run in runs)))
    require(bool(rounds), f"the histories of {name} have no round in common")
    values = np.array([[run[t] for t in rounds] for run in runs], float)
    mean = values.mean(0)
    marked = {**how, "marker": how["marker"] if len(rounds) <= 30 else None}
    ax.plot(rounds, mean, label=name, **marked)
    if len(runs) > 1:
        band = {"color": how["color"], "alpha": 0.15, "linewidth": 0}
        ax.fill_between(rounds, values.min(0), values.max(0), **band)
    return f"{name} {mean[-1]:.3g}"

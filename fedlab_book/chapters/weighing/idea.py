"""FedDisco's weight: how far a mix of letters is from an even one, and what it does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes

import fedlab_core as fl
from fedlab_book.figures import INK, PALETTE
from fedlab_book.panels import Panel, bars
from fedlab_book.panels.panel import handle
from fedlab_core.metrics import discrepancy

A, B = 0.5, 0.1  # of the published scripts


def mixes(counts: np.ndarray, letters: Sequence[str], clinic: int = 0) -> Panel:
    """A clinic's mix of letters beside an even one."""
    own = counts[clinic] / counts[clinic].sum()
    even, at = 1 / len(own), range(len(own))

    def draw(ax: Axes) -> None:
        ax.bar(at, own, 0.8, color=PALETTE["periwinkle"], edgecolor=INK)
        ax.bar(at, np.minimum(own, even), 0.8, color=PALETTE["sky"], edgecolor=INK)
        ax.axhline(even, color=INK, linestyle="--", linewidth=1.5)
        ax.text(len(own) - 0.6, even, "even, T", ha="right", va="bottom")
        ax.set_xticks(at, letters)
        ax.set(title=f"clinic {clinic + 1}, D", xlabel="letter", ylabel="share")

    each = ", ".join(f"{x} {v:g}" for x, v in zip(letters, own, strict=True) if v)
    return Panel(
        draw, f"Clinic {clinic + 1}'s mix: {each}. An even mix: {even:g} each."
    )


def weights(counts: np.ndarray) -> Panel:
    """Every clinic's weight by size, and FedDisco's."""
    members = fl.Members.holding(torch.from_numpy(counts))
    by_size = (members.sizes / members.sizes.sum()).numpy()
    disco = fl.Disco(A, B)(members).numpy()
    panel = bars(
        {"by size": by_size, "FedDisco": disco},
        [str(k + 1) for k in range(len(counts))],
        label="weight",
        along="clinic",
        colours={"by size": "FedAvg"},
    )
    looks = panel.names or {}

    def draw(ax: Axes) -> None:
        panel.draw(ax)
        ax.legend(handles=[handle(name, look) for name, look in looks.items()])

    return replace(panel, draw=draw, names=None)


def silent(counts: np.ndarray) -> int:
    """Number of clinics without a weight, if d is not divided by its sum."""
    n, d = counts.sum(1) / counts.sum(), discrepancy(torch.from_numpy(counts)).numpy()
    return int((n - A * d + B <= 0).sum())


class Silenced(NamedTuple):
    """Clinics of ten that fall silent, on average over splits; splits where all do."""

    mean: float
    all: int
    splits: int


def silenced(splits: int = 200, each: int = 360) -> Silenced:
    """The same over Dirichlet splits of ten classes, alpha one half."""
    labels = np.repeat(np.arange(10), each)
    many = [
        silent(fl.dirichlet(labels, 10, 0.5, seed=seed).counts(labels))
        for seed in range(splits)
    ]
    return Silenced(float(np.mean(many)), many.count(10), splits)

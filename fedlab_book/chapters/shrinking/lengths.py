"""How long the network's parameters become under a factor, and what that does."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import FIXED, UNIT, Facts
from fedlab_book.figures import PALETTE, canvas, styled
from fedlab_book.findings import Row

SPREAD = "0.93 over five rounds"  # a fifth of the fixed one's shrinking in each
_EPOCHS = ("five epochs", "one epoch")
_LOOKS = {"FedAvg": ("blue", "-"), SPREAD: ("magenta", "-."), FIXED: ("red", "--")}
_TIMES = 0.93 / 0.07  # s, that is the length where it stays
_SHORT = 0.5  # of the first length, below which a network has withered


@styled
def by_round(found: Comparison, quick: Comparison) -> tuple[Figure, str]:
    """A panel for five epochs, and one for one: the length at every round's start."""
    fig, axes = canvas(520, 320, ncols=2, sharey=True)
    told = []
    for ax, runs, name in zip(axes, (found, quick), _EPOCHS, strict=True):
        here = {arm for _, arm, _ in runs.runs}
        for arm, (colour, dash) in _LOOKS.items():
            if arm in here:
                long = runs.curves(arm, "alike", "length")
                rounds = np.arange(1, long.shape[1] + 1)
                style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
                draw.banded(ax, rounds, long, label=arm, **style)
                told.append(f"{name}, {arm}: {long[:, -1].mean():.1f}")
        ax.set(title=name, xlabel="round")
        ax.grid(axis="y")
    axes[0].set(ylabel="length of w", ylim=(0, None))
    axes[0].legend(loc="lower right")
    above = quick.curves(FIXED, "alike", "length").shape[1]
    axes[1].text(above, 3.3, SPREAD, color=PALETTE[_LOOKS[SPREAD][0]], ha="right")
    alt = (
        "Length of the network's parameters at the start of every round. In the last "
        f"round, {'; '.join(told)}."
    )
    return fig, alt


def one_epoch(quick: Comparison, found: Comparison) -> Facts:
    """Whether a factor that gains among the alike ruins with one epoch in a round.

    And whether, spread over as many rounds as there are epochs fewer, nothing can be
    told of it. With one epoch the clinics add less, and the network ends short; with
    five they add more than to FedAvg's.
    """
    runs = (found, quick, quick)
    names = (f"{FIXED}, five epochs", f"{FIXED}, one epoch", f"{SPREAD}, one epoch")
    arms = (FIXED, FIXED, SPREAD)
    rows = [
        Row(name, one.gain(arm, where="alike"))
        for name, arm, one in zip(names, arms, runs, strict=True)
    ]
    long, short = (one.curves(FIXED, "alike", "length") for one in (found, quick))
    ends = [long[:, -1].mean(), short[:, -1].mean()]
    added = ((found, FIXED), (quick, FIXED), (found, "FedAvg"))
    more, less, free = (one.ends(arm, "alike", "longer") for one, arm in added)
    adds = side(more - free) == 1 and less.mean() < more.mean()
    withered = ends[1] < _SHORT * short[:, 0].mean()
    rounds = quick.curves(FIXED, "alike", "length").shape[1]
    note = (
        f"FedAvg with one epoch, {rounds} rounds: "
        f"{quick.scores('FedAvg', 'alike').mean():.1f} %. In the last rounds the "
        f"clinics add s = {more.mean():.2f} to .93's length with five epochs, which "
        f"makes ℓ* = {_TIMES * more.mean():.1f}; with one {less.mean():.2f}, which "
        f"makes {_TIMES * less.mean():.1f}. To FedAvg's they add {free.mean():.2f}."
    )
    holds = [side(row.values) for row in rows] == [1, -1, 0] and adds and withered
    return {"rows": rows, "holds": bool(holds), "unit": UNIT, "note": note}

"""How long the network's parameters become under a factor, and what that does."""

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import BEGUN, FIXED, GWS, UNIT, WAITING, Facts
from fedlab_book.figures import PALETTE, canvas, styled
from fedlab_book.findings import Row

SPREAD = "0.93 over five rounds"  # a fifth of the fixed one's shrinking in each
_FACTOR = float(FIXED.removeprefix("γ = "))
_EPOCHS = ("five epochs", "one epoch")
_LOOKS = {"FedAvg": ("blue", "-"), SPREAD: ("magenta", "-."), FIXED: ("red", "--")}
_CLOSE = 0.1  # of the length, by which what is settled may miss the formula
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
                name_ = fill(arm, 12)
                long = runs.curves(arm, "alike", "length")
                rounds = np.arange(1, long.shape[1] + 1)
                style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
                draw.banded(ax, rounds, long, label=name_, **style)
                told.append(f"{name}, {arm}: {long[:, -1].mean():.1f}")
        ax.axhline(settled(runs), color=PALETTE["red"], linestyle=":", linewidth=1.5)
        ax.set(title=name, xlabel="round")
        ax.grid(axis="y")
    axes[0].set(ylabel="length of w", ylim=(0, None))
    axes[1].legend(loc="upper right", bbox_to_anchor=(1.04, 0.66))
    alt = (
        "Length of the network's parameters at the start of every round. In the last "
        f"round, {'; '.join(told)}. By the formula {FIXED} is at "
        f"{settled(found):.1f} with five epochs, and at {settled(quick):.1f} with one."
    )
    return fig, alt


def settled(runs: Comparison) -> float:
    """Where the fixed factor's length would stay, by the steps of the last rounds."""
    longer = runs.curves(FIXED, "alike", "along") * runs.curves(
        FIXED, "alike", "length"
    )
    return float(longer[:, -runs.last :].mean()) / (1 - _FACTOR)


def one_epoch(quick: Comparison, found: Comparison) -> Facts:
    """Whether a factor that gains among the alike ruins with one epoch in a round.

    And whether, spread over as many rounds as there are epochs fewer, nothing can be
    told of it. Under it the length is what the formula says, and with one epoch short.
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
    said = [settled(one) for one in (found, quick)]
    near = [abs(end / s - 1) < _CLOSE for end, s in zip(ends, said, strict=True)]
    withered = ends[1] < _SHORT * short[:, 0].mean()
    rounds = quick.curves(FIXED, "alike", "length").shape[1]
    note = (
        f"FedAvg with one epoch, {rounds} rounds: "
        f"{quick.scores('FedAvg', 'alike').mean():.1f} %. At the end .93 has a length "
        f"of {ends[0]:.1f} with five epochs, {ends[1]:.1f} with one."
    )
    holds = [side(row.values) for row in rows] == [1, -1, 0] and all(near) and withered
    return {"rows": rows, "holds": bool(holds), "unit": UNIT, "note": note}


def begun(found: Comparison) -> Facts:
    """Whether a factor that begins as learned gains over the fixed one, among alike.

    As one does that waits. And whether it cannot be told from the learned one, under
    which the network is first longer than under the fixed one at any time, and in the
    end nearly as short.
    """
    pairs = ((BEGUN, FIXED), (BEGUN, GWS), (WAITING, FIXED))
    rows = [
        Row(f"{arm} minus {name}", found.gain(arm, over, "alike"))
        for (arm, over), name in zip(pairs, (FIXED, "GWS", FIXED), strict=True)
    ]
    learned, fixed = (
        found.curves(arm, "alike", "length").mean(axis=0) for arm in (GWS, FIXED)
    )
    top = int(learned.argmax())
    note = (
        f"Length of w under GWS: {learned[top]:.1f} when round {top + 1} begins, "
        f"{learned[-1]:.1f} at the end; under .93 never more than {fixed.max():.1f}."
    )
    sides = [side(row.values) for row in rows]
    early = top < len(learned) / 3
    holds = sides == [1, 0, 1] and early and learned[top] > fixed.max() > 0
    return {
        "rows": rows,
        "holds": bool(
            holds and learned[-1] - fixed[-1] < 0.5 * (learned[top] - fixed[-1])
        ),
        "note": note,
    }

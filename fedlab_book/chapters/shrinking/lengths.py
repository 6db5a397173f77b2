"""How long a network becomes under a factor, foretold by what clinics add without."""

import numpy as np
from matplotlib.figure import Figure

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import COLOURS, FIXED, MILD, UNIT, Facts
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

_FACTORS = {MILD: 0.97, FIXED: 0.93}
GAMMAS = [round(0.89 + 0.02 * i, 2) for i in range(7)]  # of the knob: to 1.01
_DASHES = {"five epochs": "-", "one epoch": "--"}
_SHORT = 0.5  # of the first length, below which a network has withered
_NEAR = 0.75  # of a length, that a crossing may be off


def slope(gamma: float) -> float:
    """Of a length, what clinics have to add to it in a round for it to stay."""
    return (1 - gamma) / gamma


def added(runs: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """Under FedAvg, by round: the length, and what the clinics add; means of seeds."""
    each = (runs.curves("FedAvg", "alike", what) for what in ("length", "longer"))
    length, longer = (curve.mean(axis=0) for curve in each)
    return length, longer


def foretold(runs: Comparison, gamma: float) -> float:
    """The length at which what FedAvg's clinics add falls below a factor's line.

    NaN if it does not fall below.
    """
    length, longer = added(runs)
    above = longer - slope(gamma) * length
    falls = np.flatnonzero((above[:-1] >= 0) & (above[1:] < 0))
    if not len(falls):
        return float("nan")
    k = int(falls[-1])
    part = above[k] / (above[k] - above[k + 1])
    return float(length[k] + part * (length[k + 1] - length[k]))


def rests(runs: Comparison, arm: str) -> float:
    """How long its network is when the last round begins, on average."""
    return float(runs.curves(arm, "alike", "length")[:, -1].mean())


@styled
def by_round(found: Comparison, quick: Comparison, gamma: float) -> tuple[Figure, str]:
    """Length that alike clients add, beside the length that a factor takes away.

    Of five epochs and of one; and where the runs with that factor, if any, ended.
    """
    fig, ax = canvas(520, 360)
    arm = next((a for a, g in _FACTORS.items() if g == gamma), None)
    blue, colour = PALETTE[COLOURS["FedAvg"]], PALETTE[COLOURS[arm or FIXED]]
    told = []
    for (name, dash), runs in zip(_DASHES.items(), (found, quick), strict=True):
        length, longer = added(runs)
        ax.plot(length, longer, color=blue, linestyle=dash)
        top = int(longer.argmax())
        place = {"xytext": (8, 4), "textcoords": "offset points", "color": blue}
        ax.annotate(name, (length[top], longer[top]), **place)
        at, words = foretold(runs, gamma), _rest(runs, gamma)
        ring = {"s": 170, "facecolors": "none", "edgecolors": blue, "zorder": 3}
        ax.scatter(at, slope(gamma) * at, linewidths=2, **ring)
        if arm:
            way = (runs.curves(arm, "alike", what) for what in ("length", "longer"))
            path = [curve.mean(axis=0) for curve in way]
            ax.plot(*path, color=colour, linestyle=dash, linewidth=1)
            end = rests(runs, arm)
            fill = colour if runs is found else "none"
            spot = {"facecolors": fill, "edgecolors": colour, "zorder": 4}
            ax.scatter(end, slope(gamma) * end, s=80, marker="X", **spot)
            words += f"; it ended at {end:.1f}"
        told.append(f"{name}: {words}")
    reach = 1.1 * max(rests(found, "FedAvg"), rests(quick, "FedAvg"))
    line = slope(gamma) * np.array([0, reach])
    ax.plot([0, reach], line, color=colour, linestyle=":")
    most = 1.25 * max(added(runs)[1].max() for runs in (found, quick))
    corner = {"transform": ax.transAxes, "color": INK}
    ax.text(0.02, 0.97, "above the line: grows", va="top", **corner)
    ax.text(0.98, 0.03, "below: shrinks", ha="right", **corner)
    ax.set(xlabel="length of w, ℓ", ylabel="added in a round, s")
    ax.set(xlim=(0, reach), ylim=(-0.1, most))
    ax.grid(axis="y")
    alt = (
        "What FedAvg's clinics add in a round against the network's length, with five "
        f"epochs and with one, and the line on which a factor of {gamma:g} takes as "
        f"much away. Where the length would come to rest: {'. '.join(told)}."
    )
    return fig, alt


def _rest(runs: Comparison, gamma: float) -> str:
    """Length at which the curve lets a network under that factor rest, in words."""
    at = foretold(runs, gamma)
    if np.isfinite(at):
        return f"at {at:.1f}"
    length, longer = added(runs)
    above = longer[-1] >= slope(gamma) * length[-1]
    return "nowhere, it grows to the end" if above else "nowhere, it withers"


def one_epoch(quick: Comparison, found: Comparison) -> Facts:
    """Whether a factor that gains among the alike ruins with one epoch in a round.

    The milder one then cannot be told from nothing, and its network grows. And whether
    FedAvg's own rounds foretell it: with five epochs a little more than the length at
    which each factor's network comes to rest; with one, that under neither factor any
    of FedAvg's lengths lasts, which is wrong of the milder.
    """
    rows = [
        Row(f"{FIXED}, {name}", runs.gain(FIXED, where="alike"))
        for name, runs in zip(_DASHES, (found, quick), strict=True)
    ]
    rows.append(Row(f"{MILD}, one epoch", quick.gain(MILD, where="alike")))
    short = quick.curves(FIXED, "alike", "length")
    withered = short[:, -1].mean() < _SHORT * short[:, 0].mean()
    off = [foretold(found, g) - rests(found, arm) for arm, g in _FACTORS.items()]
    near = 0 < min(off) and max(off) < _NEAR
    length, longer = added(quick)
    never = all((longer < slope(g) * length).all() for g in _FACTORS.values())
    mild = quick.curves(MILD, "alike", "length")
    kept = side(mild[:, -1] - mild[:, 0]) == 1
    note = (
        f"FedAvg with one epoch, {short.shape[1]} rounds: "
        f"{quick.scores('FedAvg', 'alike').mean():.1f} %."
    )
    told = [side(row.values) for row in rows] == [1, -1, 0] and withered
    holds = told and kept and near and never
    return {"rows": rows, "holds": bool(holds), "unit": UNIT, "note": note}

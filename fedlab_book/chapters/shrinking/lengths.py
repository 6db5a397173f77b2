"""How long a network becomes under a factor, foretold by what clinics add without."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import (
    COLOURS,
    FIXED,
    MILD,
    PLACES,
    UNIT,
    Facts,
)
from fedlab_book.figures import PALETTE, canvas, styled
from fedlab_book.findings import Row

_FACTORS = {MILD: 0.97, FIXED: 0.93}
_EPOCHS = {"five epochs": 5, "one epoch": 1}
GAMMAS = [round(0.89 + 0.02 * i, 2) for i in range(7)]  # of the knob: to 1.01
_DASHES = dict(zip(_EPOCHS, ("-", "--"), strict=True))
_SHORT = 0.5  # of the first length, below which a network has withered
_NEAR = 0.75  # of a length, that a crossing may be off


def slope(gamma: float) -> float:
    """Of a length, what clinics have to add to it in a round for it to stay."""
    return (1 - gamma) / gamma


def added(runs: Comparison, where: str = "alike") -> tuple[np.ndarray, np.ndarray]:
    """Under FedAvg, by round: the length, and what the clinics add; means of seeds."""
    each = (runs.curves("FedAvg", where, what) for what in ("length", "longer"))
    length, longer = (curve.mean(axis=0) for curve in each)
    return length, longer


def foretold(runs: Comparison, gamma: float, where: str = "alike") -> float:
    """The length at which what FedAvg's clinics add falls below a factor's line.

    NaN if it does not fall below.
    """
    length, longer = added(runs, where)
    above = longer - slope(gamma) * length
    falls = np.flatnonzero((above[:-1] >= 0) & (above[1:] < 0))
    if not len(falls):
        return float("nan")
    k = int(falls[-1])
    part = above[k] / (above[k] - above[k + 1])
    return float(length[k] + part * (length[k + 1] - length[k]))


def rests(runs: Comparison, arm: str, where: str = "alike") -> float:
    """How long its network is when the last round begins, on average."""
    return float(runs.curves(arm, where, "length")[:, -1].mean())


@styled
def by_round(found: Comparison, quick: Comparison, gamma: float) -> tuple[Figure, str]:
    """The length by epoch; and what clinics add to it, beside a factor's line."""
    fig, (left, right) = canvas(520, 400, ncols=2)
    told = _lengths(left, found, quick)
    ends = _added(right, found, quick, gamma)
    for ax in (left, right):
        ax.grid(axis="y")
    fig.legend(loc="outside lower center", ncols=2)
    alt = (
        "Left: length of the network's parameters against the epochs trained. At the "
        f"end, {'; '.join(told)}. Right: what FedAvg's clinics add in a round against "
        f"the length, and the line on which a factor of {gamma:g} takes as much away. "
        f"Where the length would come to rest: {ends}."
    )
    return fig, alt


def _lengths(ax: Axes, found: Comparison, quick: Comparison) -> list[str]:
    """Every length against the epochs, and in words where it ends."""
    told = []
    for (name, epochs), runs in zip(_EPOCHS.items(), (found, quick), strict=True):
        for arm in ("FedAvg", FIXED, *((MILD,) if runs is quick else ())):
            long = runs.curves(arm, "alike", "length")
            at = epochs * np.arange(1, long.shape[1] + 1)
            style: dict[str, Any] = {"color": PALETTE[COLOURS[arm]]}
            style |= {"linestyle": _DASHES[name], "label": f"{arm}, {name}"}
            draw.banded(ax, at, long, **style)
            told.append(f"{arm}, {name}: {long[:, -1].mean():.1f}")
    ax.set(xlabel="epochs so far", ylabel="length of w", ylim=(0, None))
    return told


def _added(ax: Axes, found: Comparison, quick: Comparison, gamma: float) -> str:
    """FedAvg's curves, the factor's line, and where they cross, in words as well."""
    arm = next((a for a, g in _FACTORS.items() if g == gamma), None)
    colour = PALETTE[COLOURS[arm or FIXED]]
    curves = {
        "alike": (found, "alike", PALETTE[COLOURS["FedAvg"]], "-"),
        "uneven": (found, "uneven", PALETTE["orange"], "-."),
        "one epoch": (quick, "alike", PALETTE[COLOURS["FedAvg"]], "--"),
    }
    told = {}
    for name, (runs, where, shade, dash) in curves.items():
        (line,) = ax.plot(*added(runs, where), color=shade, linestyle=dash)
        if name == "uneven":  # the others are named beside the left picture
            line.set_label("FedAvg, uneven")
        told[name] = _rest(runs, gamma, where)
        at = foretold(runs, gamma, where)
        ring = {"s": 170, "facecolors": "none", "edgecolors": shade, "zorder": 3}
        ax.scatter(at, slope(gamma) * at, linewidths=2, **ring)
        if arm and runs is found:
            end = rests(found, arm, where)
            fill = colour if where == "alike" else "none"
            spot = {"facecolors": fill, "edgecolors": colour, "zorder": 4}
            ax.scatter(end, slope(gamma) * end, s=80, marker="X", **spot)
            told[name] += f"; it ended at {end:.1f}"
    reach = np.array([0, max(rests(found, "FedAvg"), rests(quick, "FedAvg"))])
    ax.plot(reach, slope(gamma) * reach, color=colour, linestyle=":")
    most = max(added(runs)[1].max() for runs in (found, quick))
    ax.set(xlabel="length of w", ylabel="added in a round, s", title=f"γ = {gamma:g}")
    ax.set(xlim=(0, None), ylim=(-0.05, 1.15 * most))
    return ". ".join(f"{name}: {words}" for name, words in told.items())


def _rest(runs: Comparison, gamma: float, where: str) -> str:
    """What the curve foretells of a network under that factor."""
    at = foretold(runs, gamma, where)
    if np.isfinite(at):
        return f"at {at:.1f}"
    length, longer = added(runs, where)
    above = longer[-1] >= slope(gamma) * length[-1]
    return "nowhere, it grows to the end" if above else "nowhere, it withers"


def one_epoch(quick: Comparison, found: Comparison) -> Facts:
    """Whether a factor that gains among the alike ruins with one epoch in a round.

    The milder one then cannot be told from nothing, and its network grows. And whether
    FedAvg's own rounds foretell it: with five epochs a little more than the length at
    which each factor's network comes to rest, shorter where clinics are uneven; with
    one, that under neither factor any of FedAvg's lengths lasts, which is wrong of the
    milder.
    """
    rows = [
        Row(f"{FIXED}, {name}", runs.gain(FIXED, where="alike"))
        for name, runs in zip(_EPOCHS, (found, quick), strict=True)
    ]
    rows.append(Row(f"{MILD}, one epoch", quick.gain(MILD, where="alike")))
    short = quick.curves(FIXED, "alike", "length")
    withered = short[:, -1].mean() < _SHORT * short[:, 0].mean()
    spots = [(arm, where) for arm in _FACTORS for where in PLACES]
    off = [foretold(found, _FACTORS[a], w) - rests(found, a, w) for a, w in spots]
    near = 0 < min(off) and max(off) < _NEAR
    shorter = all(
        side(np.subtract(*(found.curves(a, w, "length")[:, -1] for w in PLACES))) == 1
        for a in _FACTORS
    )
    length, longer = added(quick)
    never = all((longer < slope(g) * length).all() for g in _FACTORS.values())
    mild = quick.curves(MILD, "alike", "length")
    kept = side(mild[:, -1] - mild[:, 0]) == 1
    note = (
        f"FedAvg with one epoch, {short.shape[1]} rounds: "
        f"{quick.scores('FedAvg', 'alike').mean():.1f} %."
    )
    told = [side(row.values) for row in rows] == [1, -1, 0] and withered
    holds = told and kept and near and shorter and never
    return {"rows": rows, "holds": bool(holds), "unit": UNIT, "note": note}

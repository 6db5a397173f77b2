"""How long a network becomes under a factor, foretold by what clinics add without."""

from typing import Any

import numpy as np
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
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

_FACTORS = {MILD: 0.97, FIXED: 0.93}
_EPOCHS = {"five epochs": 5, "one epoch": 1}
_DASHES = ("-", "--")
_MARKS = {MILD: "^", FIXED: "X"}
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
def by_round(found: Comparison, quick: Comparison) -> tuple[Figure, str]:
    """The length by epoch; and what clinics add to it, beside the factors' lines."""
    fig, (left, right) = canvas(520, 380, ncols=2)
    both = dict(zip(_EPOCHS, (found, quick), strict=True))
    told = []
    for (name, runs), dash in zip(both.items(), _DASHES, strict=True):
        shown = ("FedAvg", FIXED, *((MILD,) if runs is quick else ()))
        for arm in shown:
            long = runs.curves(arm, "alike", "length")
            epochs = _EPOCHS[name] * np.arange(1, long.shape[1] + 1)
            style: dict[str, Any] = {"color": PALETTE[COLOURS[arm]], "linestyle": dash}
            draw.banded(left, epochs, long, label=f"{arm}, {name}", **style)
            told.append(f"{arm}, {name}: {long[:, -1].mean():.1f}")
        right.plot(*added(runs), color=PALETTE[COLOURS["FedAvg"]], linestyle=dash)
    uneven: dict[str, Any] = {"linestyle": "-.", "label": "FedAvg, uneven"}
    right.plot(*added(found, "uneven"), color=PALETTE["orange"], **uneven)
    reach = np.array([0, max(rests(found, "FedAvg"), rests(quick, "FedAvg"))])
    for arm, gamma in _FACTORS.items():
        colour, end = PALETTE[COLOURS[arm]], slope(gamma) * reach[-1]
        right.plot(reach, slope(gamma) * reach, color=colour, ls=":")
        right.text(reach[-1], end, f" {gamma:g}", color=colour)
        for where, fill in zip(PLACES, (colour, "none"), strict=True):
            at = rests(found, arm, where)
            style = {"color": colour, "markerfacecolor": fill, "markersize": 9}
            right.plot(at, slope(gamma) * at, _MARKS[arm], zorder=3, **style)
    at = rests(found, FIXED)
    cross = (at, slope(_FACTORS[FIXED]) * at)
    arrow = {"arrowprops": {"arrowstyle": "->", "color": INK}, "ha": "left"}
    right.annotate("ends\nhere", cross, (0.4, 0.52), **arrow)
    left.set(xlabel="epochs so far", ylabel="length of w", ylim=(0, None))
    most = max(added(runs)[1].max() for runs in both.values())
    right.set(xlabel="length of w", ylabel="added in a round, s")
    right.set(xlim=(0, None), ylim=(-0.05, 1.15 * most))
    for ax in (left, right):
        ax.grid(axis="y")
    fig.legend(loc="outside lower center", ncols=2)
    alt = (
        "Left: length of the network's parameters against the epochs trained. At the "
        f"end, {'; '.join(told)}. Right: what FedAvg's clinics add in a round against "
        "the length, and the line on which each factor takes as much away. Where they "
        f"cross, and where the factor's own network ends: {_told(found)}; with "
        f"one epoch there is no crossing, {FIXED} ends at {rests(quick, FIXED):.1f}, "
        f"and {MILD} at {rests(quick, MILD):.1f}."
    )
    return fig, alt


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


def _told(found: Comparison) -> str:
    return "; ".join(
        f"{arm}, {where}: {foretold(found, gamma, where):.1f}, "
        f"{rests(found, arm, where):.1f}"
        for arm, gamma in _FACTORS.items()
        for where in PLACES
    )

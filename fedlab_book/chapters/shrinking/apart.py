"""What a factor leaves, taken apart: a shorter network, or one that is less sure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import COLOURS, FIXED, Facts
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

MOMENT = f"{FIXED}: after minus before shrinking"
BARE = "without biases"  # a place like "alike"
_FACTOR = 0.93  # of FIXED
SURE, SHORT = "only less sure", "still sure"
FITTING = f"{SHORT}, in fitting steps"
SMALLER = "smaller steps"  # by as much as a number on the outputs makes gradients
GUESSES = {  # of which of the two has the gain, and what is told to each
    "“Still sure”: a short network is the better one": "Shortened, and still sure, it "
    "is ruined.",
    "“Only less sure”": "It need not be short.",
    "Neither: it takes both together": "Then each alone would fall behind FedAvg, or "
    "be level.",
}
_NOTHING, _ABOUT = 0.2, 1.0  # points that count as nothing, and as about as much
_PLACES = {"alike": "", "uneven": ", uneven", BARE: f", {BARE}"}
_RUIN = -5.0  # points, and below
_EVEN = 0.01  # of a bar, by which two are as sure
_LOOKS = {"FedAvg": "-", FIXED: "-", SURE: "--", SHORT: ":"}
_STAY = [arm for arm in _LOOKS if arm != SHORT]  # which do not diverge
_FRAMES = ((-8, 4), (0, 16), (0, 2))  # what is ruined leaves them
_NOTE = "Over FedAvg, unless it says minus."


def right(found: Comparison) -> str:
    """Which guess the runs bear out: what gains alone, where clients are alike."""
    short, sure_, neither = GUESSES
    if side(found.gain(SURE, where="alike")) == 1:
        return sure_
    return short if side(found.gain(SHORT, where="alike")) == 1 else neither


def parts(found: Comparison) -> Facts:
    """Whether what is only less sure gains, and what is shortened alone is ruined.

    That is where clients are alike, and less sure means: as sure as under the factor.
    The gain differs from that of the factor by less than can be told, or than a point.
    At the moment of shrinking nothing changes. What is only less sure ends longer than
    FedAvg's, and the factor's shorter; both end with longer steps. Where clients are
    uneven it loses, as the factor does.
    """
    at_once = found.ends(FIXED, "alike", "at_once")
    moment = Row(MOMENT, at_once, within=_NOTHING)
    sure, short = (_over(found, arm, "alike") for arm in (SURE, SHORT))
    level = _differ(found, "alike")
    lost = [_over(found, arm, "uneven") for arm in (SURE, FIXED)]
    folded = [moment, lost[1], _differ(found, "uneven")]
    rows = [sure, level, short, lost[0]]
    rows += [replace(row, aside=True) for row in folded]
    failed = all(side(row.values) == -1 for row in (short, *lost))
    same = level.near or side(level.values) == 0
    bar = {a: found.curves(a, "alike", "sure")[:, -1] for a in (SURE, FIXED)}
    alike = np.abs(bar[SURE] - bar[FIXED]).max() < _EVEN
    ends = [
        side(end[arm] - end["FedAvg"])
        for end in (_last(found, "length"), _last(found, "step"))
        for arm in (FIXED, SURE)
    ]
    holds = side(sure.values) == 1 and failed and _ruined(short) and same
    return {
        "rows": rows,
        "holds": bool(holds and moment.near and alike and ends == [-1, 1, 1, 1]),
        "unit": "points",
        "note": _NOTE,
    }


def doubts(found: Comparison) -> Facts:
    """Whether neither smaller steps nor a length explain what `parts` finds.

    Smaller steps show no gain, and gain less. Without biases what is shortened alone is
    ruined, too, and in fitting steps nothing is gained or lost.
    """
    steps = _over(found, SMALLER, "alike")
    beyond = Row(f"{SURE} minus {SMALLER}", found.gain(SURE, SMALLER, "alike"))
    short = _over(found, SHORT, BARE)
    fits = replace(_over(found, FITTING, BARE), within=_NOTHING)
    holds = [side(row.values) for row in (steps, beyond, short)] == [0, 1, -1]
    return {
        "rows": [steps, beyond, short, fits],
        "holds": bool(holds and _ruined(short) and fits.near),
        "unit": "points",
        "note": _NOTE,
    }


def _ruined(row: Row) -> bool:
    return float(np.mean(row.values)) < _RUIN


def _over(found: Comparison, arm: str, where: str) -> Row:
    return Row(f"{arm}{_PLACES[where]}", found.gain(arm, where=where))


def _differ(found: Comparison, where: str) -> Row:
    name = f"{SURE} minus {FIXED}{_PLACES[where]}"
    return Row(name, found.gain(SURE, FIXED, where), within=_ABOUT)


@styled
def picture(found: Comparison) -> tuple[Figure, str]:
    """By round, clients alike: points over FedAvg; length, of network and of step."""
    fig, places = canvas(520, 440, nrows=2, ncols=2)
    *axes, last = places.flat
    for arm in _LOOKS:
        if arm != "FedAvg":
            both = (_course(found, a, "accuracy") for a in (arm, "FedAvg"))
            _line(axes[0], 100 * np.subtract(*both), arm)
        _line(axes[1], _course(found, arm, "length"), arm)
        _line(axes[2], _course(found, arm, "step"), arm)
    axes[0].axhline(0, color=INK, linestyle=":", linewidth=1.5)
    titles = ("points over FedAvg", "length of w", "length of the step")
    for ax, title, frame in zip(axes, titles, _FRAMES, strict=True):
        ax.set(title=title, xlabel="round", ylim=frame)
    last.axis("off")
    last.legend(handles=axes[1].get_lines(), loc="center")
    gains = "; ".join(
        f"{arm} {pm(found.gain(arm, where='alike'))}" for arm in [*_LOOKS][1:]
    )
    alt = (
        f"Three panels against the round, clinics alike. Points over FedAvg: {gains}. "
        f"Length of the network at the end: {_ends(found, 'length', '.1f')}. Length "
        f"of the averaged step: {_ends(found, 'step', '.2f')}."
    )
    return fig, alt


def _course(found: Comparison, arm: str, what: str) -> np.ndarray:
    """(seeds, rounds) of a column, among the alike; nothing after a run diverged."""
    whole = found.curves("FedAvg", "alike").shape[1]
    rows = [[_of(row, what) for row in h.rows] for h in found.of(arm, "alike")]
    seen = np.array([row + [np.nan] * (whole - len(row)) for row in rows])
    return np.where(np.isfinite(seen), seen, np.nan)


def _line(ax: Any, values: np.ndarray, arm: str) -> None:
    at = np.arange(1, values.shape[1] + 1)
    colour = {**COLOURS, SURE: "green", SHORT: "orange"}[arm]
    style: dict[str, Any] = {"linestyle": _LOOKS[arm], "label": arm}
    draw.banded(ax, at, values, color=PALETTE[colour], **style)
    ax.grid(axis="y")


def _ends(found: Comparison, what: str, digits: str) -> str:
    """What each network has in the last round, on average."""
    last = _last(found, what)
    return ", ".join(f"{arm} {v.mean():{digits}}" for arm, v in last.items())


def _last(found: Comparison, what: str) -> dict[str, np.ndarray]:
    return {arm: _course(found, arm, what)[:, -1] for arm in _STAY}


def _of(row: Mapping[str, Any], what: str) -> float:
    """A column; of a step how long it is, which the row has in lengths of w."""
    return row["step"] * row["length"] if what == "step" else row[what]

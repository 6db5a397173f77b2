"""Two effects of a factor, apart: a shorter network, and one that is less sure."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import COLOURS, FIXED, PLACES, Facts
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

MOMENT = f"{FIXED}: after minus before shrinking"
BARE = "without biases"  # a place like "alike"
SURE, SHORT = "only less sure", "still sure"
FITTING = f"{SHORT}, in fitting steps"
SMALLER = "smaller steps"  # by as much as a number on the outputs makes gradients
GUESSES = {  # of which of the two has the gain, and what is told to each
    "“Still sure”: a short network is the better one": "Shortened, and still sure, it "
    "is ruined; “only less sure” gains.",
    "“Only less sure”": "It need not be short.",
    "Neither: it takes both together": "Then each alone would fall behind FedAvg, or "
    "be level; “only less sure” gains alone.",
}
_NOTHING, _ABOUT = 0.2, 1.0  # points that count as nothing, and as about as much
_PLACES = {"alike": "", "uneven": ", uneven", BARE: f", {BARE}"}
_RUIN = -5.0  # points, and below
_EVEN = 0.01  # of a bar, by which two are as sure
_LOOKS = {"FedAvg": "-", FIXED: "-", SURE: "--", SHORT: ":"}
_STAY = [arm for arm in _LOOKS if arm != SHORT]  # which do not diverge
_FRAMES = ((-8, 4), (0, 16), (0, 104), (0, 104))  # what is ruined leaves them
_NOTE = "Over FedAvg, unless it says minus."


def right(found: Comparison) -> str:
    """The guess that the runs bear out: what gains alone, where clients are alike."""
    short, sure_, neither = GUESSES
    if side(found.gain(SURE, where="alike")) == 1:
        return sure_
    return short if side(found.gain(SHORT, where="alike")) == 1 else neither


def parts(found: Comparison) -> Facts:
    """Whether what is only less sure gains, and what is shortened alone is ruined.

    That is where clients are alike, and less sure means: as sure as under the factor.
    The gain differs from that of the factor by less than can be told, or than a point.
    At the moment of shrinking nothing changes. What is only less sure ends longer than
    FedAvg's, and the factor's shorter. Where clients are uneven it loses, as the factor
    does.
    """
    at_once = found.ends(FIXED, "alike", "at_once")
    moment = Row(MOMENT, at_once, within=_NOTHING)
    sure = _over(found, SURE, "alike")
    level = _differ(found, "alike")
    lost = [_over(found, arm, "uneven") for arm in (SURE, FIXED)]
    folded = [moment, lost[1], _differ(found, "uneven")]
    rows = [sure, level, lost[0]]
    rows += [replace(row, aside=True) for row in folded]
    failed = all(side(row.values) == -1 for row in lost)
    failed = failed and _ruined(found.gain(SHORT, where="alike"))
    same = level.near or side(level.values) == 0
    bar = {a: found.curves(a, "alike", "sure")[:, -1] for a in (SURE, FIXED)}
    alike = np.abs(bar[SURE] - bar[FIXED]).max() < _EVEN
    long = {a: found.curves(a, "alike", "length")[:, -1] for a in _STAY}
    ends = [side(long[arm] - long["FedAvg"]) for arm in (FIXED, SURE)]
    holds = side(sure.values) == 1 and failed and same
    return {
        "rows": rows,
        "holds": bool(holds and moment.near and alike and ends == [-1, 1]),
        "unit": "points",
        "note": f"{_NOTE} {_ended(found, 'alike')}",
    }


def doubts(found: Comparison) -> Facts:
    """Whether neither smaller steps nor a length explain what `parts` finds.

    Smaller steps show no gain, and gain less. Without biases what is shortened alone is
    ruined, too, and in fitting steps nothing is gained or lost.
    """
    steps = _over(found, SMALLER, "alike")
    beyond = Row(f"{SURE} minus {SMALLER}", found.gain(SURE, SMALLER, "alike"))
    fits = replace(_over(found, FITTING, BARE), within=_NOTHING)
    holds = [side(row.values) for row in (steps, beyond)] == [0, 1]
    ruined = _ruined(found.gain(SHORT, where=BARE))
    return {
        "rows": [steps, beyond, fits],
        "holds": bool(holds and ruined and fits.near),
        "unit": "points",
        "note": f"{_NOTE} {_ended(found, BARE)}",
    }


def own_images(found: Comparison) -> Facts:
    """Whether less sure networks get fewer of the clients' own samples right.

    And fewer still where clients are uneven.
    """
    known = {(w, a): _end(found, a, w, "known") for w in PLACES for a in (FIXED, SURE)}
    words = ("more", "less")
    rows = [Row(f"{a}, {w}", v, words=words) for (w, a), v in known.items()]
    more = [known["uneven", a] - known["alike", a] for a in (FIXED, SURE)]
    level = ", ".join(
        f"{100 * found.ends('FedAvg', w, 'known').mean():.0f} % ({w})" for w in PLACES
    )
    return {
        "rows": rows,
        "holds": all(side(v) == -1 for v in (*known.values(), *more)),
        "unit": "points of own images",
        "note": f"FedAvg itself: {level}.",
    }


def _end(found: Comparison, arm: str, where: str, what: str) -> np.ndarray:
    ours, theirs = (found.ends(a, where, what) for a in (arm, "FedAvg"))
    return 100 * (ours - theirs)


def _ruined(gains: np.ndarray) -> bool:
    """Whether every seed diverged, or ended that far behind."""
    return all(not np.isfinite(gain) or gain < _RUIN for gain in gains)


def _ended(found: Comparison, where: str) -> str:
    """How the runs of what is shortened and still sure ended, in words."""
    ends = found.scores(SHORT, where)
    there = ends[np.isfinite(ends)]
    rest = f", the best ended at {there.max():.0f} %" if len(there) else ""
    lost = f"{len(ends) - len(there)} of {len(ends)} diverged"
    return f"“{SHORT.capitalize()}”: {lost}{rest}."


def _over(found: Comparison, arm: str, where: str) -> Row:
    return Row(f"{arm}{_PLACES[where]}", found.gain(arm, where=where))


def _differ(found: Comparison, where: str) -> Row:
    name = f"{SURE} minus {FIXED}{_PLACES[where]}"
    return Row(name, found.gain(SURE, FIXED, where), within=_ABOUT)


@styled
def picture(found: Comparison) -> tuple[Figure, str]:
    """By round, clients alike: points over FedAvg, length, how sure, what it knows."""
    fig, places = canvas(520, 470, nrows=2, ncols=2)
    axes = places.flat
    for arm in _LOOKS:
        if arm != "FedAvg":
            both = (_course(found, a, "accuracy") for a in (arm, "FedAvg"))
            _line(axes[0], 100 * np.subtract(*both), arm)
        _line(axes[1], _course(found, arm, "length"), arm)
        for ax, what in ((axes[2], "sure"), (axes[3], "known")):
            _line(ax, 100 * _course(found, arm, what), arm)
    axes[0].axhline(0, color=INK, linestyle=":", linewidth=1.5)
    titles = "points over FedAvg", "length of w", "tallest bar, %", "own images, %"
    for ax, title, frame in zip(axes, titles, _FRAMES, strict=True):
        ax.set(title=title, xlabel="round", ylim=frame)
    fig.legend(handles=axes[1].get_lines(), loc="outside upper center", ncols=2)
    gains = "; ".join(
        f"{arm} {pm(found.gain(arm, where='alike'))}" for arm in [*_LOOKS][1:]
    )
    alt = (
        f"Four panels against the round, clinics alike. Points over FedAvg: {gains}. "
        f"Length of the network at the end: {_ends(found, 'length', '.1f')}. Its "
        f"tallest bar: {_ends(found, 'sure', '.2f')}. Right on the clinics' own "
        f"images: {_ends(found, 'known', '.2f')}."
    )
    return fig, alt


def _course(found: Comparison, arm: str, what: str) -> np.ndarray:
    """(seeds, rounds) of a column, among the alike; nothing after a run diverged."""
    whole = found.curves("FedAvg", "alike").shape[1]
    rows = [[row[what] for row in h.rows] for h in found.of(arm, "alike")]
    seen = np.array([row + [np.nan] * (whole - len(row)) for row in rows])
    return np.where(np.isfinite(seen), seen, np.nan)


def _line(ax: Any, values: np.ndarray, arm: str) -> None:
    at = np.arange(1, values.shape[1] + 1)
    colour = {**COLOURS, SURE: "green", SHORT: "orange"}[arm]
    style: dict[str, Any] = {"linestyle": _LOOKS[arm], "label": arm}
    draw.banded(ax, at, values, color=PALETTE[colour], **style)
    ax.grid(axis="y")


def _ends(found: Comparison, what: str, digits: str) -> str:
    """Average of each network in the last round, in words."""
    last = {arm: found.curves(arm, "alike", what)[:, -1].mean() for arm in _STAY}
    return ", ".join(f"{arm} {value:{digits}}" for arm, value in last.items())

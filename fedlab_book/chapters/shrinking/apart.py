"""What a factor leaves, taken apart: a shorter network, or one that is less sure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Bench, Comparison, Place, pm, side
from fedlab_book.chapters.shrinking import arms, seen
from fedlab_book.chapters.shrinking.gains import COLOURS, FIXED, MILD, Facts
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.client.training import Decay
from fedlab_core.rounds import Method

MOMENT = f"{FIXED}: after minus before shrinking"
BARE = "without biases"  # a place like "alike"
_FACTOR = 0.93  # of FIXED
_NAMED = {FIXED: "", MILD: f"{MILD}, "}
SURE = {arm: f"{name}only less sure" for arm, name in _NAMED.items()}
SHORT = "still sure"
FITTING = f"{SHORT}, fitting steps, without biases"
SMALLER = "smaller steps"  # by as much as a number on the outputs makes gradients
GUESSES = {  # of which of the two has the gain, and what is told to each
    "“Still sure”: a short network is the better one": "Shortened, and still sure, it "
    "is ruined.",
    "“Only less sure”": "It need not be short.",
    "Neither: it takes both together": "Then each alone would fall behind FedAvg, or "
    "be level.",
}
_NOTHING, _ABOUT = 0.2, 1.0  # points that count as nothing, and as about as much
_PLACES = {"alike": "", "uneven": ", uneven"}
_RUIN = -5.0  # points, and below
_EVEN = 0.01  # of a bar, by which two are as sure
_LOOKS = {"FedAvg": "-", FIXED: "-", SURE[FIXED]: "--", SHORT: ":"}
_STAY = [arm for arm in _LOOKS if arm != SHORT]  # which do not diverge
_FRAMES = ((-8, 4), (0, 16), (0, 100))  # what is ruined leaves them


def played(
    bench: Bench,
    found: Comparison,
    places: Mapping[str, Place],
    plain: Method,
    rounds: int,
) -> Comparison:
    """The mixtures and the controls, beside the runs of the factors and of FedAvg.

    Where clients are uneven it is what is only less sure alone. Steps that fit are
    those of a network without biases, as is the FedAvg beside them.
    """
    made = Comparison({}, found.last)
    for where, place in places.items():
        louder = arms.amplified(place)
        ways = {
            SURE[arm]: arms.as_sure(plain, louder, arms.course(found, arm, where))
            for arm in (SURE if where == "alike" else (FIXED,))
        }
        if where == "alike":
            free = arms.course(found, "FedAvg", where)
            ways[SHORT] = arms.as_sure(plain, louder, free, _FACTOR)
        made |= bench.compare({where: louder}, ways, rounds, observe=seen.shrunk)
    numbers = arms.course(made, SURE[FIXED], "alike", "times")
    smaller = {SMALLER: arms.smaller(plain, numbers)}
    made |= bench.compare({"alike": places["alike"]}, smaller, rounds)
    return made | _fitting(bench, places["alike"], plain, rounds)


def _fitting(bench: Bench, place: Place, plain: Method, rounds: int) -> Comparison:
    """FedAvg without biases, and what is shortened and still sure, in fitting steps."""
    there = {BARE: arms.bare(arms.amplified(place))}
    made = bench.compare(there, {"FedAvg": plain}, rounds, observe=seen.shrunk)
    free = arms.course(made, "FedAvg", BARE)
    steps = replace(plain.training, schedule=Decay(_FACTOR**2))
    fitting = replace(plain, training=steps)
    way = arms.as_sure(fitting, there[BARE], free, _FACTOR)
    return made | bench.compare(there, {FITTING: way}, rounds)


def right(found: Comparison) -> str:
    """Which guess the runs bear out: what gains alone, where clients are alike."""
    short, sure_, neither = GUESSES
    if side(found.gain(SURE[FIXED], where="alike")) == 1:
        return sure_
    return short if side(found.gain(SHORT, where="alike")) == 1 else neither


def parts(found: Comparison) -> Facts:
    """Whether what is only less sure gains, and what is shortened alone is ruined.

    That is where clients are alike, and less sure means: as sure as under the factor.
    The gains differ from those of the factor by less than can be told, or than a point.
    At the moment of shrinking nothing changes; smaller steps show no gain, and gain
    less. In fitting steps, without biases, nothing is gained or lost. What is only less
    sure ends longer than FedAvg's, and the factor's shorter; both leave more to learn.
    Where clients are uneven it loses, as the factor does.
    """
    at_once = found.ends(FIXED, "alike", "at_once")
    moment = Row(MOMENT, at_once, within=_NOTHING)
    sure = [_over(found, SURE[arm], "alike") for arm in SURE]
    short = _over(found, SHORT, "alike")
    level = [_differ(found, arm, "alike") for arm in SURE]
    steps = _over(found, SMALLER, "alike")
    beyond = found.gain(SURE[FIXED], SMALLER, "alike")
    beyond = Row(f"{SURE[FIXED]}, minus {SMALLER}", beyond)
    lost = [_over(found, arm, "uneven") for arm in (SURE[FIXED], FIXED)]
    fits = Row(FITTING, found.gain(FITTING, where=BARE), within=_NOTHING)
    folded = [moment, sure[1], level[1], steps, lost[1]]
    folded.append(_differ(found, FIXED, "uneven"))
    rows = [sure[0], level[0], beyond, short, fits, lost[0]]
    rows += [replace(row, aside=True) for row in folded]
    gained = all(side(row.values) == 1 for row in (*sure, beyond))
    failed = all(side(row.values) == -1 for row in (short, *lost))
    ruined = float(np.mean(short.values)) < _RUIN
    same = all(row.near or side(row.values) == 0 for row in level)
    long, bar, left = (
        {arm: found.curves(arm, "alike", what)[:, -1] for arm in _STAY}
        for what in ("length", "sure", "left")
    )
    ends = [
        side(end[arm] - end["FedAvg"])
        for end in (long, left)
        for arm in (FIXED, SURE[FIXED])
    ]
    alike = np.abs(bar[SURE[FIXED]] - bar[FIXED]).max() < _EVEN
    holds = moment.near and side(steps.values) == 0 and same and ends == [-1, 1, 1, 1]
    return {
        "rows": rows,
        "holds": bool(holds and alike and fits.near and gained and failed and ruined),
        "unit": "points",
        "note": "If not said, .93, and over FedAvg.",
    }


def _over(found: Comparison, arm: str, where: str) -> Row:
    return Row(f"{arm}{_PLACES[where]}", found.gain(arm, where=where))


def _differ(found: Comparison, arm: str, where: str) -> Row:
    name = f"{SURE[arm]}, minus {arm}{_PLACES[where]}"
    return Row(name, found.gain(SURE[arm], arm, where), within=_ABOUT)


@styled
def picture(found: Comparison) -> tuple[Figure, str]:
    """By round, clients alike: points over FedAvg, length, what is left to learn."""
    fig, places = canvas(520, 440, nrows=2, ncols=2)
    *axes, last = places.flat
    for arm in _LOOKS:
        if arm != "FedAvg":
            both = (_course(found, a, "accuracy") for a in (arm, "FedAvg"))
            _line(axes[0], 100 * np.subtract(*both), arm)
        _line(axes[1], _course(found, arm, "length"), arm)
        _line(axes[2], 100 * _course(found, arm, "left"), arm)
    axes[0].axhline(0, color=INK, linestyle=":", linewidth=1.5)
    titles = ("points over FedAvg", "length of w", "left to learn, %")
    for ax, title, frame in zip(axes, titles, _FRAMES, strict=True):
        ax.set(title=title, xlabel="round", ylim=frame)
    last.axis("off")
    last.legend(handles=axes[1].get_lines(), loc="center")
    gains = "; ".join(
        f"{arm} {pm(found.gain(arm, where='alike'))}" for arm in [*_LOOKS][1:]
    )
    alt = (
        f"Three panels against the round, clinics alike. Points over FedAvg: {gains}. "
        f"Length of the network at the end: {_ends(found, 'length', '.1f')}. Left "
        f"to learn on the clinics' own images: {_ends(found, 'left', '.2f')}."
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
    colour = {**COLOURS, SURE[FIXED]: "green", SHORT: "orange"}[arm]
    style: dict[str, Any] = {"linestyle": _LOOKS[arm], "label": arm}
    draw.banded(ax, at, values, color=PALETTE[colour], **style)
    ax.grid(axis="y")


def _ends(found: Comparison, what: str, digits: str) -> str:
    """What each network has in the last round, on average."""
    last = {arm: found.curves(arm, "alike", what)[:, -1].mean() for arm in _STAY}
    return ", ".join(f"{arm} {value:{digits}}" for arm, value in last.items())

"""What a factor leaves, taken apart: a shorter network, or one that is less sure."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import (
    COLOURS,
    FIXED,
    GWS,
    MILD,
    UNIT,
    Facts,
    ahead,
)
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

MOMENT = f"{FIXED}: after minus before shrinking"
ALONE = {arm: f"{arm}, outputs alone" for arm in (FIXED, MILD, GWS)}
SMALLER = "smaller steps"  # by as much as a factor on the outputs makes gradients
GUESSES = {  # of what is left of the gain, and what is told to each
    "Nothing: it is short parameters that generalise better": "Then a network that "
    "becomes longer than FedAvg's could not gain.",
    "About all of it": "The length was only a way to it.",
    "About half: each of the two does its part": "Then the outputs alone would fall "
    "behind all parameters.",
}
_NOTHING, _ABOUT = 0.2, 1.0  # points that count as nothing, and as about as much
_LOOKS = {"FedAvg": "-", FIXED: "-", ALONE[FIXED]: "--"}


def right(found: Comparison) -> str:
    """Which guess the runs bear out: of the gain, what is left on the outputs alone."""
    none, whole, part = GUESSES
    kept, all_ = (found.gain(a, where="alike").mean() for a in (ALONE[FIXED], FIXED))
    share = kept / all_
    return none if share < 0.25 else whole if share > 0.75 else part


def sure(found: Comparison) -> Facts:
    """Whether fixed factors gain as much on the outputs alone, where clients are alike.

    They gain, and the differences lie within a point, or zero lies inside; and the
    factors that were learned, where below one, gain there, too. At the moment of
    shrinking nothing changes, and smaller steps change little. Their networks end
    longer than FedAvg's, that under the factor shorter. Where clients are uneven they
    lose.
    """
    both = (FIXED, MILD)
    at_once = found.ends(FIXED, "alike", "at_once")
    rows = [Row(MOMENT, at_once, within=_NOTHING)]
    rows += [_over(found, ALONE[arm], "alike") for arm in both]
    rows += [_differ(found, arm, "alike") for arm in both]
    steps = replace(_over(found, SMALLER, "alike"), within=_ABOUT)
    learned = _over(found, ALONE[GWS], "alike")
    lost = [_over(found, ALONE[arm], "uneven") for arm in both]
    rows += [learned, steps, *lost]
    rows += [replace(_differ(found, arm, "uneven"), aside=True) for arm in both]
    moment, one, other, *level = rows[:5]
    sides = [side(row.values) for row in (one, other, learned, *lost)]
    same = all(row.near or side(row.values) == 0 for row in level)
    long = {arm: found.curves(arm, "alike", "length")[:, -1] for arm in _LOOKS}
    apart = [side(long[arm] - long["FedAvg"]) for arm in (FIXED, ALONE[FIXED])]
    holds = moment.near and same and steps.near and apart == [-1, 1]
    return {
        "rows": rows,
        "holds": bool(holds and sides == [1, 1, 1, -1, -1]),
        "unit": UNIT,
        "folded": "points",
        "note": f"Length at the end: {_ends(found, 'length', '.1f')}.",
    }


def _over(found: Comparison, arm: str, where: str) -> Row:
    return Row(f"{arm}, {where}", found.gain(arm, where=where))


def _differ(found: Comparison, arm: str, where: str) -> Row:
    name = f"{arm}: outputs minus parameters, {where}"
    return Row(name, found.gain(ALONE[arm], arm, where), within=_ABOUT)


@styled
def picture(found: Comparison) -> tuple[Figure, str]:
    """By round, clients alike: points over FedAvg, the length, and how sure."""
    fig, places = canvas(520, 440, nrows=2, ncols=2)
    *axes, last = places.flat
    for arm in _LOOKS:
        if arm != "FedAvg":
            _line(axes[0], ahead(found, arm, "alike"), arm)
        _line(axes[1], found.curves(arm, "alike", "length"), arm)
        _line(axes[2], 100 * found.curves(arm, "alike", "sure"), arm)
    axes[0].axhline(0, color=INK, linestyle=":", linewidth=1.5)
    axes[0].set_title("points over FedAvg")
    axes[1].set_title("length of w")
    axes[2].set_title("tallest bar, %")
    for ax in axes[1:]:
        ax.set_ylim(0, None)
    for ax in axes:
        ax.set_xlabel("round")
    last.axis("off")
    last.legend(handles=axes[1].get_lines(), loc="center")
    gains = "; ".join(
        f"{arm} {pm(found.gain(arm, where='alike'))}" for arm in (FIXED, ALONE[FIXED])
    )
    alt = (
        f"Three panels against the round, clinics alike. Points over FedAvg: {gains}. "
        f"Length of the network at the end: {_ends(found, 'length', '.1f')}. Mean of "
        f"the tallest bar on new images, at the end: {_ends(found, 'sure', '.2f')}."
    )
    return fig, alt


def _line(ax: Any, values: np.ndarray, arm: str) -> None:
    at = np.arange(1, values.shape[1] + 1)
    colour = {**COLOURS, ALONE[FIXED]: "green"}[arm]
    style: dict[str, Any] = {"linestyle": _LOOKS[arm], "label": arm}
    draw.banded(ax, at, values, color=PALETTE[colour], **style)
    ax.grid(axis="y")


def _ends(found: Comparison, what: str, digits: str) -> str:
    """What each network has in the last round, on average."""
    last = {arm: found.curves(arm, "alike", what)[:, -1].mean() for arm in _LOOKS}
    return ", ".join(f"{arm} {value:{digits}}" for arm, value in last.items())

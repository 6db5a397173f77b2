"""Gains over FedAvg, round by round, and whether they can be told from nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, pm, side
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

Facts = dict[str, Any]  # a finding's rows, their unit, and whether its sentence holds
Printed = Mapping[str, Sequence[float]]  # an arm's gains in the paper, a network each
Paper = Mapping[tuple[str, str], Printed]  # by part and split: see `beside.printed`

UNIT = "points over FedAvg"
PLACES = ("alike", "uneven")
FIXED, MILD = "γ = 0.93", "γ = 0.97"
DECAY, HALF, ONCE = "weight decay", "half of the step", "halved once"
GWS = "GWS"  # a learned factor
ELEVENTH = "an eleventh clinic"  # that has the server's images
PAIRS = (  # drawn together against the round
    (FIXED, DECAY),
    (GWS, ELEVENTH),
)
COLOURS = {
    "FedAvg": "blue",
    FIXED: "red",
    MILD: "pink",
    DECAY: "sky",
    ELEVENTH: "orange",
    GWS: "magenta",
    "FedLAW": "green",
}
GUESSES = {  # of what shrinking does among the alike, and what is told to each
    "Far lower: what shrinks in every round has no strength left": "In five epochs "
    "the clinics add enough to stop the shrinking; the accuracy is a little higher.",
    "Higher": "The short network trains differently from the long one.",
    "The same: the clinics train the missing length back": "That would be so if a "
    "short network trained just as a long one does; it is a little higher.",
}


def right(found: Comparison) -> str:
    """The guess that the runs bear out."""
    lower, higher, same = GUESSES
    return (same, higher, lower)[side(found.gain(FIXED, where="alike"))]


@styled
def by_pair(
    found: Comparison, pairs: Sequence[tuple[str, str]], where: str
) -> tuple[Figure, str]:
    """A panel for two arms: their lead over FedAvg in one place, against the round."""
    rows = -(-len(pairs) // 2)
    fig, axes = canvas(520, 30 + 250 * rows, nrows=rows, ncols=2, sharex=True)
    axes = np.atleast_2d(axes)
    arms = [arm for pair in pairs for arm in pair]
    for ax, pair in zip(axes.flat, pairs, strict=True):
        for arm, dash in zip(pair, ("-", "--"), strict=True):
            _lead(ax, found, arm, where, dash)
        _frame(ax, found, arms, where)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    for ax in axes[:, 0]:
        ax.set_ylabel("points")
    for ax in axes[-1]:
        ax.set_xlabel("round")
    return fig, _told(found, arms, [where])


def leads(
    found: Comparison,
    arms: Sequence[str],
    where: str,
    paper: Printed | None = None,
    named: bool = True,
) -> list[Row]:
    """A row an arm: how far it is ahead at the end, and the paper's networks."""
    theirs = paper or {}
    place = f", {where}" if named else ""
    return [
        Row(f"{arm}{place}", found.gain(arm, where=where), theirs.get(arm))
        for arm in arms
    ]


def helps_and_hurts(found: Comparison, paper: Mapping[str, Printed]) -> Facts:
    """Whether two fixed factors help the alike, and one hurts the uneven, more so."""
    both = (FIXED, MILD)
    rows = [row for w in PLACES for row in leads(found, both, w, paper[w])]
    less = Row(f"{MILD} minus {FIXED}, uneven", found.gain(MILD, FIXED, "uneven"))
    rows.append(replace(less, aside=True))
    sides = [side(row.values) for row in rows]
    holds = sides[:3] == [1, 1, -1] and sides[-1] == 1
    how = {"unit": UNIT, "folded": "points", "note": level(found)}
    return {"rows": rows, "holds": holds, **how}


def level(found: Comparison, places: Sequence[str] = PLACES) -> str:
    """Accuracy of FedAvg itself in each place, in words."""
    each = (f"{found.scores('FedAvg', w).mean():.1f} % ({w})" for w in places)
    return f"FedAvg itself: {', '.join(each)}."


def ahead(found: Comparison, arm: str, where: str) -> np.ndarray:
    """Points over FedAvg, (seeds, rounds)."""
    return 100 * (found.curves(arm, where) - found.curves("FedAvg", where))


def _lead(ax: Axes, found: Comparison, arm: str, where: str, dash: str) -> None:
    more, colour = ahead(found, arm, where), PALETTE[COLOURS[arm]]
    style: dict[str, Any] = {"color": colour, "linestyle": dash, "label": arm}
    draw.banded(ax, np.arange(1, more.shape[1] + 1), more, **style)
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
    ax.grid(axis="y")


def _frame(ax: Axes, found: Comparison, arms: Sequence[str], where: str) -> None:
    """Room for all mean curves but for their first third; of that, what fits."""
    means = np.array([ahead(found, arm, where).mean(axis=0) for arm in arms])
    late = means[:, means.shape[1] // 3 :]
    low, high = late.min(), late.max()
    ax.set_ylim(low - 2.5, high + 2.5)


def _told(found: Comparison, arms: Sequence[str], places: Sequence[str]) -> str:
    ends = "; ".join(
        f"{where}, {arm}: {pm(found.gain(arm, where=where))}"
        for where in places
        for arm in arms
    )
    return (
        "Points ahead of FedAvg against the round, with 95 percent bands over seeds. "
        f"In the last {found.last} rounds: {ends}."
    )

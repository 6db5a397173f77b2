"""Who is ahead of FedAvg, round by round, and whether that can be told from nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import fill
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

UNIT = "points over FedAvg"
PLACES = ("alike", "uneven")
GWS = "a learned factor (GWS)"
CAUSES = (  # what could explain the gain, in the order of the text
    "γ = 0.93",
    "weight decay in the clinics",
    "half of the server's step",
    "halved once",
    GWS,
    "GWS and decay",
)
GUESSES = {  # of what shrinking does among the alike, and what is told to each
    "Far lower: what shrinks in every round has no strength left": "Training goes on: "
    "in every round the clinics learn anew.",
    "Higher": "The short network trains differently from the long one.",
    "The same: the clinics train the missing length back": "So it would be if a short "
    "network trained just as a long one does.",
}
MOMENT = "moment of shrinking, after minus before"
_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that count as nothing
_MOST = 0.8  # of the seeds, that "most" asks for
_FAR = 3  # times the next loss, from which one is far out


def right(found: Comparison) -> str:
    """Which guess the runs bear out."""
    lower, higher, same = GUESSES
    return (same, higher, lower)[side(found.gain(CAUSES[0], where="alike"))]


@styled
def by_place(found: Comparison, arm: str) -> tuple[Figure, str]:
    """A panel a place: the arm's lead over FedAvg by round."""
    fig, axes = canvas(520, 300, ncols=len(PLACES), sharey=True)
    for ax, where in zip(axes, PLACES, strict=True):
        _lead(ax, found, arm, where)
        ax.set(title=f"clinics {where}", xlabel="round")
    axes[0].set_ylabel(UNIT)
    return fig, _told(found, [arm], PLACES)


@styled
def by_arm(
    found: Comparison, arms: Sequence[str], where: str, columns: int = 2
) -> tuple[Figure, str]:
    """A panel an arm: its lead over FedAvg in one place, against the round."""
    rows = -(-len(arms) // columns)
    fig, axes = canvas(520, 40 + 190 * rows, nrows=rows, ncols=columns)
    for ax, arm in zip(axes.flat, arms, strict=False):
        _lead(ax, found, arm, where)
        _frame(ax, found, arms, where)
        ax.set(title=fill(arm, 20), xlabel="round")
    for ax in axes[:, 0]:
        ax.set_ylabel(UNIT)
    for ax in axes.flat[len(arms) :]:
        ax.axis("off")
    return fig, _told(found, arms, [where])


def leads(
    found: Comparison,
    arms: Sequence[str],
    where: str,
    paper: Printed | None = None,
    over: str = "FedAvg",
    named: bool = True,
) -> list[Row]:
    """A row an arm: how far it is ahead at the end, and the paper's networks."""
    theirs = paper or {}
    place = f", {where}" if named else ""
    return [
        Row(f"{arm}{place}", found.gain(arm, over, where), theirs.get(arm))
        for arm in arms
    ]


def helps_and_hurts(found: Comparison, paper: Mapping[str, Printed]) -> Facts:
    """Whether shrinking by a fixed factor helps the alike, and hurts the uneven."""
    arm = CAUSES[0]
    rows = [row for w in PLACES for row in leads(found, [arm], w, paper[w])]
    holds = [side(row.values) for row in rows] == [1, -1]
    return {"rows": rows, "holds": holds, "unit": UNIT, "note": level(found)}


def causes(found: Comparison, paper: Printed) -> Facts:
    """Whether decay comes near to what shrinking gains, and both of them gain.

    And whether the learned factor gains, also on top of decay, and the moment of
    shrinking itself changes nothing.
    """
    shrunk, decay, _, _, learned, both = CAUSES
    gaining = (shrunk, decay, learned)
    shown = (*gaining, MOMENT)
    moment = found.ends(shrunk, "alike", "at_once")
    at_once = Row(MOMENT, moment, within=_NOTHING)
    rows = [at_once, *leads(found, CAUSES[:-1], "alike", paper, named=False)]
    rows = [replace(row, aside=row.name not in shown) for row in rows]
    apart, more, top = (found.gain(a, decay, "alike") for a in (shrunk, learned, both))
    ahead = paper[learned][0] - paper[decay][0]
    rows += [
        Row("γ = 0.93 minus decay", apart, within=_NEAR),
        Row("GWS minus decay", more, ahead, aside=True),
        Row("GWS minus γ = 0.93", found.gain(learned, shrunk, "alike"), aside=True),
        Row("GWS and decay minus decay", top, paper[both]),
    ]
    gained = [side(found.gain(arm, where="alike")) for arm in gaining]
    decided = gained == [1, 1, 1] and side(top) == 1
    holds = decided and rows[-4].near and at_once.near
    return {"rows": rows, "holds": holds}


def begun(found: Comparison, arm: str, alone: str) -> Facts:
    """Whether a factor that begins as learned gains over the fixed one, among alike.

    And cannot be told from the learned one, and its beginning `alone` loses.
    """
    fixed = CAUSES[0]
    rows = leads(found, [arm, alone], "alike", named=False)
    others = {fixed: fixed, GWS: "GWS"}
    rows += [
        Row(f"{arm} minus {name}", found.gain(arm, other, "alike"))
        for other, name in others.items()
    ]
    sides = [side(row.values) for row in rows]
    return {"rows": rows, "holds": sides == [1, -1, 1, 0]}


def level(found: Comparison, places: Sequence[str] = PLACES) -> str:
    """What FedAvg itself reaches in each place, in words."""
    each = (f"{found.scores('FedAvg', w).mean():.1f} % ({w})" for w in places)
    return f"FedAvg itself: {', '.join(each)}."


def same_images(found: Comparison, paper: Mapping[tuple[str, str], Printed]) -> Facts:
    """Whether FedLAW gains among the alike, and over training on the same images.

    And whether it cannot be told that it gains among the uneven, nor which is ahead, it
    or a factor alone.
    `paper` has gains as `beside.printed` reads them.
    """
    rows, sides = [], {}
    for where in PLACES:
        theirs = paper["images", where]
        tuned, law = leads(found, list(theirs), where, theirs)
        rows += [replace(tuned, aside=where == "uneven"), law]
        better = found.gain("FedLAW", over="Server-FT", where=where)
        pairs = zip(theirs["FedLAW"], theirs["Server-FT"], strict=True)
        less = [mine - other for mine, other in pairs]
        aside, shares = where == "uneven", found.gain("FedLAW", GWS, where)
        rows.append(Row(f"FedLAW minus Server-FT, {where}", better, less, aside=aside))
        rows.append(Row(f"FedLAW minus GWS, {where}", shares, aside=True))
        sides[where] = [side(row.values) for row in rows[-3:]]
    gained, _, apart = sides["uneven"]
    holds = sides["alike"] == [1, 1, 0] and gained < 1 and apart == 0
    alone, law = (found.gain(arm, where="uneven") for arm in (GWS, "FedLAW"))
    worst = int(alone.argmin())
    note = (
        f"On the uneven seed with GWS at {alone[worst]:+z.1f}, "
        f"FedLAW is at {law[worst]:+z.1f}."
    )
    return {"rows": rows, "holds": holds, "note": note}


def harmed(found: Comparison) -> Facts:
    """Whether a fixed factor costs the uneven, and what GWS does.

    On most seeds it loses less, and on one more than the fixed one does on any, so that
    of its mean nothing can be told; every seed is in the note.
    """
    fixed = CAUSES[0]
    rows = leads(found, [fixed, GWS], "uneven", named=False)
    gained, lost = (found.gain(arm, where="uneven") for arm in (GWS, fixed))
    rows.append(Row(f"GWS minus {fixed}", gained - lost, aside=True))
    worst, *others = np.sort(gained)
    usual = np.mean(gained > lost) >= _MOST and worst < min(*lost, _FAR * min(others))
    factors = found.curves(GWS, "uneven", "gamma")
    at = int(gained.argmin())
    drawn = at == factors[:, -1].argmin()  # it is the one that `temper.learned` draws
    holds = [side(row.values) for row in rows[:2]] == [-1, 0] and usual and drawn
    each = ", ".join(f"{v:+z.1f}" for v in np.sort(gained - lost))
    later = factors[at, 1:]
    note = (
        f"GWS minus {fixed}, seed by seed: {each}. On the "
        f"worst seed GWS is {-gained.min():.1f} behind FedAvg, with γ between "
        f"{later.min():.2f} and {later.max():.2f} in every round but the first."
    )
    return {"rows": rows, "holds": bool(holds), "note": note}


def _lead(ax: Axes, found: Comparison, arm: str, where: str) -> None:
    ahead = 100 * (found.curves(arm, where) - found.curves("FedAvg", where))
    draw.banded(ax, np.arange(1, ahead.shape[1] + 1), ahead, color=PALETTE["green"])
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
    ax.grid(axis="y")


def _frame(ax: Axes, found: Comparison, arms: Sequence[str], where: str) -> None:
    """Room for all mean curves but for their first third; of that, what fits."""
    base = found.curves("FedAvg", where)
    third = base.shape[1] // 3
    means = [100 * (found.curves(a, where) - base).mean(axis=0)[third:] for a in arms]
    low, high = np.min(means), np.max(means)
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

"""Who is ahead of FedAvg, round by round, and whether that can be told from nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from textwrap import fill
from typing import Any, cast

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from fedlab_book import draw
from fedlab_book.bench import Comparison, Place, pm, side
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.errors import require
from fedlab_core.rounds.worlds import World

Facts = dict[str, Any]  # a finding's rows, their unit, and whether its sentence holds
Printed = Mapping[str, Sequence[float]]  # an arm's gains in the paper, a network each

UNIT = "points over FedAvg"
PLACES = ("alike", "uneven")
FIXED = "γ = 0.93"
DECAY, HALF = "weight decay in the clinics", "half of the server's step"
ONCE = "halved once, in round 5"
GWS = "a learned factor (GWS)"
BEGUN, WAITING = "begun as GWS", "waiting"  # and from round 4 on .93
CAUSES = (FIXED, DECAY, HALF, GWS)  # what could explain the gain, a panel each
ELEVENTH = "an eleventh clinic"  # that has the server's images
_RIVALS = {"Server-FT": "Server-FT", ELEVENTH: "the eleventh", GWS: "GWS"}
_SHORT = {DECAY: "decay", HALF: "half", GWS: "GWS"}
GUESSES = {  # of what shrinking does among the alike, and what is told to each
    "Far lower: what shrinks in every round has no strength left": "A shorter "
    "network says nearly the same, only less surely; and it goes on learning.",
    "Higher": "The short network trains differently from the long one.",
    "The same: the clinics train the missing length back": "So it would be if a short "
    "network trained just as a long one does.",
}
MOMENT = "the moment of shrinking: after minus before"
_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that count as nothing
_MOST = 0.8  # of the seeds, that "most" asks for
_FAR = 3  # times the next loss, from which one is far out


def right(found: Comparison) -> str:
    """Which guess the runs bear out."""
    lower, higher, same = GUESSES
    return (same, higher, lower)[side(found.gain(FIXED, where="alike"))]


@styled
def sweep(found: Comparison, factors: Sequence[float]) -> tuple[Figure, str]:
    """A line a place: the gain by the fixed factor, one of which is none."""
    fig, ax = canvas(520, 320)
    at, told = sorted([*factors, 1.0]), []
    looks = (("blue", "-"), ("red", "--"))
    for where, (colour, dash) in zip(PLACES, looks, strict=True):
        arms = ["FedAvg" if g == 1 else f"γ = {g}" for g in at]
        each = [found.gain(arm, where=where) for arm in arms]
        style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
        draw.banded(ax, np.array(at), np.array(each).T, label=where, **style)
        ends = ", ".join(f"{g:g}: {pm(v)}" for g, v in zip(at, each, strict=True))
        told.append(f"{where}: {ends}")
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)
    ax.set(xlabel="factor γ in every round", ylabel=UNIT)
    ax.set_xticks(at, [f"{g:g}".removeprefix("0") for g in at])
    ax.grid(axis="y")
    ax.legend(loc="lower right", title="clinics")
    return fig, f"Points ahead of FedAvg by the factor. {'; '.join(told)}."


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
    """Whether shrinking by a fixed factor helps the alike, and hurts the uneven."""
    rows = [row for w in PLACES for row in leads(found, [FIXED], w, paper[w])]
    holds = [side(row.values) for row in rows] == [1, -1]
    return {"rows": rows, "holds": holds, "unit": UNIT, "note": level(found)}


def causes(found: Comparison, paper: Printed) -> Facts:
    """Whether decay comes near to what shrinking gains, and all that is drawn gains.

    And whether the learned factor gains more than either, the moment of shrinking
    itself changes nothing, and of a single halving nothing can be told; and the half
    step's network stays longer than halfway between the fixed factor's and FedAvg's.
    """
    ahead = paper[GWS][0] - paper[DECAY][0]
    shown = leads(found, CAUSES, "alike", paper, named=False)
    once = Row(ONCE, found.gain(ONCE, where="alike"))
    near = Row(f"{FIXED} minus decay", found.gain(FIXED, DECAY, "alike"), within=_NEAR)
    moment = Row(MOMENT, found.ends(FIXED, "alike", "at_once"), within=_NOTHING)
    more = [
        Row("GWS minus decay", found.gain(GWS, DECAY, "alike"), ahead, aside=True),
        Row(f"GWS minus {FIXED}", found.gain(GWS, FIXED, "alike"), aside=True),
    ]
    long = {
        arm: found.curves(arm, "alike", "length")[:, -1].mean()
        for arm in ("FedAvg", *CAUSES)
    }
    still = long[HALF] - long[FIXED] > (long["FedAvg"] - long[FIXED]) / 2
    told = ", ".join(f"{ell:.1f} ({_SHORT.get(a, a)})" for a, ell in long.items())
    gained = still and all(side(row.values) == 1 for row in (*shown, *more))
    holds = gained and near.near and moment.near and side(once.values) == 0
    note = f"Length of w when the last round begins: {told}."
    return {"rows": [*shown, once, near, moment, *more], "holds": holds, "note": note}


def level(found: Comparison, places: Sequence[str] = PLACES) -> str:
    """What FedAvg itself reaches in each place, in words."""
    each = (f"{found.scores('FedAvg', w).mean():.1f} % ({w})" for w in places)
    return f"FedAvg itself: {', '.join(each)}."


def joined(place: Place) -> Place:
    """The same federation with one client more, which has the server's images."""

    @cache
    def world(seed: int) -> World:
        old = place(seed)
        require(old.proxy is not None, "the bench has no proxy set")
        x, y = cast(tuple[Tensor, Tensor], old.proxy)
        held = np.arange(len(old.x), len(old.x) + len(x))
        count = torch.bincount(y, minlength=len(old.classes)).to(old.counts)
        return replace(
            old,
            x=torch.cat([old.x, x]),
            y=torch.cat([old.y, y]),
            partition=replace(old.partition, indices=(*old.partition.indices, held)),
            counts=torch.cat([old.counts, count[None]]),
        )

    return world


def same_images(found: Comparison, paper: Mapping[tuple[str, str], Printed]) -> Facts:
    """Whether FedLAW gains among the alike, over a client more with the same images.

    And that gains, too, but a server loses that trains on them. And whether among the
    uneven that client gains, FedLAW cannot be told to, nor in either which is ahead, it
    or a factor alone; and on the seed where a factor alone does worst it loses less
    than half of that. `paper` has gains as `beside.printed` reads them.
    """
    rows, sides = [], {}
    for where in PLACES:
        theirs = paper["images", where]
        tuned, law = leads(found, list(theirs), where, theirs)
        more = leads(found, [ELEVENTH], where)[0]
        pairs = zip(theirs["FedLAW"], theirs["Server-FT"], strict=True)
        less = [mine - other for mine, other in pairs]
        better, joined, shares = (
            Row(f"FedLAW minus {name}, {where}", found.gain("FedLAW", arm, where))
            for arm, name in _RIVALS.items()
        )
        rows += [
            replace(tuned, aside=where == "uneven"),
            law,
            more,
            replace(better, paper=less, aside=True),
            replace(joined, aside=True),
            replace(shares, aside=True),
        ]
        sides[where] = [side(row.values) for row in rows[-6:]]
    alike = sides["alike"] == [-1, 1, 1, 1, 1, 0]
    uneven = sides["uneven"][1:3] == [0, 1] and sides["uneven"][5] == 0
    alone, law = (found.gain(arm, where="uneven") for arm in (GWS, "FedLAW"))
    worst = int(alone.argmin())
    saved = law[worst] >= alone[worst] / 2
    note = (
        f"On the uneven seed with GWS at {alone[worst]:+z.1f}, "
        f"FedLAW is at {law[worst]:+z.1f}."
    )
    return {"rows": rows, "holds": alike and uneven and bool(saved), "note": note}


def harmed(found: Comparison) -> Facts:
    """Whether a fixed factor costs the uneven, and what GWS does.

    On most seeds it loses less, and on one more than the fixed one does on any, so that
    of its mean nothing can be told; every seed is in the note.
    """
    fixed, learned = leads(found, [FIXED, GWS], "uneven", named=False)
    gained, lost = (np.asarray(row.values) for row in (learned, fixed))
    both = Row(f"GWS minus {FIXED}", gained - lost)
    rows = [learned, both, replace(fixed, aside=True)]
    worst, *others = np.sort(gained)
    usual = np.mean(gained > lost) >= _MOST and worst < min(*lost, _FAR * min(others))
    factors = found.curves(GWS, "uneven", "gamma")
    at = int(gained.argmin())
    drawn = at == factors[:, -1].argmin()  # it is the one that `temper.learned` draws
    holds = [side(lost), side(gained)] == [-1, 0] and usual and drawn
    each = ", ".join(f"{v:+z.1f}" for v in np.sort(gained - lost))
    later = factors[at, 1:]
    note = (
        f"GWS minus {FIXED}, seed by seed: {each}. On the "
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

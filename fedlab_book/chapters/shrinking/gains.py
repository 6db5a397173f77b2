"""Who is ahead of FedAvg, round by round, and whether that can be told from nothing."""

from collections.abc import Callable, Mapping, Sequence
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
from fedlab_core.rounds import Gathered, Method, ServerState
from fedlab_core.rounds.worlds import World

Facts = dict[str, Any]  # a finding's rows, their unit, and whether its sentence holds
Printed = Mapping[str, Sequence[float]]  # an arm's gains in the paper, a network each

UNIT = "points over FedAvg"
PLACES = ("alike", "uneven")
FIXED, MILD = "γ = 0.93", "γ = 0.97"
DECAY, HALF, ONCE = "weight decay", "half of the step", "halved once"
GWS = "GWS"  # a learned factor
CAUSES = (FIXED, DECAY, HALF, GWS)  # what could explain the gain
STRETCHED = "stretched, then .93"  # by the learned factors of three rounds
WAITED = "left alone, then .93"  # for as many rounds
ELEVENTH = "an eleventh clinic"  # that has the server's images
FIRST = (FIXED, WAITED, STRETCHED, GWS)  # what is done in the first rounds
COLOURS = {
    "FedAvg": "blue",
    FIXED: "red",
    MILD: "pink",
    WAITED: "orange",
    STRETCHED: "violet",
    GWS: "green",
}
GUESSES = {  # of what shrinking does among the alike, and what is told to each
    "Far lower: what shrinks in every round has no strength left": "That would be "
    "so if the clinics added little between two averages. In five epochs they add "
    "enough.",
    "Higher": "The short network trains differently from the long one.",
    "The same: the clinics train the missing length back": "That would be so if a "
    "short network trained just as a long one does.",
}


def right(found: Comparison) -> str:
    """Which guess the runs bear out."""
    lower, higher, same = GUESSES
    return (same, higher, lower)[side(found.gain(FIXED, where="alike"))]


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
    """Whether two fixed factors help the alike and hurt the uneven, the milder less."""
    both = (FIXED, MILD)
    rows = [row for w in PLACES for row in leads(found, both, w, paper[w])]
    less = Row(f"{MILD} minus {FIXED}, uneven", found.gain(MILD, FIXED, "uneven"))
    rows.append(replace(less, aside=True))
    holds = [side(row.values) for row in rows] == [1, 1, -1, -1, 1]
    how = {"unit": UNIT, "folded": "points", "note": level(found)}
    return {"rows": rows, "holds": holds, **how}


def stopped(found: Comparison) -> Facts:
    """Whether the learned factor alone gains over a FedAvg that stops at its best.

    That is, over its best rounds in a row, chosen on the very images that it is judged
    by, seed by seed.
    """
    hit, last = 100 * found.curves("FedAvg", "alike"), found.last
    windows = np.lib.stride_tricks.sliding_window_view(hit, last, axis=1)
    best = windows.mean(axis=2).max(axis=1)
    rows = [Row(a, found.scores(a, "alike") - best, aside=True) for a in CAUSES]
    more = pm(best - found.scores("FedAvg", "alike"))
    return {
        "rows": rows,
        "holds": [side(row.values) for row in rows] == [0, 0, 0, 1],
        "unit": "points over its best",
        "note": f"FedAvg at its best is {more} points over FedAvg at the end.",
    }


def by_round(method: Method, factor: Callable[[int], float]) -> Method:
    """The same method, its new model multiplied by `factor(t)` in round t, from 1."""
    averaging = method.server

    def step(now: Gathered) -> ServerState:
        state, by = averaging.step(now), factor(now.key[1] + 1)
        parameters = {n: by * state.model[n] for n in now.view.parameters}
        return replace(state, model={**state.model, **parameters})

    return replace(method, server=replace(averaging, step=step))


def mean_path(found: Comparison, arm: str, seeds: Sequence[int]) -> dict[int, float]:
    """The factor of each round, from 1, on average over some seeds of alike clients."""
    rows = [
        [row["gamma"] for row in history.rows if "gamma" in row]
        for history in found.of(arm, "alike")
        if history.seed in seeds
    ]
    return dict(enumerate(np.mean(rows, axis=0).tolist(), 1))


def followed(found: Comparison) -> Facts:
    """Whether stretching first gains over shrinking first, and over leaving alone.

    And of the learned factor it cannot be told whether it gains over that. It begins
    above one, on average. All but what is left alone first fall behind FedAvg.
    """
    rows = [
        Row(f"stretched minus {FIXED}", found.gain(STRETCHED, FIXED, "alike")),
        Row(f"left alone minus {FIXED}", found.gain(WAITED, FIXED, "alike")),
        Row("stretched minus left alone", found.gain(STRETCHED, WAITED, "alike")),
        Row("GWS minus stretched", found.gain(GWS, STRETCHED, "alike")),
        Row("stretched minus FedAvg", found.gain(STRETCHED, where="alike")),
    ]
    sides = [side(row.values) for row in rows]
    first = found.curves(GWS, "alike", "gamma")[:, :2].mean(axis=0)
    rows[-1] = replace(rows[-1], aside=True)
    holds = sides[0] == sides[2] == sides[4] == 1 and sides[3] == 0
    behind = all(_falls_behind(found, arm) == (arm != WAITED) for arm in FIRST)
    return {"rows": rows, "holds": holds and behind and bool((first > 1).all())}


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


def worth(
    found: Comparison, quick: Comparison, paper: Mapping[tuple[str, str], Printed]
) -> Facts:
    """Whether learning beats a client more, with the same images, among the alike.

    That gains there, too, and among the uneven it beats both ways to learn. With one
    epoch, as in `quick`, the learned factor gains, and the fixed one costs. `paper` has
    gains as `beside.printed` reads them.
    """
    rows, asides, sides = [], [], {}
    arms = (GWS, "FedLAW", ELEVENTH)
    pairs = ((GWS, ELEVENTH), ("FedLAW", ELEVENTH), ("FedLAW", GWS), (GWS, FIXED))
    for where in PLACES:
        theirs = {**paper["images", where]}
        if where == "alike":
            theirs[GWS] = paper["why", where][GWS]
        here = leads(found, arms, where, theirs)
        over = [
            Row(f"{a} minus {b}, {where}", found.gain(a, b, where), aside=True)
            for a, b in pairs
        ]
        rows += here
        asides += over
        sides[where] = [side(row.values) for row in (*here, *over)]
    brief = Row(
        f"{GWS}, alike, one epoch",
        quick.gain(GWS, where="alike"),
        paper["one epoch", "alike"][GWS],
    )
    rows.insert(len(arms), brief)
    adapts = [side(brief.values), side(quick.gain(FIXED, where="alike"))] == [1, -1]
    alike = sides["alike"] == [1, 1, 1, 1, 1, 0, 1]
    holds = alike and adapts and sides["uneven"][2:6] == [1, -1, -1, 0]
    how = {"unit": UNIT, "folded": "points"}
    return {"rows": [*rows, *asides], "holds": holds, **how}


def harm(found: Comparison) -> Facts:
    """Whether the learned factor's harm is one uneven seed's, the one drawn in black.

    That seed lies farther from the others than they from each other, its factor ends
    lowest of all, and FedLAW loses less than a quarter as much there; on the others
    there is no gain. There alone the factor needs more to be added than FedAvg's
    clinics add in any round. The note has what else is known of it.
    """
    alone, law = (found.gain(arm, where="uneven") for arm in (GWS, "FedLAW"))
    at = int(alone.argmin())
    rest, factors = np.delete(alone, at), found.curves(GWS, "uneven", "gamma")
    far = rest.min() - alone[at] > np.ptp(rest)
    black = at == int(factors[:, -1].argmin())
    gamma = factors[:, -found.last :].mean(axis=1)
    long, more = (found.curves("FedAvg", "uneven", w) for w in ("length", "longer"))
    needs, most = (1 - gamma) / gamma, (more / long).max(axis=1)
    withers = needs > most  # of a length, in any round
    note = (
        f"On the one: GWS {alone[at]:+z.1f}, FedLAW {law[at]:+z.1f}; to keep its "
        f"length it needs {needs[at]:.2f} of it added in a round, and FedAvg's clinics "
        f"add {most[at]:.2f} at most."
    )
    only = bool(withers[at]) and withers.sum() == 1
    mild = law[at] > alone[at] / 4 and side(rest) < 1
    return {
        "rows": [Row("GWS, uneven, the other seeds", rest)],
        "holds": bool(far and black and only and mild),
        "unit": UNIT,
        "note": note,
    }


def _falls_behind(found: Comparison, arm: str) -> bool:
    """Whether it is clearly behind FedAvg in its worst round, among the alike."""
    ahead = found.curves(arm, "alike") - found.curves("FedAvg", "alike")
    return side(ahead[:, ahead.mean(axis=0).argmin()]) == -1


def _lead(ax: Axes, found: Comparison, arm: str, where: str) -> None:
    ahead = 100 * (found.curves(arm, where) - found.curves("FedAvg", where))
    rounds, colour = np.arange(1, ahead.shape[1] + 1), PALETTE[COLOURS[arm]]
    draw.banded(ax, rounds, ahead, color=colour)
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

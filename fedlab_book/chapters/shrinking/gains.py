"""Who is ahead of FedAvg, round by round, and whether that can be told from nothing."""

from collections.abc import Mapping, Sequence
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
_LINES = (("green", "-"), ("red", "--"), ("blue", ":"))


@styled
def by_place(
    found: Comparison, arms: Sequence[str], places: Sequence[str]
) -> tuple[Figure, str]:
    """A panel a place: the arms' lead over FedAvg by round."""
    fig, axes = canvas(700, 320, ncols=len(places), sharey=True)
    for ax, where in zip(axes, places, strict=True):
        for arm, (colour, dash) in zip(arms, _LINES, strict=False):
            style = {"color": PALETTE[colour], "linestyle": dash, "label": arm}
            _lead(ax, found, arm, where, **style)
        ax.set(title=f"clinics {where}", xlabel="round")
    axes[0].set_ylabel("points over FedAvg")
    if len(arms) > 1:
        axes[0].legend(loc="lower left")
    return fig, _told(found, arms, places)


@styled
def by_arm(
    found: Comparison, arms: Sequence[str], where: str, columns: int = 3
) -> tuple[Figure, str]:
    """A panel an arm: its lead over FedAvg in one place, against the round.

    And one of FedAvg itself: its loss on its clients' own samples, and on new ones.
    """
    rows = -(-(len(arms) + 1) // columns)
    fig, axes = canvas(720, 40 + 210 * rows, nrows=rows, ncols=columns)
    for ax, arm in zip(axes.flat, arms, strict=False):
        _lead(ax, found, arm, where, color=PALETTE["green"])
        _frame(ax, found, arms, where)
        ax.set(title=fill(arm, 20), xlabel="round")
    for ax in axes[:, 0]:
        ax.set_ylabel("points over FedAvg")
    own, *free = axes.flat[len(arms) :]
    for what, name, colour, dash in _LOSSES:
        curves = found.curves("FedAvg", where, what)
        rounds = np.arange(1, curves.shape[1] + 1)
        style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
        draw.banded(own, rounds, curves, label=name, **style)
    own.set(title="FedAvg itself: loss", xlabel="round", ylim=(0, None))
    own.legend(loc=(0.34, 0.3), handlelength=1.2)
    own.grid(axis="y")
    for ax in free:
        ax.axis("off")
    ends = (
        f"{name} {found.curves('FedAvg', where, what)[:, -found.last :].mean():.2f}"
        for what, name, *_ in _LOSSES
    )
    told = f"{_told(found, arms, [where])} FedAvg's loss at the end: {', '.join(ends)}."
    return fig, told


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
    arm, places = CAUSES[0], ("alike", "uneven")
    rows = [row for w in places for row in leads(found, [arm], w, paper[w])]
    ours = [side(found.gain(arm, where=where)) for where in places]
    return {"rows": rows, "holds": ours == [1, -1], "unit": UNIT, "note": level(found)}


def causes(found: Comparison, paper: Printed) -> Facts:
    """Whether decay comes near to what shrinking gains; others gain, too.

    And whether it cannot be told that the learned one beats decay, and FedAvg itself
    overfits: a lower loss on its clients' samples, a higher one on new ones.
    """
    first = {arm: gains[:1] for arm, gains in paper.items()}
    rows = leads(found, CAUSES, "alike", first, named=False)
    shrunk, decay, half, _, learned = CAUSES
    theirs = {arm: gains[0] for arm, gains in paper.items()}
    apart, more = (found.gain(a, decay, "alike") for a in (shrunk, learned))
    rows += [
        Row("γ = 0.93 minus decay", apart),
        Row("GWS minus γ = 0.93", found.gain(learned, shrunk, "alike")),
        Row("GWS minus decay", more, theirs[learned] - theirs[decay]),
    ]
    gaining = (shrunk, decay, half, learned)
    gained = [side(found.gain(arm, where="alike")) for arm in gaining]
    near = abs(apart.mean()) < _NEAR
    fits = [late(found, "FedAvg", "alike", what) for what, *_ in _LOSSES]
    overfits = [side(values) for values in fits] == [-1, 1]
    holds = gained == [1, 1, 1, 1] and near and side(more) == 0 and overfits
    return {"rows": rows, "holds": holds, "note": level(found, ["alike"])}


def late(found: Comparison, arm: str, where: str, what: str) -> np.ndarray:
    """By how much something grew from the middle of a run to its end, seed by seed."""
    seen = found.curves(arm, where, what)
    middle, last = seen.shape[1] // 2, found.last
    around = seen[:, middle - last // 2 : middle - last // 2 + last]
    return seen[:, -last:].mean(axis=1) - around.mean(axis=1)


def level(found: Comparison, places: Sequence[str] = ("alike", "uneven")) -> str:
    """What FedAvg itself reaches in each place, in words."""
    each = (f"{found.scores('FedAvg', w).mean():.1f} % ({w})" for w in places)
    return f"FedAvg itself: {', '.join(each)}."


def same_images(found: Comparison, paper: Mapping[tuple[str, str], Printed]) -> Facts:
    """Whether FedLAW gains among the alike, and over training on the same images.

    And whether nothing can be told of it among the uneven, or beside a factor alone.
    `paper` has gains as `beside.printed` reads them.
    """
    rows, sides = [], {}
    for where in ("alike", "uneven"):
        theirs = paper["images", where]
        rows += leads(found, list(theirs), where, theirs)
        better = found.gain("FedLAW", over="Server-FT", where=where)
        less = theirs["FedLAW"][0] - theirs["Server-FT"][0]
        rows.append(Row(f"FedLAW minus Server-FT, {where}", better, less))
        shares = found.gain("FedLAW", over=CAUSES[-1], where=where)
        rows.append(Row(f"FedLAW minus GWS, {where}", shares))
        sides[where] = [side(row.values) for row in rows[-3:]]
    holds = sides["alike"] == [1, 1, 0] and sides["uneven"][::2] == [0, 0]
    return {"rows": rows, "holds": holds, "unit": UNIT, "note": level(found)}


def cured(found: Comparison) -> Facts:
    """Whether a learned factor takes back what the fixed one costs among the uneven.

    And whether it cannot be told that it gains anything.
    """
    fixed, learned = CAUSES[0], CAUSES[-1]
    rows = [
        Row("γ = 0.93", found.gain(fixed, where="uneven")),
        Row(learned, found.gain(learned, where="uneven")),
        Row("GWS minus γ = 0.93", found.gain(learned, fixed, "uneven")),
    ]
    holds = [side(row.values) for row in rows] == [-1, 0, 1]
    return {"rows": rows, "holds": holds, "unit": "points over FedAvg, uneven"}


_NEAR = 0.5  # points that "within half a point" allows
_LOSSES = (  # of a round, what it is on, and how it is drawn
    ("train_loss", "own images", "blue", "--"),
    ("loss", "new images", "red", "-"),
)

CAUSES = (  # what could explain the gain, in the order of the text
    "γ = 0.93",
    "weight decay in the clients",
    "half of the server's step",
    "halved once",
    "a learned factor (GWS)",
)


def _lead(ax: Axes, found: Comparison, arm: str, where: str, **style: Any) -> None:
    ahead = 100 * (found.curves(arm, where) - found.curves("FedAvg", where))
    draw.banded(ax, np.arange(1, ahead.shape[1] + 1), ahead, **style)
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

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
    fig, axes = canvas(520, 300, ncols=len(places), sharey=True)
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
    found: Comparison, arms: Sequence[str], where: str, columns: int = 2
) -> tuple[Figure, str]:
    """A panel an arm: its lead over FedAvg in one place, against the round.

    And one of the loss, on the clients' own samples and on new ones: FedAvg's, and that
    of the first arm.
    """
    rows = -(-(len(arms) + 1) // columns)
    fig, axes = canvas(520, 40 + 190 * rows, nrows=rows, ncols=columns)
    for ax, arm in zip(axes.flat, arms, strict=False):
        _lead(ax, found, arm, where, color=PALETTE["green"])
        _frame(ax, found, arms, where)
        ax.set(title=fill(arm, 20), xlabel="round")
    for ax in axes[:, 0]:
        ax.set_ylabel("points over FedAvg")
    own, *free = axes.flat[len(arms) :]
    losses = _losses(own, found, ("FedAvg", arms[0]), where)
    for ax in free:
        ax.axis("off")
    return fig, f"{_told(found, arms, [where])} Loss at the end: {losses}."


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

    And whether the learned factor gains on top of decay, while it cannot be told that
    it beats decay. And FedAvg overfits, its loss lower and lower on its clients' own
    samples, higher and higher on new ones; with a factor it is the other way round.
    """
    first = {arm: gains[:1] for arm, gains in paper.items()}
    at_once = ends(found, CAUSES[0], "alike", "at_once")
    rows = [Row("the moment of shrinking itself", at_once)]
    rows += leads(found, CAUSES, "alike", first, named=False)
    shrunk, decay, half, _, learned = CAUSES
    theirs = {arm: gains[0] for arm, gains in paper.items()}
    apart, more, top = (
        found.gain(a, decay, "alike") for a in (shrunk, learned, ON_TOP)
    )
    rows += [
        Row("γ = 0.93 minus decay", apart),
        Row("GWS minus decay", more, theirs[learned] - theirs[decay]),
        Row("GWS and decay minus decay", top, theirs[ON_TOP]),
    ]
    gaining = (shrunk, decay, half, learned)
    gained = [side(found.gain(arm, where="alike")) for arm in gaining]
    near = abs(apart.mean()) < _NEAR
    fits = [late(found, "FedAvg", "alike", what) for what in ("fit", "loss")]
    overfits = [side(values) for values in fits] == [-1, 1]
    # The factor's average knows less of the clients' samples, and more of new ones.
    less = [
        side(ends(found, shrunk, "alike", what) - ends(found, "FedAvg", "alike", what))
        for what in ("fit", "loss")
    ] == [1, -1]
    decided = gained == [1, 1, 1, 1] and [side(more), side(top)] == [0, 1]
    holds = decided and near and overfits and less and abs(at_once.mean()) < _NOTHING
    return {"rows": rows, "holds": holds, "note": level(found, ["alike"])}


def ends(found: Comparison, arm: str, where: str, what: str) -> np.ndarray:
    """What was seen in the last rounds, on average, seed by seed."""
    return found.curves(arm, where, what)[:, -found.last :].mean(axis=1)


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

    And whether it cannot be told that it gains anything, decay costs as well, and the
    fixed factor's average gives up more of the clients' own samples than among the
    alike.
    """
    fixed, decay, learned = CAUSES[0], CAUSES[1], CAUSES[-1]
    rows = leads(found, [fixed, decay, learned], "uneven", named=False)
    rows.append(Row("GWS minus γ = 0.93", found.gain(learned, fixed, "uneven")))
    lost = {
        w: 100 * (ends(found, fixed, w, "fitted") - ends(found, "FedAvg", w, "fitted"))
        for w in ("uneven", "alike")
    }
    rows.append(Row("γ = 0.93, clinics' own images", lost["uneven"]))
    rows.append(Row("the same where clinics are alike", lost["alike"]))
    more = side(lost["uneven"] - lost["alike"])
    holds = [side(row.values) for row in rows] == [-1, -1, 0, 1, -1, -1] and more == -1
    return {"rows": rows, "holds": holds, "unit": UNIT, "note": level(found)}


_NEAR = 0.5  # points that "within half a point" allows
_NOTHING = 0.2  # points that "nearly" nothing allows
ON_TOP = "GWS and decay"  # an arm that both shrinks by a learned factor and decays

CAUSES = (  # what could explain the gain, in the order of the text
    "γ = 0.93",
    "weight decay in the clients",
    "half of the server's step",
    "halved once",
    "a learned factor (GWS)",
)


def _losses(ax: Axes, found: Comparison, arms: Sequence[str], where: str) -> str:
    """Each arm's loss, dashed on the clients' own samples; and the last, in words."""
    told = []
    for arm, colour in zip(arms, ("red", "green"), strict=True):
        for what, dash, name in (("fit", "--", "own"), ("loss", "-", "new")):
            seen = found.curves(arm, where, what)
            style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
            draw.banded(ax, np.arange(1, seen.shape[1] + 1), seen, **style)
            end = seen[:, -found.last :].mean()
            if what == "loss":
                high = 0.15 + seen[:, -found.last :].mean(axis=0).max()
                ax.text(seen.shape[1], high, arm, ha="right", color=PALETTE[colour])
            told.append(f"{arm} {end:.2f} on {name} images")
    top = max(found.curves(arm, where, "loss").mean(axis=0).max() for arm in arms)
    ax.set(title="loss; dashed: own images", xlabel="round", ylim=(0, 1.4 * top))
    ax.grid(axis="y")
    return ", ".join(told)


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

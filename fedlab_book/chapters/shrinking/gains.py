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
    fig, axes = canvas(700, 320, ncols=len(places))
    for ax, where in zip(axes, places, strict=True):
        for arm, (colour, dash) in zip(arms, _LINES, strict=False):
            style = {"color": PALETTE[colour], "linestyle": dash, "label": arm}
            _lead(ax, found, arm, where, **style)
        _frame(ax, found, arms, where)
        ax.set(title=f"clinics {where}", xlabel="round")
    axes[0].set_ylabel("points over FedAvg")
    axes[0].legend(loc="lower left")
    return fig, _told(found, arms, places)


@styled
def by_arm(
    found: Comparison, arms: Sequence[str], where: str, columns: int = 3
) -> tuple[Figure, str]:
    """A panel an arm: its lead over FedAvg in one place, against the round."""
    shape = {"nrows": -(-len(arms) // columns), "ncols": columns}
    size = (720, 40 + 210 * shape["nrows"])
    fig, axes = canvas(*size, **shape, sharex=True, sharey=True)
    for ax, arm in zip(axes.flat, arms, strict=False):
        _lead(ax, found, arm, where, color=PALETTE["green"])
        _frame(ax, found, arms, where)
        ax.set_title(fill(arm, 20))
        ax.tick_params(labelbottom=True)
    for ax in axes[:, 0]:
        ax.set_ylabel("points over FedAvg")
    for ax in axes.flat[len(arms) :]:
        ax.axis("off")
    for ax in axes.flat[max(0, len(arms) - columns) : len(arms)]:
        ax.set_xlabel("round")
    return fig, _told(found, arms, [where])


def leads(
    found: Comparison,
    arms: Sequence[str],
    where: str,
    paper: Printed | None = None,
    over: str = "FedAvg",
    named: bool = True,
) -> list[Row]:
    """A row an arm: how far it is ahead at the end; the paper's first network."""
    theirs = {arm: gains[0] for arm, gains in (paper or {}).items()}
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
    return {"rows": rows, "holds": ours == [1, -1], "unit": UNIT}


def causes(found: Comparison, paper: Printed) -> Facts:
    """Whether decay gains what shrinking gains; half a step and a learned factor, too.

    And whether it cannot be told that the learned one beats decay, and FedAvg itself
    no longer improves.
    """
    rows = leads(found, CAUSES, "alike", paper, named=False)
    shrunk, decay, half, _, learned = CAUSES
    pairs = {
        "γ = 0.93 over decay": (shrunk, decay),
        "GWS over γ = 0.93": (learned, shrunk),
        "GWS over decay": (learned, decay),
    }
    over = {name: found.gain(*pair, "alike") for name, pair in pairs.items()}
    rows += [Row(name, values) for name, values in over.items()]
    gaining = (shrunk, decay, half, learned)
    gained = [side(found.gain(arm, where="alike")) for arm in gaining]
    base = 100 * found.curves("FedAvg", "alike")
    middle = base.shape[1] // 2
    late = base[:, -found.last :].mean(axis=1)
    late = late - base[:, middle - 2 : middle + 3].mean(axis=1)
    name = f"FedAvg: last {found.last} rounds less rounds {middle - 1} to {middle + 3}"
    rows.append(Row(name, late))
    apart, _, more = over.values()
    near, done = abs(apart.mean()) < _NEAR, side(rows[-1].values) < 1
    holds = gained == [1, 1, 1, 1] and near and side(more) == 0 and done
    return {"rows": rows, "holds": holds}


def same_images(found: Comparison, paper: Mapping[tuple[str, str], Printed]) -> Facts:
    """Whether FedLAW gains among the alike, and over training on the same images.

    And whether nothing can be told of it among the uneven. `paper` has gains as
    `beside.printed` reads them.
    """
    rows, sides = [], {}
    for where in ("alike", "uneven"):
        theirs = paper["images", where]
        rows += leads(found, list(theirs), where, theirs)
        better = found.gain("FedLAW", over="Server-FT", where=where)
        less = theirs["FedLAW"][0] - theirs["Server-FT"][0]
        rows.append(Row(f"FedLAW over Server-FT, {where}", better, less))
        sides[where] = side(found.gain("FedLAW", where=where)), side(better)
    holds = sides["alike"] == (1, 1) and sides["uneven"][0] == 0
    return {"rows": rows, "holds": holds, "unit": UNIT}


_NEAR = 0.5  # points that "nearly as much" allows

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
    """Room for all mean curves from round 5 on; of those before, what fits."""
    base = found.curves("FedAvg", where)
    means = [100 * (found.curves(a, where) - base).mean(axis=0)[4:] for a in arms]
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

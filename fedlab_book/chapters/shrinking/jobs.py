"""The factor's second job, how long the network becomes: what it pays, and costs."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book import draw
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import (
    COLOURS,
    FIXED,
    GWS,
    NEVER,
    UNIT,
    Facts,
    ahead,
)
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

AGAIN = "the worst seed"  # uneven clinics, other images of the server
MOMENT = f"{FIXED}: after minus before shrinking"
_NOTHING, _LITTLE = 0.2, 0.5  # points that count as nothing, and as little
_DASHES = {"FedAvg": "-", GWS: "-", NEVER: "--"}


def worst(found: Comparison) -> int:
    """On which seed, counted from 0, GWS loses most where clients are uneven."""
    return int(found.gain(GWS, where="uneven").argmin())


def turned(found: Comparison, arm: str, where: str) -> np.ndarray:
    """How far the clients' late steps lead across the model, in its lengths.

    What leads along it makes it longer or shorter, no other. With a step g from w, and
    an average so much `longer` than w, the part along w follows from three lengths.
    """
    step, long, longer = (
        found.curves(arm, where, what) for what in ("step", "length", "longer")
    )
    factor = 1.0 if arm == "FedAvg" else found.curves(arm, where, "gamma")
    g = step / factor
    along = (1 + g**2 - (1 + longer / long) ** 2) / 2
    across = np.sqrt(np.maximum(g**2 - along**2, 0))
    return across[:, -found.last :].mean(axis=1)


def pays(found: Comparison) -> Facts:
    """Whether a learned factor that may not shorten loses much of what it gains.

    Half of it or more, by the means, and among the alike, where the moment of shrinking
    itself changes nothing. A round turns the network farther, late, the shorter it is
    kept.
    """
    rows = [
        Row(MOMENT, found.ends(FIXED, "alike", "at_once"), within=_NOTHING),
        Row(f"{GWS} minus FedAvg", found.gain(GWS, where="alike")),
        Row(f"{NEVER} minus FedAvg", found.gain(NEVER, where="alike")),
        Row(f"{NEVER} minus {GWS}", found.gain(NEVER, GWS, "alike")),
        *(
            Row(f"{a} minus FedAvg, uneven", found.gain(a, where="uneven"), aside=more)
            for a, more in ((GWS, False), (NEVER, True))
        ),
    ]
    gained, left = (float(np.mean(row.values)) for row in rows[1:3])
    sides = [side(row.values) for row in (rows[1], rows[3])] == [1, -1]
    turns = {a: turned(found, a, "alike") for a in _DASHES}
    more = [side(turns[GWS] - turns[NEVER]), side(turns[NEVER] - turns["FedAvg"])]
    holds = rows[0].near and sides and left < gained / 2 and more == [1, 1]
    each = ", ".join(f"{arm} {v.mean():.3f}" for arm, v in turns.items())
    note = "How far a late round turns the network (its step across w, in lengths "
    note += f"of w): {each}."
    return {"rows": rows, "holds": bool(holds), "note": note}


def costs(found: Comparison, again: Comparison) -> Facts:
    """Whether the second job does the learned factor's harm on the seed it harms most.

    `again` has it with other draws of the server's images: there is harm still. A third
    of it or more is gone where the network may not become shorter, and nearly all,
    seven eighths or more, where shares are learned. On all seeds there is no gain.
    """
    alone, at = found.gain(GWS, where="uneven"), worst(found)
    rows = [
        *(
            Row(f"{arm} minus FedAvg", again.gain(arm, where=AGAIN), within=_LITTLE)
            for arm in (GWS, NEVER, "FedLAW")
        ),
        Row(f"{NEVER} minus {GWS}", again.gain(NEVER, GWS, AGAIN)),
    ]
    own = found.gain(NEVER, where="uneven")[at]
    harm, kept, law = (float(np.mean(row.values)) for row in rows[:3])
    sides = [side(row.values) for row in (rows[0], rows[3])] == [-1, 1]
    less = kept > harm * 2 / 3 and law > harm / 8
    return {
        "rows": rows,
        "holds": bool(sides and less and side(alone) < 1),
        "note": f"With its own images: {GWS} {alone[at]:+z.1f}, {NEVER} {own:+z.1f}.",
        "each": "draws of the server's images, one seed",
    }


@styled
def picture(found: Comparison, again: Comparison) -> tuple[Figure, str]:
    """Ahead of FedAvg, and how long: among the alike, and on the worst uneven seed."""
    fig, axes = canvas(520, 440, nrows=2, ncols=2, sharex=True)
    told = []
    both = (("alike", found, "alike"), ("one uneven seed", again, AGAIN))
    for (lead, long), (name, runs, where) in zip(axes, both, strict=True):
        _ahead(lead, runs, where)
        for arm in _DASHES:
            _line(long, runs.curves(arm, where, "length"), arm)
        lead.set_ylabel(f"{name}\n{UNIT}")
        long.set(ylabel="length of w", ylim=(0, None))
        told.append(f"{name}: {_told(runs, where)}")
    for ax in axes[-1]:
        ax.set_xlabel("round")
    handles = axes[0, 1].get_lines()
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
    alt = (
        "Left: points ahead of FedAvg by round, right: the network's length, for a "
        f"learned factor, and for one that may not shorten. {'; '.join(told)}."
    )
    return fig, alt


def _ahead(ax: Axes, runs: Comparison, where: str) -> None:
    for arm in (GWS, NEVER):
        _line(ax, ahead(runs, arm, where), arm)
    ax.axhline(0, color=INK, linestyle=":", linewidth=1.5)


def _line(ax: Axes, values: np.ndarray, arm: str) -> None:
    at = np.arange(1, values.shape[1] + 1)
    style: dict[str, Any] = {"linestyle": _DASHES[arm], "label": arm}
    draw.banded(ax, at, values, color=PALETTE[COLOURS[arm]], **style)
    ax.grid(axis="y")


def _told(runs: Comparison, where: str) -> str:
    gains = (f"{a} {runs.gain(a, where=where).mean():+z.1f}" for a in (GWS, NEVER))
    return f"{', '.join(gains)} points; lengths {_lengths(runs, where)}"


def _lengths(runs: Comparison, where: str) -> str:
    """How long each network is when the last round begins, on average."""
    ends = {a: runs.curves(a, where, "length")[:, -1].mean() for a in _DASHES}
    return ", ".join(f"{arm} {long:.1f}" for arm, long in ends.items())

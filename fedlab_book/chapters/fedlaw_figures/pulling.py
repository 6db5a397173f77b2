"""FedLAW's Figures 5 and 6: do clients pull the same way, and who gets the weight?

The split is a hybrid: the first half of the clients is balanced, the other uneven.
"""

import numpy as np
import pandas as pd

from fedlab_book.bench import Comparison, pm
from fedlab_book.chapters.fedlaw_figures.common import (
    Numbers,
    Picture,
    by_rounds,
    late,
    line_of,
)
from fedlab_book.figures import INK, canvas, look, styled
from fedlab_book.findings import Row
from fedlab_book.shares import shares
from fedlab_core import tree
from fedlab_core.metrics import coherence, critical_round
from fedlab_core.rounds.records import Round

_KINDS = {
    "balanced": ("sky", "s", "--"),
    "all": ("blue", "o", "-"),
    "uneven": ("orange", "D", ":"),
}
_DRAWN = ("FedAvg", "GWS")
_WEIGHED = ("FedAvg", "Attentive", "FedLAW")


def pulls(now: Round) -> dict:
    """Mean cosine within each half and over all, and everyone's share."""
    start = tree.take(now.before, 0)
    c = coherence(now.trained.states, start).cpu().numpy()
    half = len(c) // 2
    parts = {"balanced": slice(0, half), "uneven": slice(half, None)}
    told: dict = {n: of_pairs(c[part, part]) for n, part in parts.items()}
    return told | {"all": of_pairs(c)} | shares(now)


def of_pairs(cosines: np.ndarray) -> float:
    """The mean over all pairs of two different clients."""
    pairs = len(cosines) * (len(cosines) - 1)
    return float((cosines.sum() - np.trace(cosines)) / pairs)


def balanced(found: Comparison, arm: str) -> np.ndarray:
    """Weight of the balanced half, in percent: (seeds, rounds)."""
    held = found.curves(arm, what="shares")
    return 100 * held[..., : held.shape[-1] // 2].sum(axis=-1)


def crossings(found: Comparison, arm: str) -> list[int | None]:
    """The round, from 1, in which all clients' cosine falls below zero, by seed."""
    places = [critical_round(v) for v in found.curves(arm, what="all")]
    return [None if at is None else at + 1 for at in places]


@styled
def figure(found: Comparison) -> Picture:
    """The mean cosine of balanced, uneven and all clients, by round."""
    fig, axes = canvas(640, 330, ncols=2, sharey=True)
    for ax, arm in zip(axes, _DRAWN, strict=True):
        for kind, style in _KINDS.items():
            mean = found.curves(arm, what=kind).mean(0)
            at = range(1, len(mean) + 1)
            ax.plot(at, mean, **line_of(*style, name=kind), markevery=3)
        ax.axhline(0, color=INK, linewidth=1.2)
        ax.set(title=f"{arm}: mean cosine")
        by_rounds(ax, len(mean))
    axes[1].legend(loc="upper right")
    ends = {a: late(found, a, None, "all").mean() for a in _DRAWN}
    alt = (
        "Two panels against rounds, FedAvg and learned shrinking. Mean cosine between "
        "the moves of two clients, for the balanced half, the uneven half and all; all "
        f"clients end at {ends['FedAvg']:+z.2f} under FedAvg and at "
        f"{ends['GWS']:+z.2f} under GWS, mean of {len(found.of('FedAvg'))} seeds."
    )
    return fig, alt, "The critical point is where the line of all clients meets zero."


def facts(found: Comparison) -> dict[str, Row]:
    """The cosine of all clients at the end, over FedAvg's."""
    ends = {a: late(found, a, None, "all") for a in ("FedAvg", "GWS", "FedLAW")}
    return {
        arm: Row(f"cosine, {arm}", ends[arm] - ends["FedAvg"], claim=1)
        for arm in ("GWS", "FedLAW")
    }


def numbers(found: Comparison) -> Numbers:
    """In how many seeds, and when, the cosine of all clients falls below zero."""
    rows = []
    for arm in ("FedAvg", "GWS", "FedLAW"):
        every = crossings(found, arm)
        met = sorted(t for t in every if t is not None)
        row = {"method": arm, "seeds": f"{len(met)} of {len(every)}"}
        row["in rounds"] = ", ".join(map(str, met)) or "none"
        row["cosine at the end"] = pm(late(found, arm, None, "all"), 2)
        rows.append(row)
    turns = found.curves("FedAvg", what="all").shape[1]
    caption = f"In how many seeds, and in which of {turns} rounds, the cosine of all "
    return pd.DataFrame(rows), f"{caption}clients falls below zero."


@styled
def weights(found: Comparison) -> Picture:
    """The weight of the balanced half, by round."""
    fig, ax = canvas(500, 320)
    told = []
    for arm in _WEIGHED:
        mean = balanced(found, arm).mean(0)
        ax.plot(range(1, len(mean) + 1), mean, **look(arm), markevery=3, label=arm)
        told.append(
            f"{arm} {mean[0]:z.0f} in round 1, {mean[1]:z.0f} in round 2, "
            f"{mean[-found.last :].mean():z.0f} at the end"
        )
    ax.set(ylabel="share of the balanced half (%)", ylim=(0, 105))
    by_rounds(ax, len(mean))
    ax.legend(loc="lower right", ncols=3)
    alt = "Share of the balanced half in percent against rounds. " + "; ".join(told)
    caption = "FedAvg weighs by size: its line is what the half holds of the images."
    return fig, alt + f". Mean of {len(found.of('FedAvg'))} seeds.", caption


def weight_facts(found: Comparison) -> dict[str, Row]:
    """Weight of the balanced beyond their data, and whether any arm gains by it."""
    by_size = balanced(found, "FedAvg")
    rows = {}
    for arm in ("Attentive", "FedLAW"):
        more = balanced(found, arm) - by_size
        times = {"1": more[:, 0], "2": more[:, 1]}
        times["end"] = more[:, -found.last :].mean(1)
        for when, values in times.items():
            name = f"round {when}" if when != "end" else "at the end"
            row = Row(f"weight, {arm}, {name}", values, claim=1)
            rows[f"{arm}, {when}"] = row
    for arm in ("GWS", "Attentive", "FedLAW"):
        rows[arm] = Row(f"accuracy, {arm}", found.gain(arm), claim=1)
    return rows

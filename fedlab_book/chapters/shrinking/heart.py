"""What the average knows by heart: the clients' own samples, beside new ones."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from fedlab_book import draw
from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking import temper
from fedlab_book.chapters.shrinking.gains import CAUSES, FIXED, GWS, PLACES, Facts
from fedlab_book.figures import PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core import tree
from fedlab_core.metrics import evaluate
from fedlab_core.rounds.history import Round
from fedlab_core.rounds.worlds import World

_KINDS = {"own": "--", "accuracy": "-"}  # the clients' samples, and new ones
_UNIT, _WORDS = "own images, points", ("more", "fewer")
_ALL = 99.0  # percent of them that "nearly all" asks for


def own(now: Round) -> dict[str, float]:
    """Of a round: how the model that it ends with does on all clients' own samples."""
    world = now.world
    return {"own": right(world, tree.take(now.after, 0), world.x, world.y)}


def seen(now: Round) -> dict[str, float]:
    """The same, the round's two terms, and under a factor what it brings at_once.

    By so many points the model is ahead, on new samples, of the clients' average
    without it.
    """
    world, said = now.world, own(now) | temper.terms(now)
    if "gamma" in now.servers[0].metrics and now.scores is not None:
        rows = {n: now.trained.states[n] for n in world.parameters}
        plain = tree.take(now.after, 0) | tree.weighted_sum(rows, now.weights[0])
        without = right(world, plain, world.x_test, world.y_test)
        said["at_once"] = 100 * (float(now.scores.accuracy[0]) - without)
    return said


def all_seen(now: Round) -> dict[str, float]:
    """Own samples, and of a factor its temperature and the round's two terms."""
    return own(now) | temper.seen(now)


def right(world: World, state: tree.Tree, x: Tensor, y: Tensor) -> float:
    """The part of these samples whose label a model names."""
    row = {n: v[None] for n, v in state.items()}
    return float(evaluate(world.model, row, x, y, len(world.classes)).accuracy)


@styled
def own_and_new(found: Comparison, arms: Mapping[str, str]) -> tuple[Figure, str]:
    """A panel a place: what each arm, in its colour, is right on, by round."""
    fig, axes = canvas(520, 320, ncols=len(PLACES), sharey=True)
    for ax, where in zip(axes, PLACES, strict=True):
        for arm, colour in arms.items():
            for what, dash in _KINDS.items():
                hit = 100 * found.curves(arm, where, what)
                style: dict[str, Any] = {"color": PALETTE[colour], "linestyle": dash}
                style["label"] = arm if dash == "-" else None
                draw.banded(ax, np.arange(1, hit.shape[1] + 1), hit, **style)
        ax.set(title=f"clinics {where}", xlabel="round", ylim=(0, 103))
        ax.grid(axis="y")
    axes[0].set_ylabel("right answers (%)")
    axes[0].legend(loc="lower right")
    alt = (
        "Right answers by round, in percent, on the clients' own images, dashed, and "
        f"on new ones. In the last {found.last} rounds, own and new, "
        f"{levels(found, arms)}."
    )
    return fig, alt


def levels(found: Comparison, arms: Iterable[str]) -> str:
    """In numbers: what each arm is right on in the last rounds, of own and of new."""

    def both(arm: str, where: str) -> str:
        kinds = (100 * found.ends(arm, where, what).mean() for what in _KINDS)
        return "{} {:.0f} and {:.0f} %".format(arm, *kinds)

    return "; ".join(
        f"{where}: {', '.join(both(arm, where) for arm in arms)}" for where in PLACES
    )


def by_heart(found: Comparison) -> Facts:
    """Whether a fixed factor costs own images everywhere, and more where uneven.

    And new ones only there: where clients are alike all that is compared costs own
    ones, and gains new ones, with nearly all own ones right without it; the learned
    factor costs fewer own ones than the fixed one, and gains more new ones.
    """
    lost = {arm: _ahead(found, arm, "alike") for arm in CAUSES}
    uneven = _ahead(found, FIXED, "uneven")
    rows = [
        Row(f"{arm}, alike", values, words=_WORDS, aside=True)
        for arm, values in lost.items()
    ]
    rows.append(Row(f"{FIXED}, uneven", uneven, words=_WORDS, aside=True))
    apart = uneven - lost[FIXED]
    rows.append(Row("uneven minus alike", apart, words=_WORDS, aside=True))
    fewer = all(side(row.values) == -1 for row in rows)
    less = lost[GWS] - lost[FIXED]
    rows.append(Row(f"GWS minus {FIXED}, alike", less, words=_WORDS, aside=True))
    more = all(side(found.gain(arm, where="alike")) == 1 for arm in CAUSES)
    new = more and side(found.gain(FIXED, where="uneven")) == -1
    knows = 100 * found.ends("FedAvg", "alike", "own").mean() >= _ALL
    better = side(less) == 1 and side(found.gain(GWS, FIXED, "alike")) == 1
    holds = fewer and new and knows and better
    return {"rows": rows, "holds": bool(holds), "unit": _UNIT}


def _ahead(found: Comparison, arm: str, where: str) -> np.ndarray:
    both = (found.ends(name, where, "own") for name in (arm, "FedAvg"))
    return 100 * np.subtract(*both)

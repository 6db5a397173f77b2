"""Ten clinics' first walks as arrows: how they turn away from their average.

An arrow has its true angle to the average's; which side it is drawn on has no meaning.
Lengths are in those of a mean walk of the same picture.
"""

import numpy as np
from matplotlib.axes import Axes

from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.averaging.pace import ALIKE, UNEVEN, more, named
from fedlab_book.figures import INK, PALETTE
from fedlab_book.panels import Panel
from fedlab_core import tree
from fedlab_core.rounds.records import Round

SHOWN = ((ALIKE, 100), (UNEVEN, 100), (UNEVEN, 5))


def ways(now: Round) -> dict[str, list[float] | float]:
    """Part of a mean walk that the average goes; in round 1 also each walk, and more.

    A walk goes along the average's and across it. `chance` is the length that unrelated
    walks of length one would leave, `far` how far a mean walk led.
    """
    moved = {n: now.trained.states[n] - v for n, v in now.before.items()}
    each, shares = tree.flatten(moved, True).double(), now.weights[0].double()
    average, unit = shares @ each, each.norm(dim=1).mean()
    left = float(average.norm() / unit)
    if now.number > 1:
        return {"left": left}
    along = each @ average / average.norm()
    across = (each.norm(dim=1) ** 2 - along**2).clamp(min=0).sqrt()
    return {
        "along": (along / unit).tolist(),
        "across": (across / unit).tolist(),
        "left": left,
        "chance": float(shares.norm()),
        "far": float(unit),
    }


def left(found: Comparison, where: str, steps: int, what: str = "left") -> float:
    """Percent of a walk's length that is left in the average, mean over seeds."""
    return 100 * float(found.curves(named(steps), where, what)[:, 0].mean())


def most_where_least(found: Comparison) -> bool:
    """Whether short walks cancel most, and those of the alike least."""
    alike, long, short = (
        found.curves(named(steps), where, "left")[:, 0] for where, steps in SHOWN
    )
    return side(long - alike) == side(short - long) == -1


def longer(found: Comparison) -> float:
    """How many times as far long walks of the uneven lead as short ones, on average."""
    long, short = (found.curves(named(s), w, "far") for w, s in SHOWN[1:])
    return float((long / short).mean())


def later_too(found: Comparison) -> bool:
    """Whether the last long walks of the alike cancel more than the first, for free."""
    each = found.curves(named(100), ALIKE, "left")
    free = side(more(found, 100, 5, ALIKE)) > -1
    return free and side(each[:, -1] - each[:, 0]) == -1


def later(found: Comparison) -> str:
    """Part of their last long walk that the alike leave, in a sentence."""
    last = found.curves(named(100), ALIKE, "left")[:, -1]
    return f"In their fourth walk the alike leave {pm(100 * last, 0, '')} %, too."


def fans(found: Comparison) -> list[Panel]:
    """Arrows of the first seed's clinics, a panel for each of `SHOWN`."""
    return [_fan(found, where, steps) for where, steps in SHOWN]


def _fan(found: Comparison, where: str, steps: int) -> Panel:
    along, across = (
        found.curves(named(steps), where, what)[0, 0] for what in ("along", "across")
    )
    far = found.curves(named(steps), where, "left")[0, 0]
    chance = found.curves(named(steps), where, "chance")[0, 0]
    percent = left(found, where, steps)

    def draw(ax: Axes) -> None:
        up = across * np.where(np.arange(len(across)) % 2, -1, 1)
        look = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
        for x, y in zip(along, up, strict=True):
            thin = {**look, "color": INK, "alpha": 0.5}
            ax.annotate("", (x, y), (0, 0), arrowprops=thin)
        ax.axvline(chance, color=INK, linestyle=":", linewidth=1.5)
        thick = {**look, "color": PALETTE["blue"], "lw": 4}
        ax.annotate("", (far, 0), (0, 0), arrowprops=thick)
        ax.set(xlim=(-0.3, 1.2), ylim=(-1.6, 1.6), xticks=[], yticks=[])
        ax.set(title=f"{where},\n{steps} steps", xlabel=f"left: {percent:.0f} %")
        ax.set_aspect("equal")
        ax.spines[:].set_visible(False)

    said = (
        f"{where}, {steps} steps: on average {percent:.0f} percent of a walk is left."
    )
    return Panel(draw, said, high=330)

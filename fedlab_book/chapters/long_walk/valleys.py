"""Two valleys, two walkers, and the average: where the server comes to rest.

    frames(valley, Axis("τ", TAUS), Axis("η", ETAS), Axis("weight", WEIGHTS))

Both hold equally many letters. The first valley is steep, the second flat; the common
valley is their mean.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.figures import INK, PALETTE, canvas

BENDS, LOWEST = np.array([1.0, 0.2]), np.array([0.0, 1.0])  # steep, flat
TIMES = float(BENDS[0] / BENDS[1])  # as steep
TAUS, ETAS = [1, 2, 5, 20, 100], [0.05, 0.2]
WEIGHTS = [0.1, 0.2, 0.3, 0.4, 0.5]
FLOOR = float((BENDS * LOWEST).sum() / BENDS.sum())
_LINE = np.linspace(0, 1, 201)  # weights of the flat one
_COLOURS = (PALETTE["blue"], PALETTE["orange"])
GUESSES = {
    "Nearer to one half": "Twenty small steps are a shorter walk than twenty large "
    "ones. Turn η to .05 and look.",
    "Where it was": "The number of steps is the same, but not how far they lead.",
    "Farther from one half": "Longer walks lead it there. These are shorter.",
}


def parts(tau: int, eta: float) -> np.ndarray:
    """The part of the way to its own lowest point that each clinic goes in a round."""
    return 1 - (1 - eta * BENDS) ** tau


def rest(weight: np.ndarray | float, tau: int, eta: float) -> np.ndarray:
    """Place at which the average stays, by the flat one's weight: the ways cancel."""
    a, b = parts(tau, eta)
    at = np.asarray(weight) * b
    return at / (at + (1 - np.asarray(weight)) * a)  # lowest at 0 and at 1


def best(tau: int, eta: float) -> float:
    """The flat one's weight with which the average comes to rest on the floor."""
    pull = BENDS / parts(tau, eta)
    return float(pull[1] / pull.sum())


def right() -> str:
    """Answer to where the best weight goes when twenty steps are made smaller."""
    nearer, same, farther = GUESSES
    small, large = (abs(best(20, eta) - 0.5) for eta in (0.05, 0.2))
    return same if np.isclose(small, large) else nearer if small < large else farther


def valley(tau: int, eta: float, weight: float) -> tuple[Figure, str]:
    """The valleys with a round at rest, and how far off it rests by a weight."""
    fig, (left, right) = canvas(520, 290, ncols=2, width_ratios=(1.5, 1))
    at, star = float(rest(weight, tau, eta)), best(tau, eta)
    _walks(left, at, tau, eta)
    right.plot(_LINE, np.abs(rest(_LINE, tau, eta) - FLOOR), color=INK)
    right.plot(weight, abs(at - FLOOR), "o", color=INK, markersize=9)
    mark = {"color": PALETTE["green"], "mec": INK, "markersize": 17}
    right.plot(star, 0, "*", clip_on=False, zorder=5, **mark)
    right.axvline(0.5, color=INK, linestyle=":", linewidth=1)
    right.set(xlim=(0, 0.7), ylim=(-0.01, 0.5), xticks=(0, 0.5), yticks=(0, 0.4))
    right.set(xlabel="weight of the flat one", ylabel="rests off the floor by")
    right.set_title(f"best weight: {star:.2f}")
    return fig, (
        f"Two valleys, one steep, one flat, and their mean, lowest at {FLOOR:.2f}. "
        f"With {tau} steps of {eta:g} and weight {weight:g} for the flat one the "
        f"average rests at {at:.2f}. The weight that leads to the floor is {star:.2f}."
    )


def _walks(ax: Axes, at: float, tau: int, eta: float) -> None:
    """Draw three valleys, and the walks of a round that ends where it began."""
    x = np.linspace(-0.2, 1.2, 57)
    losses = BENDS[:, None] / 2 * (x - LOWEST[:, None]) ** 2
    common = losses.mean(0)
    ax.plot(x, common, color=INK, linewidth=2.5)
    for k, far in enumerate(parts(tau, eta)):
        ax.plot(x, losses[k], color=_COLOURS[k], linewidth=1.5)
        way = at + np.array([0, far / 3, 2 * far / 3, far]) * (LOWEST[k] - at)
        walked = BENDS[k] / 2 * (way - LOWEST[k]) ** 2
        ax.plot(way, walked, color=_COLOURS[k], linewidth=6, alpha=0.5)
        ax.plot(way[-1], walked[-1], "o", color=_COLOURS[k], markersize=9)
    for name, colour, place in zip(
        ("steep", "flat"), _COLOURS, ((0.6, 0.22), (1.19, 0.02)), strict=True
    ):
        ax.text(*place, name, color=colour, fontweight="bold", ha="right")
    ax.axvline(FLOOR, color=PALETTE["green"], linestyle="--", linewidth=1.5)
    ax.plot(at, np.interp(at, x, common), "o", color=INK, markersize=11)
    ax.set(xlim=(-0.2, 1.2), ylim=(-0.015, 0.28), xticks=(0, 0.5, 1), yticks=())
    ax.set(xlabel="model w (one number)", ylabel="loss")
    ax.set_title(f"rests at {at:.2f}; floor {FLOOR:.2f}")

"""The learned factor beside a temperature, and beside a round's step."""

import numpy as np
from matplotlib.figure import Figure

from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import PLACES, Facts, Printed
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row

CAPTION = (  # of what `learned` draws
    "Orange: about as far as ten steps reach. Right: all rounds; β is the one factor "
    "of all outputs that gives the least loss on the server's images."
)
_LOOKS = (("blue", "o", "-"), ("magenta", "D", "--"))


@styled
def learned(
    found: Comparison, arm: str, layers: int, most: float
) -> tuple[Figure, str]:
    """The learned factor by round; and against the root of the best temperature.

    `most` is the largest factor that a round's steps can reach.
    """
    fig, (left, right) = canvas(520, 330, ncols=2)
    told, low, high = [], np.inf, -np.inf
    for where, (colour, mark, dash) in zip(PLACES, _LOOKS, strict=True):
        gamma, root = _pair(found, arm, where, layers)
        rounds = np.arange(1, gamma.shape[1] + 1)
        style = {"linestyle": dash, "marker": mark, "markevery": 4, "label": where}
        thin = {"color": PALETTE[colour], "linestyle": dash, "linewidth": 0.8}
        left.plot(rounds, gamma.T, alpha=0.5, **thin)
        left.plot(rounds, gamma.mean(axis=0), color=PALETTE[colour], **style)
        spots = {"s": 16, "alpha": 0.7, "color": PALETTE[colour], "marker": mark}
        right.scatter(root, gamma, **spots, label=where)
        low, high = (
            min(low, gamma.min(), root.min()),
            max(high, gamma.max(), root.max()),
        )
        told.append(
            f"{where}: {gamma[:, 0].mean():.2f} in round 1, "
            f"{found.ends(arm, where, 'gamma').mean():.3f} at the end"
        )
    for ax in (left, right):
        ax.axhline(most, color=PALETTE["orange"], linestyle="--", linewidth=1.5)
    left.axhline(1, color=INK, linestyle=":", linewidth=1.5)
    left.set(title="learned factor γ", xlabel="round")
    right.plot([low, high], [low, high], color=INK, linestyle=":", linewidth=1.5)
    right.set(title="γ beside the best β", xlabel=f"β to the power of 1/{layers}")
    right.set_aspect("equal")
    left.legend(loc="upper right", bbox_to_anchor=(1.04, 0.92))
    for ax in (left, right):
        ax.grid(axis="y")
    off = apart(found, arm, layers)
    alt = (
        f"Left: the factor that {arm} learns against the round; ten steps as long as "
        f"their rate reach {most:.2f}. {'; '.join(told)}. "
        "Right: one point a round and seed, the learned factor against root "
        f"{layers} of the best factor for the outputs; mean distance from the diagonal "
        f"{off:.3f}."
    )
    return fig, alt


def apart(found: Comparison, arm: str, layers: int) -> float:
    """How far the learned factor is from the temperature's, on average."""
    pairs = [_pair(found, arm, where, layers) for where in PLACES]
    return float(np.mean([np.abs(gamma - root).mean() for gamma, root in pairs]))


def closer_to_one(
    found: Comparison, quick: Comparison, arm: str, paper: Printed, ratio: Printed
) -> Facts:
    """Whether the factor begins above one and ends below, nearer in two settings.

    That is where clients are uneven, and with one epoch in a round, as in `quick`, on
    as many of the first seeds. The shorter the averaged step of the three, the nearer
    to one is the factor, on average. A step ends about as long as the shrinking in all
    of them, and the paper's, on average, more than ten times as long. `paper` has
    numbers by the rows' names, and `ratio` that of step and shrinking.
    """
    gamma = {w: found.curves(arm, w, "gamma") for w in PLACES}
    end = {w: found.ends(arm, w, "gamma") for w in PLACES}
    brief = quick.ends(arm, "alike", "gamma")
    seen = {f"{w}, in round 1": v[:, 0] - 1 for w, v in gamma.items()}
    seen |= {f"{w}, at the end": v - 1 for w, v in end.items()}
    seen["alike, one epoch"] = brief - 1
    seen["uneven minus alike"] = end["uneven"] - end["alike"]
    seen["one epoch minus five, alike"] = brief - end["alike"][: len(brief)]
    words = ("above", "below")
    rows = [
        Row(n, v, paper.get(n), words=words, aside="round 1" in n or "minus" in n)
        for n, v in seen.items()
    ]
    # All ends lie below one, so a difference says which is nearer to it.
    nearer = [side(row.values) for row in rows] == [1, 1, -1, -1, -1, 1, 1]
    step, r = dict[str, np.ndarray](), dict[str, float]()
    for where, runs in (*((w, found) for w in PLACES), ("one epoch", quick)):
        at = where if where in PLACES else "alike"
        each = runs.curves(arm, at, "step") * runs.curves(arm, at, "length")
        step[where] = each[:, -runs.last :].mean(axis=1)
        long, pull = (runs.ends(arm, at, what) for what in ("step", "pull"))
        r[where] = float((long / pull).mean())
    told = ", ".join(f"{pm(v, 2, '')} ({w})" for w, v in step.items())
    means = [float(v.mean()) for v in step.values()]
    ends = [float(v.mean()) for v in (*end.values(), brief)]
    falls = means == sorted(means, reverse=True) and ends == sorted(ends)
    alike = all(1 / _FEW < v < _FEW for v in r.values())
    level = alike and ratio["r"][0] > 10 * max(r.values())
    steady = ", ".join(f"{v:.1f} ({w})" for w, v in r.items())
    return {
        "rows": rows,
        "holds": nearer and level and falls,
        "note": f"At the end, length of the averaged step: {told}; balance r: "
        f"{steady}; the paper's mean: {ratio['r'][0]:g}.",
        "unit": "γ minus one, differences",
        "digits": 3,
    }


_FEW = 2  # times as long


def _pair(found: Comparison, arm: str, where: str, layers: int) -> list[np.ndarray]:
    """(seeds, rounds) of the factor, and of the temperature's root."""
    gamma, temper = (found.curves(arm, where, what) for what in ("gamma", "temper"))
    return [gamma, temper ** (1 / layers)]

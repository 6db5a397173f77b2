"""The learned factor beside a temperature, and beside a round's step."""

import numpy as np
import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import PLACES, Facts, Printed
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core import tree
from fedlab_core.metrics import logits, shrinking
from fedlab_core.rounds.history import Round

_GRID = torch.exp(torch.linspace(float(np.log(0.3)), float(np.log(4.5)), 136))
CAPTION = (  # of what `learned` draws
    "Left: a thin line a seed; the black one comes back below. Orange: about as far as "
    "ten steps reach. Right: all rounds; β is the factor for the outputs with the "
    "least loss on the server's images."
)
_LOOKS = (("blue", "o", "-"), ("magenta", "D", "--"))


def temperature(now: Round) -> dict[str, float]:
    """Of a round: by what the average's outputs are multiplied for the least loss.

    The loss is the proxy set's, the parameters stay as they are.
    """
    world, said = now.world, now.servers[0].metrics
    if "gamma" not in said or world.proxy is None:
        return {"temper": float("nan")}
    gamma, state = said["gamma"], tree.take(now.after, 0)
    mean = {n: v / gamma if n in world.parameters else v for n, v in state.items()}
    x, y = world.proxy
    at = _GRID.to(x)
    with torch.no_grad():
        out = at[:, None, None] * logits(world.model, mean, x)
        truth = y.expand(len(at), -1).flatten()
        loss = F.cross_entropy(out.flatten(0, 1), truth, reduction="none")
    return {"temper": float(at[loss.view(len(at), -1).mean(dim=1).argmin()])}


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
    low_one = gamma[gamma[:, -1].argmin()]  # of the uneven, which come last
    left.plot(rounds, low_one, color=INK, linewidth=2, label="one uneven seed")
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


@styled
def balance(found: Comparison, quick: Comparison, theirs: float) -> tuple[Figure, str]:
    """The ratio of a round's step and shrinking under GWS, and the paper's mean."""
    fig, ax = canvas(520, 240)
    told = []
    runs = [(w, found, w, 5) for w in PLACES] + [("one epoch", quick, "alike", 1)]
    looks = (*_LOOKS, ("orange", "s", ":"))
    for (name, held, where, epochs), (colour, mark, dash) in zip(
        runs, looks, strict=True
    ):
        step, pull = (
            held.curves("GWS", where, w).mean(axis=0) for w in ("step", "pull")
        )
        at, r = epochs * np.arange(1, len(step) + 1), step / pull
        style = {"linestyle": dash, "marker": mark, "markevery": max(1, len(r) // 5)}
        ax.plot(at, r, color=PALETTE[colour], label=name, **style)
        told.append(f"{name} {r[-1]:.1f}")
    ax.axhline(theirs, color=INK, linestyle="--", linewidth=1.5, label="paper, mean")
    ax.set(xlabel="epochs so far", ylabel="balance r", yscale="log")
    ax.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.minorticks_off()
    ax.grid(axis="y")
    fig.legend(loc="outside right center")
    alt = (
        "Length of the averaged step over that of the shrinking, by epoch, for a "
        f"learned factor. At the end: {', '.join(told)}; the paper's mean: {theirs:g}."
    )
    return fig, alt


def apart(found: Comparison, arm: str, layers: int) -> float:
    """How far the learned factor is from the temperature's, on average."""
    pairs = [_pair(found, arm, where, layers) for where in PLACES]
    return float(np.mean([np.abs(gamma - root).mean() for gamma, root in pairs]))


def closer_to_one(
    found: Comparison, quick: Comparison, arm: str, paper: Printed, ratio: Printed
) -> Facts:
    """Whether the factor begins above one and ends below, nearer where steps are short.

    They are shorter where clients are uneven, and with one epoch in a round, as in
    `quick`, on as many of the first seeds. It ends about as long as the shrinking in
    all settings, and the paper's, on average, ten times farther above it. `paper` has
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
    few = step["one epoch"] - step["alike"][: len(brief)]
    shorter = side(step["uneven"] - step["alike"]) == side(few) == -1
    told = ", ".join(f"{v.mean():.2f} ({w})" for w, v in step.items())
    alike = all(1 / _FEW < v < _FEW for v in r.values())
    level = alike and ratio["r"][0] > 10 * max(r.values())
    return {
        "rows": rows,
        "holds": nearer and shorter and level,
        "note": f"Length of the averaged step at the end: {told}. The paper's factors "
        "are those of rounds 90 to 110 of 200.",
        "unit": "γ minus one, differences",
        "digits": 3,
    }


_FEW = 2  # times as long


def seen(now: Round) -> dict[str, float]:
    """Of a round: the lengths of its two terms, and a temperature (see there)."""
    return terms(now) | temperature(now)


def terms(now: Round) -> dict[str, float]:
    """Of a round: the lengths of its step and of its shrinking.

    step and pull, in lengths of the parameters that the round began with, which is
    `length`; and by how much the clients made them longer, before any shrinking.
    """
    world = now.world
    start = {n: now.before[n][0] for n in world.parameters}
    rows = {n: now.trained.states[n] for n in start}
    gamma = float(now.servers[0].metrics.get("gamma", 1.0))
    both = shrinking(rows, start, now.weights[0], gamma)
    mean = tree.flatten(tree.weighted_sum(rows, now.weights[0]))
    w = tree.flatten(start)
    whole = float(w.norm())
    return {
        "step": both.step / whole,
        "longer": float(mean.norm()) - whole,
        "pull": both.shrink / whole,
        "length": whole,
    }


def _pair(found: Comparison, arm: str, where: str, layers: int) -> list[np.ndarray]:
    """(seeds, rounds) of the factor, and of the temperature's root."""
    gamma, temper = (found.curves(arm, where, what) for what in ("gamma", "temper"))
    return [gamma, temper ** (1 / layers)]

"""The learned factor beside a temperature: how sure the averaged network should be."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional as F

from fedlab_book import draw
from fedlab_book.bench import Comparison, pm, side
from fedlab_book.chapters.shrinking.gains import Facts
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core import tree
from fedlab_core.metrics import logits
from fedlab_core.rounds.history import Round

_GRID = torch.exp(torch.linspace(float(np.log(0.3)), float(np.log(4.5)), 136))
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
    found: Comparison, arm: str, places: Sequence[str], layers: int, most: float
) -> tuple[Figure, str]:
    """The learned factor by round; and against the root of the best temperature.

    `most` is the largest factor that a round's steps can reach.
    """
    fig, (left, right) = canvas(520, 330, ncols=2)
    told, low, high = [], np.inf, -np.inf
    for where, (colour, mark, dash) in zip(places, _LOOKS, strict=True):
        gamma, root = _pair(found, arm, where, layers)
        rounds = np.arange(1, gamma.shape[1] + 1)
        style = {"linestyle": dash, "marker": mark, "markevery": 4, "label": where}
        draw.banded(left, rounds, gamma, color=PALETTE[colour], **style)
        spots = {"s": 16, "alpha": 0.7, "color": PALETTE[colour], "marker": mark}
        right.scatter(root, gamma, **spots, label=where)
        low, high = (
            min(low, gamma.min(), root.min()),
            max(high, gamma.max(), root.max()),
        )
        told.append(
            f"{where}: {gamma[:, 0].mean():.2f} in round 1, "
            f"{gamma[:, -found.last :].mean():.3f} at the end"
        )
    for ax in (left, right):
        ax.axhline(most, color=PALETTE["orange"], linestyle="--", linewidth=1.5)
    left.axhline(1, color=INK, linestyle=":", linewidth=1.5)
    left.set(title="learned factor γ", xlabel="round")
    left.legend(loc="upper right", bbox_to_anchor=(1, 0.9))
    right.legend(loc="lower right")
    right.plot([low, high], [low, high], color=INK, linestyle=":", linewidth=1.5)
    right.set(title="γ by temperature", xlabel=f"s to the power of 1/{layers}")
    right.set_aspect("equal")
    for ax in (left, right):
        ax.grid(axis="y")
    off = apart(found, arm, places, layers)
    alt = (
        f"Left: the factor that {arm} learns against the round; a round's steps reach "
        f"{most:.2f} at most. {'; '.join(told)}. "
        "Right: one point a round and seed, the learned factor against root "
        f"{layers} of the best factor for the outputs; mean distance from the diagonal "
        f"{off:.3f}."
    )
    return fig, alt


def apart(found: Comparison, arm: str, places: Sequence[str], layers: int) -> float:
    """How far the learned factor is from the temperature's, on average."""
    pairs = [_pair(found, arm, where, layers) for where in places]
    return float(np.mean([np.abs(gamma - root).mean() for gamma, root in pairs]))


def closer_to_one(found: Comparison, arm: str, decayed: str) -> Facts:
    """Whether the factor begins above one and ends below it, nearer where uneven.

    And nearer where the clients decay as well; and whether the step is shorter where
    they are uneven, with the factor and not without.
    """
    gamma = {w: found.curves(arm, w, "gamma") for w in ("alike", "uneven")}
    end = {w: v[:, -found.last :].mean(axis=1) for w, v in gamma.items()}
    both = found.curves(decayed, "alike", "gamma")[:, -found.last :].mean(axis=1)
    words = ("above", "below")
    rows = [Row(f"{w}, in round 1", v[:, 0] - 1) for w, v in gamma.items()]
    rows += [Row(f"{w}, at the end", v - 1) for w, v in end.items()]
    rows.append(Row("uneven minus alike, at the end", end["uneven"] - end["alike"]))
    rows.append(Row("alike, with decay minus without", both - end["alike"]))
    rows = [replace(row, words=words) for row in rows]
    # Both ends lie below one, so the difference says which is nearer to it.
    nearer = [side(row.values) for row in rows] == [1, 1, -1, -1, 1, 1]
    apart = [side(step_apart(found, a)) for a in (arm, "FedAvg")] == [-1, 1]
    holds = nearer and apart and both.mean() < 1
    return {"rows": rows, "holds": holds, "unit": "γ minus one", "digits": 3}


def seen(now: Round) -> dict[str, float]:
    """Of a round: its step, what its average has learned, and a temperature.

    moved: the step of the clients' average times the factor, in lengths of the
    parameters that the round began with. fit and fitted: the loss and the accuracy, on
    all clients' own samples, of the model that the round ends with. at_once: the points
    by which this is ahead of the clients' plain average. temper: see `temperature`.
    """
    world, names = now.world, now.world.parameters
    start = tree.flatten({n: now.before[n][0] for n in names})
    rows = {n: now.trained.states[n] for n in names}
    mean, after = tree.weighted_sum(rows, now.weights[0]), tree.take(now.after, 0)
    step = float((tree.flatten(mean) - start).norm() / start.norm())
    with torch.no_grad():
        out = logits(world.model, after, world.x)
        tests = (logits(world.model, s, world.x_test) for s in (after, after | mean))
        then, first = (accuracy(said, world.y_test) for said in tests)
    return {
        "moved": float(now.servers[0].metrics.get("gamma", 1.0)) * step,
        "fit": float(F.cross_entropy(out, world.y)),
        "fitted": accuracy(out, world.y),
        "at_once": 100 * (then - first),
        **temperature(now),
    }


def accuracy(out: Tensor, y: Tensor) -> float:
    """The part of these labels that the largest outputs name."""
    return float((out.argmax(1) == y).float().mean())


def step_apart(found: Comparison, arm: str) -> np.ndarray:
    """By how much an arm's step is longer where clinics are uneven, in percent of w."""
    step = {w: found.curves(arm, w, "moved") for w in ("alike", "uneven")}
    ends = {w: v[:, -found.last :].mean(axis=1) for w, v in step.items()}
    return 100 * (ends["uneven"] - ends["alike"])


def steps(found: Comparison, arms: Mapping[str, str]) -> str:
    """In numbers: each arm's step in both places, by the arm's name in words."""
    told = []
    for arm, name in arms.items():
        step = {w: found.curves(arm, w, "moved") for w in ("alike", "uneven")}
        ends = (100 * v[:, -found.last :].mean() for v in step.values())
        each = ", ".join(f"{v:.1f} % ({w})" for v, w in zip(ends, step, strict=True))
        told.append(f"{name} {each}, difference {pm(step_apart(found, arm))}")
    return "; ".join(told)


def _pair(found: Comparison, arm: str, where: str, layers: int) -> list[np.ndarray]:
    """(seeds, rounds) of the factor, and of the temperature's root."""
    gamma, temper = (found.curves(arm, where, what) for what in ("gamma", "temper"))
    return [gamma, temper ** (1 / layers)]

"""A server's search: how one round learns its factor and its shares, step by step.

A path is what the chapter's own lines return: of each step the loss, the factor and
the shares, as they were before it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from fedlab_book.bench import pm, side
from fedlab_book.chapters.shrinking.heart import right
from fedlab_book.figures import INK, PALETTE, canvas, look, mosaic, styled
from fedlab_book.findings import Row
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, weighted_sum

Path = Sequence[tuple[float, float, np.ndarray]]


@styled
def one_round(path: Path) -> tuple[Figure, str]:
    """The shares before and after, the factor, and the loss that both bring down."""
    losses, factors, shares = (np.array(part) for part in zip(*path, strict=True))
    fig, axes = mosaic(520, 420, "AA;BC")
    bars, factor, loss = (axes[place] for place in "ABC")
    at, green = np.arange(shares.shape[1]), look("FedLAW")["color"]
    bars.bar(at - 0.2, 100 * shares[0], 0.4, color=look("FedAvg")["color"])
    bars.bar(at + 0.2, 100 * shares[-1], 0.4, color=green, hatch="//", edgecolor=INK)
    bars.set_xticks(at, [str(k) for k in at])
    bars.set(title="shares λ (%)", xlabel="clinic; hatched: learned")
    factor.plot(factors, color=green, marker="^")
    factor.axhline(1, color=INK, linestyle=":", linewidth=1.5)
    factor.set(title="factor γ", xlabel="step of the server")
    loss.plot(losses, color=green, marker="^")
    loss.set(title="the server's loss", xlabel="step of the server")
    for ax in (factor, loss):
        ax.set_xticks(range(0, len(path), 5))
        ax.grid(axis="y")
    most = int(np.argmax(np.abs(shares[-1] - shares[0])))
    alt = (
        f"One round's search in {len(path) - 1} steps: the server's loss goes from "
        f"{losses[0]:.2f} to {losses[-1]:.2f}, gamma from {factors[0]:.2f} to "
        f"{factors[-1]:.2f}; clinic {most}'s share changes most, from "
        f"{100 * shares[0, most]:.0f} to {100 * shares[-1, most]:.0f} percent."
    )
    return fig, alt


def reach(rate: float, steps: int, halve: int) -> float:
    """How far a search by full steps alone moves the logarithm of what it learns.

    A full step of Adam is its rate; only where a slope suddenly grows is one longer.
    """
    return sum(rate * 0.5 ** (step // halve) for step in range(steps))


def least_share(far: float) -> float:
    """What a wrong half has left, in percent, once all its log-shares fell so `far`.

    The others' rose by as much.
    """
    return 100 / (1 + float(np.exp(2 * far)))


def accuracy(world: World, models: Tree, path: Path) -> float:
    """On all test images, in percent: the average with what a path ends with."""
    _, gamma, shares = path[-1]
    state = weighted_sum(models, gamma * torch.as_tensor(shares, dtype=torch.float32))
    return 100 * right(world, state, world.x_test, world.y_test)


def held_by(path: Path, who: np.ndarray) -> np.ndarray:
    """The share, in percent, that these clients have together, step by step."""
    return 100 * np.array([float(shares[who].sum()) for _, _, shares in path])


@styled
def long_searches(
    paths: Mapping[str, Sequence[Path]], wrong: Sequence[np.ndarray], limit: float
) -> tuple[Figure, str]:
    """What the wrong half keeps, step by step, mean over seeds.

    Args:
        paths: of each way to search, a path a seed.
        wrong: who is wrong, a row a seed.
        limit: the least share of the first way, in percent.
    """
    fig, ax = canvas(520, 300)
    told, last = [], max(len(p) for each in paths.values() for p in each) - 1
    for (way, each), (colour, dash) in zip(paths.items(), _WAYS, strict=True):
        held = np.array([held_by(p, w) for p, w in zip(each, wrong, strict=True)])
        style = {"color": PALETTE[colour], "linestyle": dash}
        # Steps are counted from one: on such an axis there is no zero.
        ax.plot(np.arange(1, held.shape[1] + 1), held.mean(axis=0), **style, label=way)
        told.append(f"{way}: {held[:, -1].mean():.1f}")
    colour = PALETTE[_WAYS[0][0]]
    ax.axhline(limit, color=colour, linestyle=":", lw=1.2)
    style = {"color": colour, "ha": "right", "va": "bottom"}
    ax.text(last, limit + 0.7, "ten full steps", **style)
    ax.set(xlabel="networks that were tried", ylabel="share of the wrong half (%)")
    ax.set_xscale("log")
    ax.set_xticks([1, 10, 100, last], ["1", "10", "100", str(last)])
    ax.minorticks_off()
    ax.set_ylim(0, 55)
    ax.grid(axis="y")
    ax.legend(loc="upper right")
    alt = (
        f"Share of the wrong half, in percent, in up to {last} steps of one round's "
        f"search, mean over seeds. At the end, {'; '.join(told)}. Ten steps of their "
        f"full length would leave {limit:.1f}."
    )
    return fig, alt


_NEAR = 5.0  # points of a share that "near" allows
_WAYS = (("blue", "-"), ("orange", "--"))


def after_search(path: Sequence[Path], wrong: Sequence[np.ndarray]) -> str:
    """In numbers: what the wrong half keeps at the end, and what the others get."""
    last = [np.asarray(p[-1][2]) for p in path]
    kept = [100 * s[w].sum() for s, w in zip(last, wrong, strict=True)]
    honest = 100 * np.concatenate([s[~w] for s, w in zip(last, wrong, strict=True)])
    return (
        f"the wrong half keeps {pm(kept, sign='')} %, and single clinics with right "
        f"labels between {honest.min():.0f} and {honest.max():.0f} %"
    )


def by_way(seeds: Sequence[Mapping[str, tuple[Path, float]]]) -> tuple[dict, dict]:
    """The paths, and what they end right about, of each way to search: one a seed."""
    paths = {way: [one[way][0] for one in seeds] for way in seeds[0]}
    right = {way: [one[way][1] for one in seeds] for way in seeds[0]}
    return paths, right


def stopped_short(
    paths: Mapping[str, Sequence[Path]],
    wrong: Sequence[np.ndarray],
    full: float,
    right: Mapping[str, Sequence[float]],
    many: Mapping[str, Any],
) -> dict[str, Any]:
    """Whether ten steps leave more than `full` ones, and many steps far less.

    And whether their average is then `right` about more test images. `many` are the
    steps, rates and halving of the long search.
    """
    least = least_share(reach(many["rates"][1], many["steps"], many["halve"]))
    last = list(paths.values())[-1]
    note = (
        f"After {many['steps']} steps (full ones: {least:.1f} %) "
        f"{after_search(last, wrong)}."
    )
    ten, kept = (
        np.array([held_by(p, w)[-1] for p, w in zip(each, wrong, strict=True)])
        for each in paths.values()
    )
    short, long = (np.array(each) for each in right.values())
    words = ("more", "less")
    rows = [
        Row("ten steps minus ten full ones", ten - full, words=words, aside=True),
        Row("their share: 800 steps minus ten", kept - ten, words=words),
        Row("accuracy: 800 steps minus ten", long - short),
    ]
    near, far = np.mean(ten - full) < _NEAR, kept.mean() < _NEAR
    holds = near and far and [side(row.values) for row in rows] == [1, -1, 1]
    return {"rows": rows, "holds": bool(holds), "note": note}

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
from fedlab_book.chapters.shrinking.seen import right
from fedlab_book.figures import INK, PALETTE, canvas, look, mosaic, styled
from fedlab_book.findings import Row
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, weighted_sum

Path = Sequence[tuple[float, float, np.ndarray]]


@styled
def one_round(path: Path, alone: Path) -> tuple[Figure, str]:
    """The shares before and after, the factor, and the loss that both bring down.

    Beside them the factor and the loss of `alone`, where shares stay as they were.
    """
    losses, factors, shares = (np.array(part) for part in zip(*path, strict=True))
    rises, single, _ = (np.array(part) for part in zip(*alone, strict=True))
    fig, axes = mosaic(520, 420, "AA;BC")
    bars, factor, loss = (axes[place] for place in "ABC")
    at, green = np.arange(shares.shape[1]), look("FedLAW")["color"]
    bars.bar(at - 0.2, 100 * shares[0], 0.4, color=look("FedAvg")["color"])
    bars.bar(at + 0.2, 100 * shares[-1], 0.4, color=green, hatch="//", edgecolor=INK)
    bars.set_xticks(at, [str(k) for k in at])
    bars.set(title="shares λ (%)", xlabel="clinic; hatched: learned")
    dashed: dict[str, Any] = {"color": green, "linestyle": "--"}
    factor.plot(factors, color=green, marker="^")
    factor.plot(single, **dashed)
    loss.plot(rises, **dashed)
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
        f"{factors[-1]:.2f}, or, with shares left as they were, to {rises[-1]:.2f} and "
        f"{single[-1]:.2f}; clinic {most}'s share changes most, from "
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
def both_ways(
    paths: Mapping[str, Sequence[Path]], wrong: Sequence[np.ndarray], limit: float
) -> tuple[Figure, str]:
    """Every client's share after each way to search, those of wrong labels below.

    Args:
        paths: of each way to search, a path a seed.
        wrong: who is wrong, a row a seed.
        limit: the least share of the wrong half after the first way, in percent.
    """
    false = np.array(wrong)
    last = {w: 100 * np.array([p[-1][2] for p in each]) for w, each in paths.items()}
    fig, axes = canvas(520, 260, ncols=len(paths), sharex=True, sharey=True)
    told = []
    for ax, (way, held) in zip(axes, last.items(), strict=True):
        for row, (part, colour) in enumerate(((~false, "green"), (false, "red"))):
            up = row + np.linspace(-0.3, 0.3, part.sum())
            style = {"color": PALETTE[colour], "markersize": 6, "alpha": 0.8}
            ax.plot(held[part], up, "ox"[row], markeredgewidth=1.5, **style)
        ax.axvline(100 / held.shape[1], color=INK, linestyle=":", linewidth=1.5)
        ours, theirs = (held[part].reshape(len(held), -1) for part in (~false, false))
        kept = theirs.sum(axis=1).mean()
        ax.text(
            0.97,
            1,
            f"together {kept:.0f} %",
            transform=ax.get_yaxis_transform(),
            ha="right",
        )
        ax.set(title=way, xlabel="share λ (%)", ylim=(1.5, -0.5))
        told.append(
            f"{way}: the wrong half holds {kept:.1f} percent together, single clinics "
            f"{theirs.min():.0f} to {theirs.max():.0f}, those with right labels "
            f"{ours.min():.0f} to {ours.max():.0f}"
        )
    least = limit / false.sum(axis=1).mean()
    style = {"color": INK, "linestyle": "--", "linewidth": 2, "zorder": 3}
    axes[0].plot([least] * 2, [0.55, 1.45], **style)
    axes[0].set_yticks([0, 1], ["right labels", "wrong labels"])
    alt = (
        f"Every clinic's share after one round's search, all {len(false)} seeds. "
        f"{'; '.join(told)}. Ten steps of their full length would leave the wrong half "
        f"{limit:.1f}."
    )
    return fig, alt


_NEAR = 5.0  # points of a share that "near" allows
_LITTLE = 2.0  # percent that are "hardly any"


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

    And whether some right client then has hardly any share, and the average is still
    `right` about more test images. `many` has the steps of the long search.
    """
    last = list(paths.values())[-1]
    note = f"After {many['steps']} steps {after_search(last, wrong)}."
    ten, kept = (
        np.array([held_by(p, w)[-1] for p, w in zip(each, wrong, strict=True)])
        for each in paths.values()
    )
    short, long = (np.array(each) for each in right.values())
    words = ("more", "less")
    rows = [
        Row("ten steps minus ten full ones", ten - full, words=words, aside=True),
        Row("their share: 800 steps minus ten", kept - ten, words=words, aside=True),
        Row("accuracy: 800 steps minus ten", long - short),
    ]
    near, far = np.mean(ten - full) < _NEAR, kept.mean() < _NEAR
    fallen = [p[-1][2][~w].min() for p, w in zip(last, wrong, strict=True)]
    some = 100 * min(fallen) < _LITTLE
    holds = near and far and some and [side(row.values) for row in rows] == [1, -1, 1]
    return {"rows": rows, "holds": bool(holds), "note": note}

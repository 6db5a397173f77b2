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
from fedlab_book.figures import INK, PALETTE, canvas, look, styled
from fedlab_book.findings import Row
from fedlab_core.metrics import logits
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree

Path = Sequence[tuple[float, float, np.ndarray]]


@styled
def one_round(path: Path) -> tuple[Figure, str]:
    """The shares before and after, the factor, and the loss that both bring down."""
    losses, factors, shares = (np.array(part) for part in zip(*path, strict=True))
    ratios = {"width_ratios": [1.5, 1, 1]}
    fig, (bars, factor, loss) = canvas(720, 260, ncols=3, gridspec_kw=ratios)
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


def least_share(rate: float, steps: int, halve: int, wrong: float = 0.5) -> float:
    """What wrong clients have, in percent, after a search by full steps alone.

    A full step of Adam moves a log-share by its rate; only where a slope suddenly grows
    is one longer. Theirs fall by all rates added up, the others' rise by as much.
    `wrong` is what they have at the beginning.
    """
    far = sum(rate * 0.5 ** (step // halve) for step in range(steps))
    down, up = wrong * np.exp(-far), (1 - wrong) * np.exp(far)
    return 100 * float(down / (down + up))


def limits(ways: Mapping[str, Mapping[str, Any]], rate: float, halve: int) -> dict:
    """The least share of each way to search, but of those whose rates stay.

    `rate` of the shares and `halve` are those of ways that do not say their own.
    """
    found = {}
    for way, how in ways.items():
        steps, each = how["steps"], how.get("halve", halve)
        own = how["rates"][1] if "rates" in how else rate
        if each < steps:
            found[way] = least_share(own, steps, each)
    return found


def most_factor(rate: float, steps: int, halve: int) -> float:
    """The largest factor after a search by full steps alone: log γ is their sum."""
    return float(np.exp(sum(rate * 0.5 ** (step // halve) for step in range(steps))))


def accuracy(world: World, models: Tree, path: Path) -> float:
    """On all test images, in percent: the average with what a path ends with."""
    _, gamma, shares = path[-1]
    weights = gamma * torch.as_tensor(shares, dtype=torch.float32)
    state = {n: torch.tensordot(weights.to(w), w, 1) for n, w in models.items()}
    with torch.no_grad():
        said = logits(world.model, state, world.x_test).argmax(1)
    return 100 * float((said == world.y_test).float().mean())


def held_by(path: Path, who: np.ndarray) -> np.ndarray:
    """The share, in percent, that these clients have together, step by step."""
    return 100 * np.array([float(shares[who].sum()) for _, _, shares in path])


@styled
def long_searches(
    paths: Mapping[str, Sequence[Path]],
    wrong: Sequence[np.ndarray],
    limits: Mapping[str, float],
) -> tuple[Figure, str]:
    """What the wrong half keeps, step by step, mean over seeds; and the least it can.

    Args:
        paths: of each way to search, a path a seed.
        wrong: who is wrong, a row a seed.
        limits: the least share of each way, in percent, where it has one above zero.
    """
    fig, ax = canvas(620, 320)
    ends, last = [], max(len(p) for each in paths.values() for p in each) - 1
    for (way, each), (colour, dash) in zip(paths.items(), _WAYS, strict=True):
        held = np.array([held_by(p, w) for p, w in zip(each, wrong, strict=True)])
        style = {"color": PALETTE[colour], "linestyle": dash}
        ax.plot(held.mean(axis=0), **style, label=way)
        ends.append(f"{way}: {held[:, -1].mean():.1f}")
        if way in limits:
            ax.axhline(limits[way], color=PALETTE[colour], linestyle=":", lw=1.2)
            text = {"color": PALETTE[colour], "ha": "right", "va": "top"}
            ax.text(last, limits[way] - 0.7, "full steps", **text)
            ends[-1] += f", its limit {limits[way]:.1f}"
    ax.set(xlabel="step of the server", ylabel="share of the wrong half (%)")
    ax.set_ylim(0, 55)
    ax.grid(axis="y")
    ax.legend(loc="upper right")
    alt = (
        f"Share of the wrong half, in percent, against up to {last} steps of one "
        f"round's search, mean over seeds. At the end, {'; '.join(ends)}."
    )
    return fig, alt


_NEAR = 5.0  # points of a share that "near" allows
_WAYS = (("blue", "-"), ("orange", "--"), ("green", "-."))


def after_search(path: Sequence[Path], wrong: Sequence[np.ndarray]) -> str:
    """In numbers: what the wrong half keeps at the end, and what the others get."""
    last = [np.asarray(p[-1][2]) for p in path]
    kept = [100 * s[w].sum() for s, w in zip(last, wrong, strict=True)]
    honest = 100 * np.concatenate([s[~w] for s, w in zip(last, wrong, strict=True)])
    return (
        f"the wrong half keeps {pm(kept, sign='')} %, and single clinics with right "
        f"labels between {honest.min():.0f} and {honest.max():.0f} %"
    )


def stopped_short(
    paths: Mapping[str, Sequence[Path]],
    wrong: Sequence[np.ndarray],
    limits: Mapping[str, float],
    right: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """Whether falling rates end a search near their limit, constant ones near none.

    And whether what constant ones end with is `right` about more test images.
    """
    ends = {
        way: np.array([held_by(p, w)[-1] for p, w in zip(each, wrong, strict=True)])
        for way, each in paths.items()
    }
    words = ("more", "less")
    rows = [
        Row(f"share: {way} minus their limit", ends[way] - limit, words=words)
        for way, limit in limits.items()
    ]
    longest, others = "constant rates", ["ten steps", "published rates"]
    rows += [
        Row(f"share: {longest} minus {way}", ends[longest] - ends[way], words=words)
        for way in others
    ]
    scores = {way: np.array(each) for way, each in right.items()}
    rows += [
        Row(f"accuracy: {longest} minus {way}", scores[longest] - scores[way])
        for way in others
    ]
    near = all(np.mean(ends[way] - limit) < _NEAR for way, limit in limits.items())
    less_and_better = [side(row.values) for row in rows[-4:]] == [-1, -1, 1, 1]
    dropped = ends[longest].mean() < _NEAR and less_and_better
    return {"rows": rows, "holds": bool(near and dropped)}

"""A server's search: how one round learns its factor and its shares, step by step.

A path is what the chapter's own lines return: of each step the loss, the factor and
the shares, as they were before it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book.figures import INK, look, mosaic, styled

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
    """Share left to a wrong half, in percent, once all its log-shares fell so `far`.

    The others' rose by as much.
    """
    return 100 / (1 + float(np.exp(2 * far)))

"""FedLAW's Figure 12: three clients, and the loss of every average of their models.

places = {name: bench.place(partial(scenario, bench, name)) for name in TRIO}
found = bench.compare(places, arms, 4, observe=mixtures)
faces = Faces(found)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.figures import PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.rounds.records import Round
from fedlab_ledger.model.landscape import Simplex, simplex

Numbers = tuple[pd.DataFrame, str]  # a table and its caption
TRIO = ("alike", "one knows all", "two alike")
STEPS = 12  # of a share of one
LEVELS = [0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
_IMAGES = 400  # of the test set
_BEST = (6, 3, 3)  # in twelfths: client 0 as much as the two who are alike
_ALONG = ((6, 5, 1), (6, 1, 5))  # a sixth from one of the two to the other
_ACROSS = ((8, 2, 2), (4, 4, 4))  # a sixth to client 0, or from it


def holdings(name: str, per_class: Sequence[int]) -> list[list[int]]:
    """Samples per class of three clients of (nearly) the same size."""
    classes = len(per_class)
    size = int(2.1 * min(per_class))
    first, second = range(classes // 2), range(classes // 2, classes)
    some = range(classes - max(1, 3 * classes // 10), classes)
    every = range(classes)
    held = {
        "alike": (every, every, every),
        "one knows all": (every, first, some),
        "two alike": (first, second, second),
    }[name]
    return [
        [size // len(part) if c in part else 0 for c in range(classes)] for part in held
    ]


def scenario(bench: Bench, name: str, seed: int) -> fl.Scenario:
    """The three clients on the data of a seed."""
    data = bench.task(seed)
    per_class = np.bincount(data.y_train, minlength=len(data.classes))
    held = np.array(holdings(name, per_class.tolist()))
    return fl.Scenario(data, fl.designed(data.y_train, held, seed=seed))


def mixtures(now: Round) -> dict:
    """Loss of every average of the three models, on test and on server's images."""
    world, models = now.world, now.trained.states
    x, y = world.x_test[:_IMAGES], world.y_test[:_IMAGES]
    found = {"test": simplex(world.model, models, x, y, steps=STEPS)}
    if world.proxy is not None:
        found["proxy"] = simplex(world.model, models, *world.proxy, steps=STEPS)
    return found


def corner(shares: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Point of three shares in the triangle: client 0 left, 1 right, 2 on top."""
    return shares[1] + shares[2] / 2, shares[2] * 3**0.5 / 2


@dataclass(frozen=True)
class Faces:
    """All triangles of a comparison, by federation, round (from 1) and images."""

    found: Comparison
    arm: str = "FedAvg"

    def seeds(self, name: str, turn: int, where: str = "test") -> list[Simplex]:
        """The triangle of every seed."""
        return [h.rows[turn - 1][where] for h in self.found.of(self.arm, name)]

    def loss(self, name: str, turn: int, where: str = "test") -> np.ndarray:
        """Mean over seeds at every point."""
        return np.mean([s.loss for s in self.seeds(name, turn, where)], axis=0)

    def best(self, name: str, turn: int, where: str = "test") -> np.ndarray:
        """The shares of the lowest mean loss."""
        grid = self.seeds(name, turn, where)[0].weights
        return grid[self.loss(name, turn, where).argmin()]

    def at(self, name: str, shares: Sequence[float] | np.ndarray) -> int:
        """The point of these shares, or the nearest to them."""
        grid = self.seeds(name, 1)[0].weights
        return int(np.abs(grid - np.asarray(shares)).sum(1).argmin())

    def above(self, name: str, turn: int) -> float:
        """By how much FedAvg, equal shares, is above the lowest loss."""
        loss = self.loss(name, turn)
        return float(loss[self.at(name, (1 / 3,) * 3)] - loss.min())


@styled
def figure(faces: Faces, name: str, turn: int) -> tuple[Figure, str]:
    """One federation's triangle after a round, with the best shares' way."""
    fig, ax = canvas(500, 370)
    loss, grid = faces.loss(name, turn), faces.seeds(name, turn)[0]
    style = {"cmap": "cividis_r", "extend": "max"}
    drawn = ax.tricontourf(grid.x, grid.y, loss - loss.min(), LEVELS, **style)
    bar = fig.colorbar(drawn, ax=ax, ticks=LEVELS)
    bar.set_label("test loss above the best (nats)")
    path = [corner(faces.best(name, t)) for t in range(1, turn + 1)]
    ax.plot(*zip(*path, strict=True), ".-", color="#101010", linewidth=1.5)
    best, guess = (faces.best(name, turn, where) for where in ("test", "proxy"))
    _dots(ax, best, guess)
    above = faces.above(name, turn)
    fig.suptitle(f"{name}, round {turn}: FedAvg {above:z.2f} above the best", size=12)
    alt = (
        f"Triangle of all averages of three clients, {name}, round {turn}, test loss "
        f"averaged over {len(faces.seeds(name, turn))} seeds. The best shares are "
        f"{_shares(best)}; FedAvg's equal shares lie {above:z.2f} nats above. The "
        f"server's images choose {_shares(guess)}."
    )
    return fig, alt


def _shares(shares: np.ndarray) -> str:
    return ", ".join(f"{v:z.2f}" for v in shares)


def _dots(ax: Axes, best: np.ndarray, guess: np.ndarray) -> None:
    """FedAvg, the best shares and the server's, and the clients' names."""
    equal = np.full(3, 1 / 3)
    ring = {"markeredgecolor": "white", "markeredgewidth": 1.5}
    dots = ((equal, "o", "blue", 12), (best, "*", "red", 24), (guess, "^", "green", 8))
    for at, mark, colour, wide in dots:
        style = {"color": PALETTE[colour], "markersize": wide, **ring}
        ax.plot(*corner(at), mark, clip_on=False, zorder=5, **style)
    for k, (x, y) in enumerate(((0, -0.06), (1, -0.06), (0.5, 0.9))):
        up = "top" if k < 2 else "bottom"
        ax.text(x, y, f"client {k}", ha="center", va=up)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.14, 0.98), aspect="equal")
    ax.axis("off")


def costs(faces: Faces, turn: int) -> dict[str, np.ndarray]:
    """Two clients who are alike: what moving a sixth of the weight costs, in nats."""
    ways = {"along": _ALONG, "across": _ACROSS}
    return {way: _rise(faces, turn, moved) for way, moved in ways.items()}


def facts(faces: Faces, turn: int) -> dict[str, Row]:
    """Whether the valley of two clients who are alike is longer than wide."""
    cost = costs(faces, turn)
    name = "to or from client 0, less between 1 and 2"
    return {"more": Row(name, cost["across"] - cost["along"], claim=1)}


def _rise(faces: Faces, turn: int, moved: Sequence[Sequence[int]]) -> np.ndarray:
    """Mean loss at these shares, in twelfths, above that at the best, by seed."""
    base, *others = (
        faces.at("two alike", np.array(v) / STEPS) for v in (_BEST, *moved)
    )
    every = faces.seeds("two alike", turn)
    return np.array([s.loss[others].mean() - s.loss[base] for s in every])


def numbers(faces: Faces, turn: int) -> Numbers:
    """Best shares, the server's choice, accuracies, and how alike the two maps are."""
    rows = []
    for name in TRIO:
        every = faces.seeds(name, turn)
        best, guess = (faces.best(name, turn, w) for w in ("test", "proxy"))
        middle, there = faces.at(name, (1 / 3,) * 3), faces.at(name, best)
        pairs = zip(every, faces.seeds(name, turn, "proxy"), strict=True)
        same = [np.corrcoef(a.loss, b.loss)[0, 1] for a, b in pairs]
        first = [s.best[0] for s in every]
        right = [100 * np.mean([s.accuracy[k] for s in every]) for k in (middle, there)]
        row = {
            "federation": name,
            "best shares": _shares(best),
            "of client 0, by seed": f"{min(first):z.2f} to {max(first):z.2f}",
            "the server's": _shares(guess),
            "FedAvg (%)": f"{right[0]:z.1f}",
            "best (%)": f"{right[1]:z.1f}",
            "both maps alike": f"{np.mean(same):z.3f}",
        }
        rows.append(row)
    cost = {way: f"{v.mean():+z.2f}" for way, v in costs(faces, turn).items()}
    caption = (
        f"Round {turn}, mean of the seeds. Best: of lowest test loss; the accuracy "
        "there is that of the same test images, so it flatters a little. Last column: "
        "correlation over the triangle of the loss on the server's images with that "
        "on the test set. Two alike: a sixth of the weight moved from the best between "
        f"clients 1 and 2 changes the test loss by {cost['along']}, moved to or from "
        f"client 0 by {cost['across']}."
    )
    return pd.DataFrame(rows), caption

"""Chapter 4's knob: one round's average, multiplied by every factor.

turned = Turned.of(world, **arrived(world, method, 6, seed))
frames(lambda gamma: knob(turned, gamma), Axis("γ", GAMMAS, start=10))
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional as F

from fedlab_book.bench import Bench
from fedlab_book.figures import INK, PALETTE, mosaic
from fedlab_core import Proxy, Training, fedavg, federate, tree
from fedlab_core.errors import InputError
from fedlab_core.metrics import logits, shrinking
from fedlab_core.rounds import Method
from fedlab_core.rounds.records import Round
from fedlab_core.rounds.worlds import World

GAMMAS = [round(0.6 + 0.05 * i, 2) for i in range(13)]  # 0.6 to 1.2


@dataclass(frozen=True, eq=False)
class Turned:
    """Effects of the factor at once: on one image, the proxy loss, and the way."""

    classes: list[str]
    image: np.ndarray  # as it is shown
    truth: int  # its class
    sure: np.ndarray  # (gammas, classes): the image's probabilities
    said: np.ndarray  # (gammas, images): the class of every test image
    loss: np.ndarray  # (gammas,) on the server's labelled images
    step: np.ndarray  # (gammas,) length of the step after the clients
    pull: np.ndarray  # (gammas,) length of the pull to zero
    start: float  # length of the parameters that the round began with
    way: np.ndarray  # the clients' way, along those parameters and aside

    @classmethod
    def of(
        cls,
        world: World,
        begin: tree.Tree,
        models: tree.Tree,
        shares: Tensor,
        image: int | None = None,
    ) -> "Turned":
        """A round from `begin` to the clients' `models`, weighed by `shares`.

        Without an `image`, one that the average is right about, half sure.
        """
        if world.proxy is None:
            raise InputError("the world has no proxy set: give the bench one")
        names, (x, y) = world.parameters, world.proxy
        mean = tree.weighted_sum(models, shares)
        sure, said, loss, balance = [], [], [], []
        own, theirs = ({n: t[n] for n in names} for t in (begin, mean))
        rows = {n: models[n] for n in names}
        for gamma in GAMMAS:
            state = {n: gamma * v if n in names else v for n, v in mean.items()}
            with torch.no_grad():
                out = logits(world.model, state, world.x_test).cpu()
                sure.append(out.softmax(1).numpy())
                said.append(out.argmax(1).numpy())
                loss.append(float(F.cross_entropy(logits(world.model, state, x), y)))
            balance.append(shrinking(rows, own, shares, gamma))
        at = _half_sure(sure, world) if image is None else image
        start, way = tree.flatten(own), tree.flatten(theirs) - tree.flatten(own)
        length = float(start.norm())
        along = float(way @ start) / length
        aside = max(float(way @ way) - along**2, 0.0) ** 0.5
        return cls(
            list(world.classes),
            _shown(world.x_test[at]),
            int(world.y_test[at]),
            np.array([s[at] for s in sure]),
            np.array(said),
            np.array(loss),
            np.array([b.step for b in balance]),
            np.array([b.shrink for b in balance]),
            length,
            np.array([along, aside]),
        )

    @property
    def best(self) -> float:
        """The factor with the smallest proxy loss, of those that are drawn."""
        return GAMMAS[int(self.loss.argmin())]

    def kept(self, gamma: float) -> float:
        """The part of all test images that keep the class that they have without it."""
        mine, plain = (self.said[GAMMAS.index(g)] for g in (gamma, 1.0))
        return float((mine == plain).mean())


def sixth_round(
    dataset: str,
    data_dir: str | None,
    samples: int,
    lr: float,
    hidden: list[int],
    per_class: int,
    seed: int = 339,  # none that the chapter compares on
) -> Turned:
    """The chapter's first picture: round 6 of FedAvg, ten clinics alike."""
    bench = Bench(
        dataset,
        data_dir,
        samples=samples,
        tests=1500,
        sizes={"hidden": hidden},
        proxy=Proxy(per_class),
    )
    world = bench.place("dirichlet", clients=10, alpha=100, capacity=False)(seed)
    method = fedavg(Training(lr=lr, epochs=5, batch_size=32))
    return Turned.of(world, **arrived(world, method, 6, seed))


def arrived(world: World, method: Method, number: int, seed: int) -> dict[str, Any]:
    """A server's models in that round: its own, the clients', and their shares.

    The shares are those by size, whatever the method makes of them.
    """
    seen: dict[str, Any] = {}

    def look(now: Round) -> dict:
        if now.number == number:
            seen.update(begin=tree.take(now.before, 0), models=now.trained.states)
            seen.update(shares=now.weights[0])
        return {}

    federate(world, method, number, seed=seed, observe=look, progress=False)
    return seen


def _half_sure(sure: list[np.ndarray], world: World) -> int:
    """A test image that is said right with a probability of .5 to .8.

    Of these, the one that is most like the mean of its class.
    """
    plain, truth = sure[GAMMAS.index(1.0)], world.y_test.cpu().numpy()
    right = (plain.argmax(1) == truth) & (plain.max(1) > 0.5) & (plain.max(1) < 0.8)
    pixels = world.x_test.flatten(1).cpu().numpy()
    pixels = pixels - pixels.mean(axis=0)
    means = np.stack([pixels[truth == c].mean(0) for c in range(len(world.classes))])
    like = (pixels * means[truth]).sum(axis=1) / np.linalg.norm(pixels, axis=1)
    like = like / np.linalg.norm(means, axis=1)[truth]
    return int(np.where(right, like, -np.inf).argmax())


def _shown(pixels: Tensor) -> np.ndarray:
    """An image from 0 to 1: (height, width), or with colours behind."""
    values = pixels.cpu().numpy().transpose(1, 2, 0)
    values = (values - values.min()) / (values.max() - values.min())
    return values[:, :, 0] if values.shape[2] == 1 else values


def knob(turned: Turned, gamma: float) -> tuple[Figure, str]:
    """The three at one factor, and what they show in words."""
    at = GAMMAS.index(gamma)
    fig, axes = mosaic(520, 440, "AB;CC")
    bars, curve, arrows = (axes[place] for place in "ABC")
    _bars(bars, turned, at)
    _curve(curve, turned, at)
    _arrows(arrows, turned, at)
    truth, sure = turned.classes[turned.truth], turned.sure[at]
    said = turned.classes[int(sure.argmax())]
    step, pull = turned.step[at], turned.pull[at]
    alt = (
        f"Gamma {gamma:g}. The network says {said}, by {100 * sure.max():.0f} percent, "
        f"of an image of {truth}. The proxy loss is {turned.loss[at]:.2f}, lowest at "
        f"{turned.best:g}. The step after the clients is {step:.2f} long, the pull to "
        f"zero {pull:.2f}."
    )
    return fig, alt


def _bars(ax: Axes, turned: Turned, at: int) -> None:
    right = [k == turned.truth for k in range(len(turned.classes))]
    colours = [PALETTE["green"] if r else PALETTE["sky"] for r in right]
    ax.bar(turned.classes, 100 * turned.sure[at], color=colours)
    ax.set(ylim=(0, 100), title="one image: how sure (%)")
    inset = ax.inset_axes((0.62, 0.5, 0.36, 0.48))
    inset.imshow(turned.image, cmap="gray_r", interpolation="nearest")
    inset.set(xticks=[], yticks=[])
    ax.set_xlabel(f"class; right: {turned.classes[turned.truth]}")


def _curve(ax: Axes, turned: Turned, at: int) -> None:
    colour = PALETTE["green"]
    ax.plot(GAMMAS, turned.loss, color=colour)
    low = int(turned.loss.argmin())
    ax.plot(GAMMAS[at], turned.loss[at], "o", color=INK, markersize=9)
    star = {"color": colour, "markersize": 17, "markeredgecolor": "white"}
    ax.plot(GAMMAS[low], turned.loss[low], "*", **star)
    ax.axvline(1, color=INK, linestyle=":", linewidth=1.2)
    ax.set_xticks([GAMMAS[0], 1, GAMMAS[-1]])
    ax.set(xlabel="γ; star: best", title="the server's loss")


def _arrows(ax: Axes, turned: Turned, at: int) -> None:
    gamma = GAMMAS[at]
    start = np.array([turned.start, 0.0])
    after = start + gamma * turned.way
    end = gamma * (start + turned.way)
    style = {"arrowstyle": "-|>", "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
    for a, b, colour in ((start, after, PALETTE["blue"]), (after, end, PALETTE["red"])):
        if np.linalg.norm(b - a) > 0:
            ax.annotate("", tuple(b), tuple(a), arrowprops={**style, "color": colour})
    ax.axhline(0, color=INK, linewidth=1, linestyle=":")
    ax.plot(*start, "o", color=INK, markersize=7)
    ax.plot(*end, "D", color=PALETTE["green"], markersize=9)
    pull = turned.pull[at]
    ratio = f"r = {turned.step[at] / pull:.1f}" if pull > 1e-9 else "step alone"
    ax.set_title(f"a round's way: {ratio}")
    ends = [g * (start + turned.way) for g in (GAMMAS[0], GAMMAS[-1])]
    low, high = min(ends[0][0], start[0]), max(ends[1][0], start[0])
    room = 0.08 * (high - low)
    ax.set(xlim=(low - room, high + room), ylim=(-2 * room, ends[1][1] + 2 * room))
    ax.set_aspect("equal")
    ax.set_xlabel("along w; blue: step γg, red: shrinking")
    ax.set(ylabel="across w", yticks=[])

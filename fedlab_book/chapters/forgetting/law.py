"""The law of chapter 7: what drawn features leave of the clinics' disagreement.

Gradients of the head by clinic, of their own images and of features drawn from the
best Gaussians there are: as many drawn as own.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from fedlab_book.bench import pm
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_core import tree
from fedlab_core.rounds.worlds import World

IN_TURN, OWN_LABELS = "all letters in turn", "those of its own images"
Gradients = Mapping[str, np.ndarray]  # see `gradients`
RATIOS = (0, 0.5, 1, 2, 4)  # drawn features for each own one
_TURNS, _TIMES = 40, 5  # draws of each letter; of each own label


def features(world: World, w: tree.Tree, x: Tensor) -> Tensor:
    """Features of images: the network below its head."""
    below = cast(nn.Module, world.model.features)
    return functional_call(below, tree.subtree(w, "features"), (x,)).flatten(1)


def gradients(world: World, w: tree.Tree, seed: int) -> dict[str, np.ndarray]:
    """The head's gradient at `w`, a row a clinic: "own", and of drawn features.

    And "share", how much each clinic counts.
    """
    head, above = tree.subtree(w, "head"), cast(nn.Module, world.model.head)
    with torch.no_grad():
        every = features(world, w, world.x)
    rows = [every[world.y == c] for c in range(len(world.classes))]
    mu = torch.stack([h.mean(0) for h in rows])
    s = torch.stack([h.std(0) for h in rows])

    def slope(h: Tensor, y: Tensor) -> np.ndarray:
        params = tree.with_grad(head)
        loss = F.cross_entropy(functional_call(above, params, (h,)), y)
        return tree.flatten(tree.gradient(loss, params)).double().cpu().numpy()

    def drawn(y: Tensor) -> np.ndarray:
        g = torch.Generator().manual_seed(seed)
        xi = torch.randn(len(y), mu.shape[1], generator=g).to(mu)
        return slope(mu[y] + s[y] * xi, y)

    held = [torch.as_tensor(world.client(k)) for k in range(len(world))]
    same = drawn(torch.arange(len(mu), device=mu.device).repeat(_TURNS))
    sizes = np.array([len(i) for i in held])
    return {
        "share": sizes / sizes.sum(),
        "own": np.stack([slope(every[i], world.y[i]) for i in held]),
        IN_TURN: np.repeat(same[None], len(held), 0),
        OWN_LABELS: np.stack([drawn(world.y[i].repeat(_TIMES)) for i in held]),
    }


def mixed(g: Gradients, labels: str, ratio: float) -> np.ndarray:
    """The clinics' gradients with so many drawn features for each own one."""
    return (g["own"] + ratio * g[labels]) / (1 + ratio)


def left(g: Gradients, labels: str, ratio: float = 1) -> float:
    """Share of the variance between clinics that mixing leaves."""
    return _apart(g, mixed(g, labels, ratio)) / _apart(g, g["own"])


def aimed(g: Gradients, labels: str, ratio: float = 1) -> float:
    """The same of the variance over the squared length of the mean gradient."""
    before, after = (g["share"] @ v for v in (g["own"], mixed(g, labels, ratio)))
    return left(g, labels, ratio) * float((before @ before) / (after @ after))


def _apart(g: Gradients, rows: np.ndarray) -> float:
    return float(g["share"] @ np.square(rows - g["share"] @ rows).sum(1))


@styled
def arrows(g: Gradients, labels: str, ratio: float) -> tuple[Figure, str]:
    """Ways of the clinics' gradients, in the plane in which they differ most."""
    middle = g["own"].mean(0)
    plane = np.linalg.svd(g["own"] - middle, full_matrices=False)[2][:2]
    rows = g["own"], mixed(g, labels, ratio)
    start, end = ((v - v.mean(0)) @ plane.T for v in rows)
    fig, ax = canvas(360, 300)
    for a, b in zip(start, end, strict=True):
        ax.plot(*np.stack([a, b]).T, color=INK, alpha=0.3, linewidth=1)
    ax.plot(*start.T, "o", mfc="none", color=PALETTE["blue"], label="own")
    ax.plot(*end.T, "P", color=PALETTE["orange"], ms=9, label="own and drawn")
    rest = left(g, labels, ratio)
    ax.set(xticks=[], yticks=[], title=f"variance left: {rest:.2f}")
    fig.legend(loc="outside lower center", ncols=2)
    alt = (
        f"Ten clinics' gradients of the head, around their mean, before and after "
        f"features are drawn with labels: {labels}; {ratio:g} for each own one. Of the "
        f"variance between clinics {rest:.2f} is left."
    )
    return fig, alt


def told(every: Sequence[Gradients]) -> str:
    """The parts that as many drawn as own features leave, in a sentence."""
    turn, own = ([left(g, n) for g in every] for n in (IN_TURN, OWN_LABELS))
    exact = max(abs(v - 0.25) for v in turn)
    if exact > 1e-6:
        raise ValueError(f"the law is off by {exact:.1g}")
    aim = {n: pm([aimed(g, n) for g in every], 2, "") for n in (IN_TURN, OWN_LABELS)}
    return (
        "With as many drawn as own features, of the variance between clinics, measured "
        "against the squared mean gradient, on which they agree, letters in turn leave "
        f"{aim[IN_TURN]}, and own labels {aim[OWN_LABELS]}. (The variance itself: 0.25 "
        f"in every seed, and {pm(own, 2, '')}. It says less: to halve everybody's loss "
        "would leave 0.25, too, and nobody would agree more.)"
    )

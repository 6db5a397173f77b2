"""Variance of the clients' gradients, below and above the split of a network.

Low are the parameters of the features, high those of the head.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Axes, Measured, NotNegative, checked
from fedlab_core.errors import require
from fedlab_core.metrics.scores import SAMPLES_AT_ONCE, Lists
from fedlab_core.models.network import Network, Truth, takes
from fedlab_core.tree import Tree, add, flatten, gradient, scale, tree_map, with_grad


@checked
@dataclass(frozen=True)
class Synthetic:
    """Features every client mixes with its own: `ratio` for each real sample."""

    h: Annotated[Tensor, Axes("samples ...")]  # as the head takes them
    y: Truth
    ratio: NotNegative  # N_hat / N

    def __post_init__(self) -> None:
        require(len(self.h) > 0, "h: no features to mix in")


@checked
@dataclass(frozen=True)
class Variance:
    """Client gradient variance in its two parts."""

    low: Measured
    high: Measured

    @property
    def total(self) -> float:
        """Variance over the whole network."""
        return self.low + self.high


@checked
def gradient_variance(
    model: nn.Module,
    state: Tree,
    x: Tensor,
    y: Truth,
    indices: Lists,
    synthetic: Synthetic | None = None,
) -> Variance:
    """Mean over clients of |grad f_m - grad F|^2, F = sum_m (n_m / N) f_m.

    f_m is the mean loss of client m on all its samples, in evaluation mode; the mean
    counts a client by its samples. With `synthetic`, the head's gradient is that of the
    mean over real and synthetic features, and that of the features is left alone: every
    client mixes in the same ones in the same proportion, so that the high part shrinks
    to (N / (N + N_hat))^2 of what it was.

    Paper: FedImpro Eq. (3), Thm. 4.2.
    """
    takes(model, state, x, y)
    net = Network(model)
    low, high, fixed = _parts(net, state)
    sizes = torch.tensor([len(one) for one in indices], dtype=torch.float64)
    sound = bool((sizes > 0).all()) and len(sizes) > 0
    require(sound, "indices must give one sample or more to every client")
    names = {"low": list(low), "high": list(high)}

    shared: Tree = {}
    if synthetic is not None:
        shared = _mean_gradient(net.head, fixed, high, synthetic.h, synthetic.y)
    rows: dict[str, list[Tensor]] = {"low": [], "high": []}
    for held in indices:
        index = torch.as_tensor(held, device=x.device)
        g = _mean_gradient(net, fixed, low | high, x[index], y[index])
        parts = {part: {n: g[n] for n in names[part]} for part in names}
        if synthetic is not None:
            real = 1 / (1 + synthetic.ratio)
            parts["high"] = add(scale(parts["high"], real), shared, 1 - real)
        for part, tree in parts.items():
            rows[part].append(flatten(tree).double())
    share = (sizes / sizes.sum()).to(x.device)
    each = [torch.stack(rows[p]) for p in rows]
    return Variance(*(float(share @ ((v - share @ v) ** 2).sum(1)) for v in each))


def _parts(net: Network, state: Tree) -> tuple[Tree, Tree, Tree]:
    """A state's parameters below and above the split, and its buffers."""
    learnt = list(net.live)
    low = {n: state[n] for n in learnt if n.startswith("features.")}
    high = {n: state[n] for n in learnt if n.startswith("head.")}
    other = sorted(set(learnt) - low.keys() - high.keys())
    need = "the model must be made of features and head, as those of fedlab_core.models"
    require(bool(high) and not other, need)
    return low, high, {n: v for n, v in state.items() if n not in learnt}


def _mean_gradient(
    net: Callable, fixed: Tree, params: Tree, x: Tensor, y: Tensor
) -> Tree:
    """Gradient of the mean cross-entropy, in slices that fit."""
    total = tree_map(torch.zeros_like, params)
    for i in range(0, len(x), SAMPLES_AT_ONCE):
        part = slice(i, i + SAMPLES_AT_ONCE)
        with torch.enable_grad():
            at = with_grad(params)
            out = net(fixed | at, x[part])
            loss = F.cross_entropy(out, y[part], reduction="sum")
        total = add(total, gradient(loss, at))
    return scale(total, 1 / len(x))

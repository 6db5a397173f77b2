"""Sharpness of the loss: the largest eigenvalues of its Hessian.

Only products of the Hessian with a vector are formed. The loss is the mean
cross-entropy in evaluation mode, as a function of the parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Count, checked
from fedlab_core.errors import require
from fedlab_core.models.network import Network, Truth, takes
from fedlab_core.tree import Tree, as_tree, count, flatten, gradient, with_grad

Product = Callable[[Tensor], Tensor]  # a symmetric matrix times a vector


def parameters(model: nn.Module, state: Tree) -> Tree:
    """The entries of a state that are trained, in the model's order."""
    return {name: state[name] for name, _ in model.named_parameters()}


def hessian_product(
    model: nn.Module, state: Tree, x: Tensor, y: Tensor, slice_x: int = 1024
) -> Product:
    """The function v -> H v on flat vectors, H the Hessian of the mean loss on (x, y).

    The order of the entries is that of `flatten(parameters(model, state))`.
    """
    require(len(x) > 0, "x holds no sample")
    require(slice_x >= 1, f"slice_x must be 1 or more, not {slice_x}")
    net, params = Network(model), parameters(model, state)
    fixed = {n: v for n, v in state.items() if n not in params}

    def product(vector: Tensor) -> Tensor:
        total = torch.zeros_like(vector)
        for i in range(0, len(x), slice_x):
            part, truth = x[i : i + slice_x], y[i : i + slice_x]
            with torch.enable_grad():
                at = with_grad(params)
                out = net(fixed | at, part)
                loss = F.cross_entropy(out, truth, reduction="sum")
                along = flatten(gradient(loss, at, create_graph=True)) @ vector
                total += flatten(gradient(along, at))
        return total / len(x)

    return product


@torch.no_grad()
def lanczos(
    product: Product, size: int, steps: int, generator: torch.Generator, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Approximate eigenvalues, largest first, and their vectors: (steps,), (steps, n).

    Every new direction is made orthogonal to all the earlier ones, twice; where none is
    left, it goes on with a random one. With as many steps as the matrix has rows, the
    spectrum is exact up to rounding. `like` gives type and device.
    """
    require(1 <= steps <= size, f"steps must be from 1 to {size}, not {steps}")
    basis = like.new_zeros(steps, size)
    inner = torch.zeros(steps, steps, dtype=torch.float64)
    following = _draw(size, generator, like)
    scale = 0.0
    for j in range(steps):
        length = _orthogonal(following, basis[:j])
        if float(length.norm()) <= 1e-6 * max(scale, 1e-30):
            length = _orthogonal(_draw(size, generator, like), basis[:j])
        basis[j] = length / length.norm()
        following = product(basis[j])
        scale = max(scale, float(following.norm()))
        inner[: j + 1, j] = (basis[: j + 1] @ following).double().cpu()
    inner = torch.triu(inner)
    values, within = torch.linalg.eigh(inner + torch.triu(inner, 1).T)
    vectors = within.flip(1).T.to(basis) @ basis
    return values.flip(0), vectors


def _draw(size: int, generator: torch.Generator, like: Tensor) -> Tensor:
    drawn = torch.randn(size, generator=generator, device=generator.device)
    return drawn.to(like)


def _orthogonal(vector: Tensor, basis: Tensor) -> Tensor:
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector


@checked
@dataclass(frozen=True)
class Curvature:
    """The top of a Hessian's spectrum."""

    values: Tensor  # (k,) eigenvalues, largest first
    vector: Tree  # the first one's eigenvector, of length one

    @property
    def top(self) -> float:
        """The largest eigenvalue."""
        return float(self.values[0])

    @property
    def ratio(self) -> float:
        """The largest over the last one kept: lambda_1 / lambda_5 for k = 5."""
        return float(self.values[0] / self.values[-1])


@checked
def top_curvature(
    model: nn.Module,
    state: Tree,
    x: Tensor,
    y: Truth,
    generator: torch.Generator,
    k: Count = 5,
    steps: Count = 40,
) -> Curvature:
    """The k largest eigenvalues of the Hessian of the mean loss on (x, y), by Lanczos.

    Paper: FedLAW Fig. 10.
    """
    takes(model, state, x, y)
    params = parameters(model, state)
    size = count(params)
    require(k <= size, f"k must be from 1 to {size} parameters, not {k}")
    product = hessian_product(model, state, x, y)
    steps = min(max(steps, k), size)
    values, vectors = lanczos(product, size, steps, generator, flatten(params))
    return Curvature(values[:k], as_tree(vectors[0], params))

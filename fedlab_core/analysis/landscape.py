"""The loss around and between models, on a grid ready to be drawn.

Every point of a grid is a model of its own; they are judged as one cohort, in slices
that fit. Grids are arrays as `contourf(x, y, loss)` takes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_core.errors import require
from fedlab_core.metrics.scores import MODELS_AT_ONCE, evaluate
from fedlab_core.tree import Tree, add, count, flatten, stack, take, tree_map
from fedlab_core.tree import scale as scaled

NUMBERS_AT_ONCE = 2**25  # of all the models of a slice
Axis = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """Loss and accuracy along a line: (points,) each."""

    at: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray


@dataclass(frozen=True, eq=False)
class Surface:
    """Loss and accuracy on a grid: (len(y), len(x)) each."""

    x: np.ndarray
    y: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray
    models: np.ndarray  # (models, 2): where the given models lie


@dataclass(frozen=True, eq=False)
class Simplex:
    """Loss and accuracy of all mixtures of three models: (points,) each."""

    weights: np.ndarray  # (points, 3), rows sum to one
    x: np.ndarray  # the same points in an equilateral triangle of side one
    y: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """The weights of lowest loss."""
        return self.weights[np.nanargmin(self.loss)]


def along(
    model: nn.Module, state: Tree, direction: Tree, at: Axis, x: Tensor, y: Tensor
) -> Curve:
    """Loss of state + a * direction for each a. A direction may leave entries out.

    Paper: FedLAW Fig. 4.
    """
    steps = np.asarray(at, dtype=float)
    loss, accuracy = _judge(model, state, [direction], steps[:, None], x, y)
    return Curve(steps, loss, accuracy)


def rescaled(
    model: nn.Module, state: Tree, factors: Axis, x: Tensor, y: Tensor
) -> Curve:
    """Loss of the model with all its parameters times each factor.

    Buffers stay as they are. Paper: FedLAW Fig. 4.
    """
    params = {name: state[name] for name, _ in model.named_parameters()}
    factors = np.asarray(factors, dtype=float)
    found = along(model, state, params, factors - 1, x, y)
    return Curve(factors, found.loss, found.accuracy)


def between(
    model: nn.Module, a: Tree, b: Tree, x: Tensor, y: Tensor, at: Axis | None = None
) -> Curve:
    """Loss on the straight line from a (at 0) to b (at 1), 21 points unless given."""
    steps = np.linspace(0, 1, 21) if at is None else at
    return along(model, a, add(b, a, -1), steps, x, y)


def around(
    model: nn.Module,
    state: Tree,
    directions: tuple[Tree, Tree],
    axes: tuple[Axis, Axis],
    x: Tensor,
    y: Tensor,
) -> Surface:
    """Loss of state + a * first + b * second direction, on the grid of all (a, b)."""
    across, up = (np.asarray(axis, dtype=float) for axis in axes)
    grid = np.stack(np.meshgrid(across, up), -1)
    loss, accuracy = _judge(model, state, directions, grid.reshape(-1, 2), x, y)
    shape = grid.shape[:2]
    origin = np.zeros((1, 2))
    return Surface(across, up, loss.reshape(shape), accuracy.reshape(shape), origin)


def plane(
    model: nn.Module,
    corners: Sequence[Tree],
    x: Tensor,
    y: Tensor,
    points: int = 21,
    margin: float = 0.2,
) -> Surface:
    """Loss on the plane through three models, in distances from the first of them.

    The second model lies on the horizontal axis; the grid goes beyond the models by
    `margin` of their extent.
    """
    _check_three(len(corners))
    require(points >= 2, f"points must be 2 or more, not {points}")
    a, b, c = corners
    first, second = add(b, a, -1), add(c, a, -1)
    wide, tall = flatten(first).double(), flatten(second).double()
    length = float(wide.norm())
    along_first = float(wide @ tall) / max(length, 1e-30)
    height = float((tall - wide * (along_first / max(length, 1e-30))).norm())
    require(
        min(length, height) > 1e-5 * max(length, float(tall.norm())),
        "the three models lie on a line: there is no plane through them",
    )
    u = scaled(first, 1 / length)
    v = scaled(add(second, u, -along_first), 1 / height)
    spots = np.array([[0, 0], [length, 0], [along_first, height]])
    low, high = spots.min(0), spots.max(0)
    beyond = margin * (high - low)
    across, up = np.linspace(low - beyond, high + beyond, points, axis=1)
    found = around(model, a, (u, v), (across, up), x, y)
    return Surface(found.x, found.y, found.loss, found.accuracy, spots)


def simplex(
    model: nn.Module, corners: Tree, x: Tensor, y: Tensor, steps: int = 20
) -> Simplex:
    """Loss of every mixture of three stacked models with weights in steps of 1 / steps.

    Corner 0 is at the left, 1 at the right, 2 on top. Paper: FedLAW Fig. 12.
    """
    _check_three(len(next(iter(corners.values()))))
    require(steps >= 1, f"steps must be 1 or more, not {steps}")
    grid = [
        (steps - j - k, j, k) for k in range(steps + 1) for j in range(steps + 1 - k)
    ]
    weights = np.array(grid) / steps
    models = [take(corners, i) for i in range(3)]
    origin = tree_map(torch.zeros_like, models[0])
    loss, accuracy = _judge(model, origin, models, weights, x, y)
    across = weights[:, 1] + weights[:, 2] / 2
    return Simplex(weights, across, weights[:, 2] * 3**0.5 / 2, loss, accuracy)


def _check_three(given: int) -> None:
    require(given == 3, f"three models are needed, not {given}")


def _judge(
    model: nn.Module,
    state: Tree,
    directions: Sequence[Tree],
    coordinates: np.ndarray,
    x: Tensor,
    y: Tensor,
) -> tuple[np.ndarray, np.ndarray]:
    """Loss and accuracy of state + coordinates @ directions: (points,) each."""
    strange = sorted({n for d in directions for n in d} - state.keys())
    require(not strange, f"the state has no {', '.join(strange)}: other model?")
    full = [{n: d.get(n, torch.zeros_like(v)) for n, v in state.items()}
            for d in directions]  # fmt: skip
    basis = stack(full)
    at_once = max(1, min(MODELS_AT_ONCE, NUMBERS_AT_ONCE // max(1, count(state))))
    classes, loss, accuracy = int(y.max()) + 1, [], []
    for i in range(0, len(coordinates), at_once):
        part = torch.from_numpy(coordinates[i : i + at_once])
        models = tree_map(
            lambda v, d, part=part: v + torch.tensordot(part.to(d), d, dims=1),
            state,
            basis,
        )
        found = evaluate(model, models, x, y, classes)
        loss.append(found.loss.cpu().numpy())
        accuracy.append(found.accuracy.cpu().numpy())
    return np.concatenate(loss), np.concatenate(accuracy)

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
from fedlab_core.tree import Tree, add, count, stack, take, tree_map

NUMBERS_AT_ONCE = 2**25  # of all the models of a slice
Axis = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """Loss and accuracy along a line: (points,) each."""

    at: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray


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


def simplex(
    model: nn.Module, corners: Tree, x: Tensor, y: Tensor, steps: int = 20
) -> Simplex:
    """Loss of every mixture of three stacked models with weights in steps of 1 / steps.

    Corner 0 is at the left, 1 at the right, 2 on top. Paper: FedLAW Fig. 12.
    """
    given = len(next(iter(corners.values())))
    require(given == 3, f"three models are needed, not {given}")
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

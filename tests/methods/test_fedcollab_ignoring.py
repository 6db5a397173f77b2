"""FedCollab without one of the two things that it goes by."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.methods.fedcollab import FedCollab, collaborate, solve

# Two large clients and two small ones; the pairs (0, 2) and (1, 3) are close.
SIZES = [400, 400, 20, 20]
D = np.array(
    [
        [0.0, 0.3, 0.1, 0.6],
        [0.3, 0.0, 0.6, 0.1],
        [0.1, 0.6, 0.0, 0.5],
        [0.6, 0.1, 0.5, 0.0],
    ]
)


@pytest.fixture
def four(monkeypatch) -> Any:
    module = import_module("fedlab_core.methods.fedcollab")
    monkeypatch.setattr(module, "distances", lambda world, seed: torch.from_numpy(D))
    y, pixels = np.arange(sum(SIZES)) % 2, np.zeros((sum(SIZES), 2, 2), np.uint8)
    data = fl.Dataset("four", pixels, y, pixels, y, ("a", "b"), (0.5,), (0.5,))
    held = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])
    who = fl.Partition("by size", {}, tuple(held))
    return fl.world(data, who, fl.build("mlp", data.shape, 2))


@pytest.mark.parametrize("C", (0.5, 2.0, 4.0, 8.0, 30.0))
def test_what_is_ignored_is_alike_for_all(four, C):
    mean = np.full_like(D, D.sum() / 12)
    np.fill_diagonal(mean, 0)
    for ignore, d, m in (
        ("", D, SIZES),
        ("quantities", D, [210] * 4),
        ("distances", mean, SIZES),
    ):
        got = collaborate(four, C, restarts=5, ignore=ignore).solution  # type: ignore[arg-type]
        want = solve(d, m, C, restarts=5)
        assert got.group_of == want.group_of and got.cost == pytest.approx(want.cost)


@pytest.mark.parametrize(
    ("ignore", "C", "group_of"),
    [("quantities", 2.0, [0, 1, 2, 3]), ("distances", 4.0, [0, 1, 0, 0])],
)
def test_each_of_the_two_matters(four, ignore, C, group_of):
    """Small ones need others, and the right ones: with both known, a pair each."""
    assert FedCollab(C, restarts=5).begin(four, 0) == [0, 1, 0, 1]
    assert FedCollab(C, restarts=5, ignore=ignore).begin(four, 0) == group_of


def test_nothing_else_can_be_ignored(four):
    with pytest.raises(InputError, match="ignore must be '', quantities or distances"):
        FedCollab(5.0, ignore="labels")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ignore must be '', quantities"):
        collaborate(four, ignore="labels")  # type: ignore[arg-type]

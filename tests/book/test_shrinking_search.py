"""Chapter 4's search: its limits, its pictures, and the page's own lines."""

import ast
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book.bench import Bench
from fedlab_book.chapters.shrinking import knob, search
from fedlab_book.shares import shares
from fedlab_core.methods.fedlaw import fedlaw
from tests.figure_cases import drawn
from tools import paths

CHAPTER = paths.ROOT / "notebooks" / "04_shrinking_the_average.ipynb"


def path(*wrong_share: float, other: float = 0.0) -> list[tuple]:
    """Three clients, the last wrong: its share at every step, and the second's."""
    return [(2.0 - w, 0.9, np.array([1 - w - other, other, w])) for w in wrong_share]


def test_the_least_share_is_what_all_steps_together_can_do():
    """Rates .1, .1, .05: a log-share falls by .25 and the other rises by as much."""
    far = search.reach(0.1, 3, 2)
    assert far == pytest.approx(0.25) and search.reach(0.1, 0, 2) == 0
    down, up = 0.5 * np.exp(-far), 0.5 * np.exp(far)
    assert search.least_share(far) == pytest.approx(100 * down / (down + up))


def test_the_least_share_is_that_of_adam_where_the_slope_stays():
    b = torch.zeros(2, dtype=torch.double, requires_grad=True)
    adam = torch.optim.Adam([b], 0.15, betas=(0.5, 0.999))
    slower = torch.optim.lr_scheduler.StepLR(adam, 3, gamma=0.5)
    for _ in range(10):
        b.grad = torch.tensor([-1e3, 1e3], dtype=torch.double)
        adam.step()
        slower.step()
    left = 100 * float(b.detach().softmax(0)[1])
    assert left == pytest.approx(
        search.least_share(search.reach(0.15, 10, 3)), rel=1e-6
    )


def test_one_search_says_whose_share_changes_most():
    alt = drawn(search.one_round(path(0.5, 0.19), path(0.5, 0.5)))
    assert "clinic 0's share changes most, from 50 to 81" in alt


@pytest.mark.slow
def test_the_chapters_own_lines_find_what_the_core_finds():
    """Its cells tagged `algorithm`, on another federation, and for other settings."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    whole = [c.source for c in cells if "algorithm" in c.metadata.get("tags", [])]
    names: dict[str, Any] = {"torch": torch}
    exec(compile(ast.parse("\n".join(whole)), str(CHAPTER), "exec"), names)
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=0.5, capacity=False)(7)
    local = fl.Training(lr=0.2, epochs=2, batch_size=32)
    for steps, rates, halve in ((5, (0.1, 0.02), 2), (12, (0.03, 0.2), 5)):
        how = {"server_epochs": steps, "halve_every": halve, "batch": 1000}
        method = fedlaw(local, lr=rates[0], x_lr=rates[1], **how)
        came = knob.arrived(world, method, 2, 7)
        assert world.proxy is not None
        x, y = world.proxy

        def loss_of(w, x=x, y=y):
            return F.cross_entropy(torch.func.functional_call(world.model, w, (x,)), y)

        given = loss_of, came["models"], came["shares"], steps, rates, halve
        found = names["search_round"](*given)
        seen = fl.federate(
            world, method, 2, seed=7, observe=shares, progress=False
        ).rows[-1]
        assert found[-1][1] == pytest.approx(seen["gamma"], abs=1e-5)
        assert np.allclose(found[-1][2], seen["shares"], atol=1e-5)
        assert abs(found[-1][1] - 1) > 1e-3  # it went somewhere

"""Chapter 5's search and round: their reach, and the page's own lines."""

from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book.bench import Bench
from fedlab_book.chapters.shrinking import search
from fedlab_book.shares import shares
from fedlab_core.methods.fedlaw import fedlaw, shrunk
from tools import paths

CHAPTER = paths.ROOT / "notebooks" / "05_shrinking_the_average.ipynb"


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


@pytest.mark.slow
def test_the_chapters_own_lines_find_what_the_core_finds():
    """Its round and its search, on another federation, and for other settings."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    own = [
        c.source for c in cells if c.source.startswith(("def trained", "def search"))
    ]
    names: dict[str, Any] = {"torch": torch, "F": F, "functional_call": functional_call}
    exec(compile("\n".join(own), str(CHAPTER), "exec"), names)
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=0.5, capacity=False)(7)
    clinics = [(world.x[i], world.y[i]) for i in world.partition.indices]
    start = {n: w.detach() for n, w in world.model.named_parameters()}
    local, how = (
        fl.Training(lr=0.2, epochs=2, batch_size=1000),
        {"lr": 0.2, "epochs": 2},
    )
    run = fl.federate(world, shrunk(local, gamma=0.8), 1, start=start, progress=False)
    mine = names["shrinking_round"](world.model, start, clinics, 0.8, batch=999, **how)
    assert all(torch.allclose(mine[n], w[0], atol=1e-5) for n, w in run.states.items())
    assert world.proxy is not None
    x, y = world.proxy

    def loss_of(w):
        return F.cross_entropy(functional_call(world.model, w, (x,)), y)

    rows = [names["trained"](world.model, start, *c, batch=999, **how) for c in clinics]
    models = {n: torch.stack([row[n] for row in rows]) for n in start}
    for steps, rates in ((5, (0.1, 0.02)), (12, (0.03, 0.2))):
        given = {
            "server_epochs": steps,
            "batch": 1000,
            "lr": rates[0],
            "x_lr": rates[1],
        }
        method = fedlaw(local, **given)
        sizes = world.counts.sum(1).float()
        gamma, shares_ = names["search"](loss_of, models, sizes, steps, rates)
        core = fl.federate(
            world, method, 1, start=start, observe=shares, progress=False
        )
        seen = core.rows[-1]
        assert gamma == pytest.approx(seen["gamma"], abs=1e-5) and abs(gamma - 1) > 1e-3
        assert np.allclose(shares_, seen["shares"], atol=1e-5)

"""The server's optimisers against PyTorch's, to the last bit."""

import subprocess
import sys

import pytest
import torch

from fedlab_core.methods.descent import Adam, Sgd


def walked(mine, theirs, w, steps=30):
    """Both positions after the same random slopes, at a rate that falls."""
    rng = torch.Generator().manual_seed(1)
    for t in range(steps):
        slope = torch.randn(w.shape, generator=rng, dtype=w.dtype)
        lr = 0.1 / (1 + t)
        mine.step(slope, lr)
        theirs.param_groups[0]["lr"] = lr
        theirs.param_groups[0]["params"][0].grad = slope.clone()
        theirs.step()
    return mine.x, theirs.param_groups[0]["params"][0]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 5e-4])
@pytest.mark.parametrize("begun", [False, True])
def test_sgd_is_that_of_pytorch(momentum, decay, begun):
    w = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    theirs = torch.optim.SGD([w.clone()], 0.1, momentum, weight_decay=decay)
    velocity = torch.ones_like(w) if begun and momentum else None
    if velocity is not None:
        state = theirs.state[theirs.param_groups[0]["params"][0]]
        state["momentum_buffer"] = velocity.clone()
    mine = Sgd(w.clone(), momentum, decay, velocity)
    ours, wanted = walked(mine, theirs, w)
    assert torch.equal(ours, wanted) and not torch.equal(ours, w)
    if velocity is not None:
        assert torch.equal(velocity, torch.ones_like(w)), "what is given stays"


@pytest.mark.parametrize("shape", [(), (7, 3)])
@pytest.mark.parametrize("betas", [(0.5, 0.999), (0.9, 0.99)])
def test_adam_is_that_of_pytorch(betas, shape):
    rng = torch.Generator().manual_seed(0)
    w = torch.randn(shape, generator=rng, dtype=torch.float64)
    theirs = torch.optim.Adam([w.clone()], 0.1, betas)
    ours, wanted = walked(Adam(w.clone(), betas), theirs, w)
    assert torch.equal(ours, wanted) and not torch.equal(ours, w)


PLAY = """
import sys
import torch
import fedlab_core as fl
from fedlab_use.analysis.curvature import top_curvature
from fedlab_use.analysis.variance import gradient_variance
from fedlab_core.models import describe

data = fl.load("letters", n_train=60, n_test=40)
clients, make = fl.iid(data.y_train, 2), fl.build("mlp", data.shape, 10, hidden=(8,))
w = fl.world(data, clients, make, proxy=fl.Proxy(1))
few = {"epochs": 2}
for method in (fl.fedlaw(server_epochs=2), fl.feddf(**few), fl.server_ft(**few)):
    state = fl.tree.take(fl.federate(w, method, 1).states, 0)
rng = torch.Generator().manual_seed(0)
top_curvature(w.model, state, w.x, w.y, rng, k=2, steps=2)
gradient_variance(w.model, state, w.x, w.y, [w.client(0), w.client(1)])
describe("lenet", (1, 28, 28), 10)
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.slow
def test_nothing_that_chapters_do_loads_the_compiler():
    """It takes 1.5 s, in a process that is there for some twenty."""
    done = subprocess.run(
        [sys.executable, "-c", PLAY], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "False", done.stdout + done.stderr

"""FedLAW's search step by step, beside the core's own: the same numbers."""

from typing import Any

import pytest
import torch

from fedlab_browser.tracing import LawInSteps, in_steps
from fedlab_core import Proxy, World, fedavg, world
from fedlab_core.methods.fedlaw import Law, LawSwa
from fedlab_core.rounds import ServerState
from fedlab_core.tree import norm
from tests.methods.at_server import at_the_server

NEAR = 2e-6  # the gradients are in float32, where one step is 6e-8
FEW: dict[str, Any] = {"server_epochs": 5, "batch": 16, "halve_every": 2}
LAWS = {
    "gamma": Law("gamma", **FEW),
    "lambda": Law("lambda", parameters="quad", **FEW),
    "both": Law(x_lr=0.05, global_lr=0.5, **FEW),
    "quad": Law(parameters="quad", start="equal", betas=(0.0, 0.9), **FEW),
    "none": Law(server_epochs=0),
}


@pytest.fixture(scope="module")
def proxied(small_data, small_world) -> World:
    w = small_world
    return world(small_data, w.partition, w.make, proxy=Proxy(per_class=3))


def stepped(law: Law, now) -> tuple[ServerState, int]:
    """A round by single steps on the core's mini-batches, and how many they were."""
    mine, steps = LawInSteps(law), law.steps(now)
    known, found = mine.begin(now)
    paces, t = mine.paces(steps.per_epoch), 0
    for _ in range(mine.epochs):
        for batch in steps.epoch():
            here = {n: torch.tensor(v[t]).double() for n, v in paces.items()}
            found = mine.step(known, found, batch, here, steps.gradient_at)
            t += 1
    assert t == len(paces["root"])
    return mine.finish(now, known, found, steps.buffers)[0], t


@pytest.mark.parametrize("name", LAWS)
def test_steps_find_what_the_core_finds(proxied, name):
    law, now = LAWS[name], at_the_server(proxied)
    wanted, (mine, steps) = law(now), stepped(law, now)
    assert (steps > 0) == (name != "none")
    gamma = float(wanted.metrics["gamma"])
    assert float(mine.metrics["gamma"]) == pytest.approx(gamma, abs=NEAR)
    a, b = (state.memory["lambda"] for state in (mine, wanted))
    torch.testing.assert_close(a, b, rtol=NEAR, atol=NEAR)
    gap = {n: mine.model[n] - w for n, w in wanted.model.items()}
    assert norm(gap) <= NEAR * norm(wanted.model)


def test_another_search_is_told_apart(proxied):
    """The comparison can fail: a rate that is halved later finds other numbers."""
    now = at_the_server(proxied)
    mine, _ = stepped(Law(server_epochs=5, batch=16), now)
    wanted = Law(**FEW)(now)
    assert abs(mine.metrics["gamma"] - wanted.metrics["gamma"]) > 100 * NEAR


def test_only_searches_alike_in_every_round_are_taken_apart():
    assert in_steps(Law()) == LawInSteps(Law())
    for other in (Law(early_stop=3), Law(statistics="reestimate"), LawSwa()):
        assert in_steps(other) is None
    assert in_steps(fedavg().server.step) is None

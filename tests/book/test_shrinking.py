"""Computations and pictures of single chapters."""

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench
from fedlab_book.chapters.shrinking.knob import GAMMAS, Turned, knob
from fedlab_core import tree
from fedlab_core.errors import InputError


def a_round(proxy: fl.Proxy | None) -> tuple:
    bench = Bench(samples=200, tests=60, sizes={"hidden": [8]}, proxy=proxy, seeds=[5])
    world = bench.place("dirichlet", clients=4, alpha=1.0)(5)
    seen = {}

    def look(now) -> dict:
        seen.update(begin=tree.take(now.before, 0), models=now.trained.states)
        seen.update(shares=now.weights[0])
        return {}

    method = fl.fedavg(fl.Training(lr=0.2, epochs=2, batch_size=16))
    played = fl.federate(world, method, 1, seed=5, observe=look, progress=False)
    return world, seen, tree.take(played.states, 0)


def test_the_knob_turns_the_average_of_a_round():
    """By one step of arithmetic each: the way, its two arrows, and what is said."""
    world, seen, after = a_round(fl.Proxy(2))
    turned = Turned.of(world, **seen, image=3)
    one = GAMMAS.index(1.0)
    x, y = world.proxy
    with torch.no_grad():
        out = torch.func.functional_call(world.model, after, (x,))
        loss = torch.nn.functional.cross_entropy(out, y)
    assert turned.loss[one] == pytest.approx(float(loss), rel=1e-5)
    begin, end = tree.flatten(seen["begin"]), tree.flatten(after)
    assert turned.step[one] == pytest.approx(float((end - begin).norm()), rel=1e-4)
    assert turned.pull[one] == 0 and turned.kept(1.0) == 1
    for at, gamma in enumerate(GAMMAS):
        new = gamma * (np.array([turned.start, 0]) + turned.way)
        assert np.linalg.norm(new) == pytest.approx(gamma * float(end.norm()), rel=1e-4)
        assert turned.pull[at] == pytest.approx(abs(1 - gamma) * turned.start, rel=1e-4)
        assert turned.sure[at].sum() == pytest.approx(1, abs=1e-5)
    assert turned.loss[GAMMAS.index(turned.best)] == turned.loss.min()


def test_the_knob_says_what_it_shows():
    world, seen, _ = a_round(fl.Proxy(2))
    turned = Turned.of(world, **seen, image=3)
    _, alt = knob(turned, 0.75)
    assert f"lowest at {turned.best:g}" in alt
    assert f"the pull to zero {turned.start / 4:.2f}" in alt
    assert f"of an image of {turned.classes[turned.truth]}" in alt


def test_a_world_without_a_proxy_set_is_refused():
    world, seen, _ = a_round(None)
    with pytest.raises(InputError, match="no proxy set"):
        Turned.of(world, **seen, image=3)

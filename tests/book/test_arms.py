"""Chapters' changes to a method or a federation, against the same by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book import arms
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import seen
from fedlab_core.metrics import logits

BENCH = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
PLACE = BENCH.place("dirichlet", clients=4, alpha=1.0)
TRAIN = fl.Training(lr=0.2, epochs=1, batch_size=16)


@pytest.mark.slow
def test_the_server_sets_how_sure_the_network_is():
    """The bar is as high as asked; of parameters only a factor is left, by hand."""
    amplified, plain = arms.amplified(PLACE), fl.fedavg(TRAIN)
    world = amplified(7)

    def after(method: fl.Method, rounds: int, place=amplified) -> dict:
        run = fl.federate(place(7), method, rounds, seed=7, progress=False)
        return dict(run.states)

    def bar(state: dict) -> float:
        with torch.no_grad():
            out = logits(world.model, {n: v[0] for n, v in state.items()}, world.x_test)
        return float(out.softmax(1).amax(1).mean())

    run = fl.federate(PLACE(7), plain, 3, seed=7, observe=seen.sureness, progress=False)
    own = arms.course(Comparison({("here", "FedAvg", 7): run}), "FedAvg", "here")
    assert [*own] == [7] and own[7] == {row["round"]: row["sure"] for row in run.rows}
    same = after(arms.as_sure(plain, amplified, own), 3)
    assert float(same.pop("head.times")) == pytest.approx(1, abs=1e-3)
    assert all(torch.allclose(v, run.states[n], atol=1e-3) for n, v in same.items())

    bars = {7: {1: 0.15, 2: 0.3, 3: 0.9}}
    first = after(plain, 1, PLACE)
    for gamma in (1.0, 0.5):
        method = arms.as_sure(plain, amplified, bars, gamma)
        ends = [after(method, t) for t in (1, 2, 3)]
        assert [bar(state) for state in ends] == pytest.approx([0.15, 0.3, 0.9])
        assert all(torch.equal(ends[0][n], gamma * v) for n, v in first.items())
        numbers = [float(state["head.times"]) for state in ends]
        assert numbers[0] < numbers[1] < numbers[2]
    with pytest.raises(ValueError, match="FedAvg: the network has no head.times"):
        after(arms.as_sure(plain, PLACE, bars), 1, PLACE)


def test_steps_are_as_small_as_the_mean_number_before_them():
    """Rounds at .2, then .2 times .6 and times .3: each client's data in one batch."""
    local, world = replace(TRAIN, batch_size=1000), PLACE(7)
    beta = np.array([[0.5, 0.2, 0.1], [0.7, 0.4, 0.3]])
    method = arms.smaller(fl.fedavg(local), beta)
    run = fl.federate(world, method, 3, seed=7, progress=False)
    state = None
    for lr in (0.2, 0.2 * 0.6, 0.2 * 0.3):
        plain, how = fl.fedavg(replace(local, lr=lr)), {"seed": 7, "progress": False}
        start = {n: v[0] for n, v in state.items()} if state else None
        state = dict(fl.federate(world, plain, 1, start=start, **how).states)
    assert state and run.states
    assert all(torch.allclose(v, state[n], atol=1e-6) for n, v in run.states.items())


def test_a_round_of_weight_decay_leaves_every_client_the_same_part():
    """Of 100 samples 10 and 50, in batches of 16: one step and four, twice."""
    fade = arms.Fade(0.9, 100, replace(TRAIN, epochs=2))
    for share, steps in ((0.1, 2), (0.5, 8)):
        given = fl.ClientInput({}, broadcast={"share": torch.tensor(share)})
        kept = torch.ones(3)
        for _ in range(steps):
            kept = kept - 0.2 * fade({"w": kept}, given)["w"]
        assert kept.tolist() == pytest.approx([0.9] * 3)
    whole, world = replace(TRAIN, batch_size=1000), PLACE(7)
    same = fl.fedavg(replace(whole, weight_decay=0.1 / 0.2))  # 1 - .2 times it: .9
    ends = [
        fl.federate(world, method, 2, seed=7, progress=False).states
        for method in (arms.decayed(fl.fedavg(whole), 0.9, len(world.x)), same)
    ]
    assert all(torch.allclose(v, ends[1][n], atol=1e-6) for n, v in ends[0].items())


def test_a_bare_network_has_no_biases():
    world = arms.bare(PLACE)(7)
    assert set(world.parameters) < set(PLACE(7).parameters)
    run = fl.federate(world, fl.fedavg(TRAIN), 1, seed=7, progress=False)
    assert run.states and not any(n.endswith("bias") for n in run.states)


def test_one_client_more_holds_the_servers_images():
    old, new = PLACE(7), arms.joined(PLACE)(7)
    assert old.proxy is not None and len(old) == 4 and len(new) == 5
    x, y = old.proxy
    held = new.client(4)
    assert (new.x[held] == x).all() and (new.y[held] == y).all()
    assert new.counts[4].tolist() == [3] * len(new.classes)
    assert (new.counts[:4] == old.counts).all() and (new.x[: len(old.x)] == old.x).all()

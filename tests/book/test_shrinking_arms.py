"""Chapter 4's changes to a method or a federation, against the same by hand."""

from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import arms, seen
from fedlab_core.metrics import logits
from fedlab_core.tree import flatten

BENCH = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
PLACE = BENCH.place("dirichlet", clients=4, alpha=1.0)
TRAIN = fl.Training(lr=0.2, epochs=1, batch_size=16)


def test_a_factor_multiplies_the_model_of_its_round_alone():
    """Against the same rounds without it, and by hand; buffers stay as they are."""
    bench = Bench(samples=200, tests=60, sizes={"hidden": [8]}, seeds=[5])
    world = bench.place("dirichlet", clients=3, alpha=1.0)(5)
    plain = fl.fedavg(fl.Training(lr=0.2, epochs=1, batch_size=16))
    once = arms.by_round(plain, lambda t: 0.5 if t == 2 else 1.0)
    ends = {
        (name, t): fl.federate(world, method, t, seed=5, progress=False).states
        for name, method in (("plain", plain), ("once", once))
        for t in (1, 2, 3)
    }
    for name, values in ends["plain", 1].items():
        assert (ends["once", 1][name] == values).all()
    for name, values in ends["plain", 2].items():
        assert (ends["once", 2][name] == 0.5 * values).all()
    third = [flatten(ends[name, 3]) for name in ("plain", "once")]
    assert 0.5 < float(third[1].norm() / third[0].norm()) < 0.9  # it trained on


@pytest.mark.slow
def test_the_controls_go_half_of_the_way_and_halve_once():
    world, still = PLACE(5), fl.fedavg(fl.Training(lr=1e-12, batch_size=16))
    made = {"plain": fl.fedavg(TRAIN), "still": still}
    made |= arms.controls(made["plain"])

    def after(name: str, rounds: int) -> torch.Tensor:
        run = fl.federate(world, made[name], rounds, seed=5, progress=False)
        return flatten(run.states)

    start = after("still", 1)
    way = after("plain", 1) - start
    assert torch.allclose(after("half of the step", 1) - start, way / 2, atol=1e-6)
    assert torch.equal(after("halved once", 4), after("plain", 4))
    assert torch.equal(after("halved once", 5), after("plain", 5) / 2)


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

    run = fl.federate(PLACE(7), plain, 3, seed=7, observe=seen.shrunk, progress=False)
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


def test_a_bare_network_has_no_biases():
    world = arms.bare(PLACE)(7)
    assert set(world.parameters) < set(PLACE(7).parameters)
    run = fl.federate(world, fl.fedavg(TRAIN), 1, seed=7, progress=False)
    assert run.states and not any(n.endswith("bias") for n in run.states)


def test_smaller_steps_are_as_small_as_the_mean_numbers():
    courses = {2: {1: 0.5, 2: 0.2}, 4: {2: 0.4, 1: 0.7}}
    method = arms.smaller(fl.fedavg(TRAIN), courses)
    schedule = method.training.schedule
    assert schedule is not None
    times = schedule(torch.tensor([0.0, 0.9, 1.0, 1.5, 2.0, 7.0]))
    assert times.tolist() == pytest.approx([1, 1, 0.6, 0.6, 0.3, 0.3])
    assert replace(method.training, schedule=None) == TRAIN


def test_one_client_more_holds_the_servers_images():
    old, new = PLACE(7), arms.joined(PLACE)(7)
    assert old.proxy is not None and len(old) == 4 and len(new) == 5
    x, y = old.proxy
    held = new.client(4)
    assert (new.x[held] == x).all() and (new.y[held] == y).all()
    assert new.counts[4].tolist() == [3] * len(new.classes)
    assert (new.counts[:4] == old.counts).all() and (new.x[: len(old.x)] == old.x).all()

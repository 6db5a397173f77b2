"""What chapter 4 does to a method or a federation, against doing it by hand."""

import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import arms
from fedlab_core.tree import flatten
from tests.shrinking_cases import LEARNED

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


def test_a_path_is_the_mean_of_other_seeds():
    runs = {
        ("alike", LEARNED, seed): fl.History(
            LEARNED, seed, [{"round": t, "gamma": 1 + seed / t} for t in (1, 2)]
        )
        for seed in (1, 2, 4)
    }
    path = arms.mean_path(Comparison(runs), LEARNED, [2, 4])
    assert path == {1: pytest.approx(4.0), 2: pytest.approx(2.5)}


def test_parameters_and_outputs_are_multiplied_apart():
    """The same start and draws; factors of one change nothing, others are by hand."""
    amplified, plain = arms.amplified(PLACE), fl.fedavg(TRAIN)

    def after(method: fl.Method, rounds: int, place=amplified) -> dict:
        run = fl.federate(place(7), method, rounds, seed=7, progress=False)
        return dict(run.states)

    usual = after(plain, 3, PLACE)
    for made in (arms.less_sure, arms.shorter):
        same = after(made(plain, lambda seed, t: 1.0), 3)
        assert float(same.pop("head.times")) == 1
        assert all(torch.equal(same[n], usual[n]) for n in usual)

    table = {(7, 1): 0.5, (7, 2): 1.5, (7, 3): 0.25}
    sure, short = (
        made(plain, lambda seed, t: table[seed, t])
        for made in (arms.less_sure, arms.shorter)
    )
    first = after(plain, 1, PLACE)
    once = {"sure": after(sure, 1), "short": after(short, 1)}
    assert all(torch.equal(once["sure"][n], v) for n, v in first.items())
    for n, v in first.items():
        assert torch.equal(once["short"][n], v * 0.5 ** (1 + (n == "head.bias")))
    new, x = amplified(7).model, amplified(7).x_test[:5]
    loud = {n: v[0] for n, v in once["sure"].items()}
    still = {n: v[0] for n, v in first.items()}
    with torch.no_grad():
        quiet = torch.func.functional_call(new, loud, (x,))
        before = torch.func.functional_call(PLACE(7).model, still, (x,))
        kept = {n: v[0] for n, v in once["short"].items()}
        kept["head.times"] = torch.tensor(0.5**-2)  # its two layers'
        as_sure = torch.func.functional_call(new, kept, (x,))
    assert torch.allclose(quiet, before / 8)
    assert torch.allclose(as_sure, before, atol=1e-6)
    for method, power in ((sure, 3), (short, -3)):
        times = [float(after(method, t)["head.times"]) for t in (1, 2, 3)]
        by_hand = [0.5**power, 0.75**power, 0.1875**power]
        assert times == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="FedAvg: the network's outputs are not"):
        after(sure, 1, PLACE)


def test_a_course_has_every_seeds_factors():
    runs = {
        ("alike", LEARNED, seed): fl.History(
            LEARNED, seed, [{"round": t, "gamma": 1 + seed / t} for t in (1, 2)]
        )
        for seed in (2, 4)
    }
    course = arms.course(Comparison(runs), LEARNED, "alike")
    assert course == {2: {1: 3.0, 2: 2.0}, 4: {1: 5.0, 2: 3.0}}


def test_one_client_more_holds_the_servers_images():
    old, new = PLACE(7), arms.joined(PLACE)(7)
    assert old.proxy is not None and len(old) == 4 and len(new) == 5
    x, y = old.proxy
    held = new.client(4)
    assert (new.x[held] == x).all() and (new.y[held] == y).all()
    assert new.counts[4].tolist() == [3] * len(new.classes)
    assert (new.counts[:4] == old.counts).all() and (new.x[: len(old.x)] == old.x).all()

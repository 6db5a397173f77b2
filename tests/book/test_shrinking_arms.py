"""What chapter 4 does to a method or a federation, against doing it by hand."""

import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import arms, seen
from fedlab_core.methods.fedlaw import gws, shrunk
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


def test_a_factor_is_limited_by_what_the_round_began_with_and_the_average():
    """Against a run's own lengths: here it may not leave the model shorter."""
    how = {"seed": 7, "observe": seen.terms, "progress": False}

    def rule(gamma: float, began: float, average: float) -> float:
        return max(gamma, min(1.0, began / average))

    for factor in (0.5, 0.999, 1.2):
        fixed = shrunk(TRAIN, gamma=factor)
        rows = fl.federate(PLACE(7), arms.limited(fixed, rule), 4, **how).rows
        for now, after in zip(rows, rows[1:], strict=False):
            average = now["length"] + now["longer"]
            by = rule(factor, now["length"], average)
            assert now["gamma"] == pytest.approx(by, rel=1e-5)
            assert after["length"] == pytest.approx(by * average, rel=1e-5)
        if factor == 0.5:
            lengths = [row["length"] for row in rows]
            assert lengths == pytest.approx(lengths[:1] * 4, abs=1e-4)
    with pytest.raises(ValueError, match="FedAvg has no factor"):
        fl.federate(PLACE(7), arms.limited(fl.fedavg(TRAIN), rule), 1, seed=7)


def test_a_learned_factor_that_a_rule_leaves_is_as_it_was():
    how = {"seed": 7, "progress": False}
    learning = gws(TRAIN, server_epochs=10, batch=1000, lr=0.05)
    left = arms.limited(learning, lambda gamma, began, average: gamma)
    free, held = (fl.federate(PLACE(7), m, 2, **how) for m in (learning, left))
    assert [row["gamma"] for row in free.rows] == [row["gamma"] for row in held.rows]
    assert all((held.states[n] == w).all() for n, w in free.states.items())


def test_one_client_more_holds_the_servers_images():
    old, new = PLACE(7), arms.joined(PLACE)(7)
    assert old.proxy is not None and len(old) == 4 and len(new) == 5
    x, y = old.proxy
    held = new.client(4)
    assert (new.x[held] == x).all() and (new.y[held] == y).all()
    assert new.counts[4].tolist() == [3] * len(new.classes)
    assert (new.counts[:4] == old.counts).all() and (new.x[: len(old.x)] == old.x).all()


def test_a_server_gets_other_images_of_those_that_nobody_trains_on():
    old, drawn = PLACE(7), arms.other_images(BENCH, PLACE, 2)
    assert list(drawn) == [1, 2]
    worlds = [old, *(place(7) for place in drawn.values())]
    pools = []
    for world in worlds:
        assert world.proxy is not None
        x, y = world.proxy
        assert torch.bincount(y).tolist() == [3] * len(world.classes)
        assert (world.x == old.x).all() and world.partition is old.partition
        both = torch.cat([world.x_test, x]).flatten(1), torch.cat([world.y_test, y])
        key = [(*row.tolist(), int(label)) for row, label in zip(*both, strict=True)]
        pools.append(sorted(key))
    assert pools[0] == pools[1] == pools[2]  # the same images, dealt anew
    seen_by = [world.proxy[0] for world in worlds if world.proxy]
    assert not torch.equal(seen_by[1], seen_by[2])
    assert not torch.equal(seen_by[0], seen_by[1])


def test_draws_stand_in_for_seeds():
    runs = {
        (draw, arm, 7): fl.History(
            arm, 7, [{"round": 1, "accuracy": 0.5 + draw * more}]
        )
        for draw in (1, 2, 3)
        for arm, more in (("FedAvg", 0.0), (LEARNED, 0.1))
    }
    found = arms.as_seeds(Comparison(runs, last=1), "there")
    assert found.gain(LEARNED, where="there") == pytest.approx([10, 20, 30])

"""Runs in processes of their own: the same numbers, and their faults come back."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book import parallel
from fedlab_book.bench import Bench

TRAIN = fl.Training(lr=0.2, epochs=1)


def runs(many: int, **options) -> list[fl.Run]:
    bench = Bench(samples=120, tests=40, sizes={"hidden": [8]})
    place = bench.place("dirichlet", clients=3, alpha=1.0)
    return [fl.Run(place(7), fl.fedavg(TRAIN), 2, s, **options) for s in range(many)]


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.mark.slow
def test_they_are_what_one_process_plays(two_threads):
    for many in (1, 4, 5):
        found, told = parallel.run_apart(runs(many)), fl.run_all(runs(many))
        assert [h.seed for h in found] == list(range(many))
        for one, other in zip(found, told, strict=True):
            assert one.rows == other.rows
            assert all((one.states[n] == v).all() for n, v in other.states.items())
    assert torch.get_num_threads() == 2


def test_what_an_observer_returns_comes_back_and_what_it_keeps_does_not(two_threads):
    kept = []

    def look(now) -> dict:
        kept.append(now.number)
        return {"seen": now.number}

    found = parallel.run_apart(runs(4, observe=look))
    assert [r["seen"] for h in found for r in h.rows] == [1, 2] * 4
    assert len(kept) == 4  # of its own two runs


def test_a_fault_of_the_other_process_is_raised_here(two_threads):
    def look(now) -> dict:
        raise ArithmeticError("of seed 3")

    good, bad = runs(4), runs(4, observe=look)
    with pytest.raises(ArithmeticError, match="of seed 3"):
        parallel.run_apart([*good[:3], bad[3]])


def test_a_process_that_is_ended_is_told(two_threads, monkeypatch):
    monkeypatch.setattr(parallel, "_do", lambda work, runs, there: None)
    with pytest.raises(RuntimeError, match="without an answer"):
        parallel.run_apart(runs(4))


def test_one_thread_is_one_process(monkeypatch):
    monkeypatch.setattr(parallel, "multiprocessing", None)
    assert len(parallel.run_apart(runs(4))) == 4


@pytest.mark.slow
def test_a_bench_that_plays_apart_compares_the_same(two_threads):
    bench = Bench(samples=120, tests=40, sizes={"hidden": [8]}, seeds=[1, 2, 3])
    found = []
    for one in (bench, replace(bench, apart=True)):
        place = one.place("dirichlet", clients=3, alpha=1.0)
        found.append(one.compare(place, {"FedAvg": fl.fedavg(TRAIN)}, 2))
    assert found[0].frame.equals(found[1].frame)


def test_a_bench_asks_a_function_of_every_seed_in_order(two_threads):
    def made(seed: int) -> dict:
        held = (
            torch.full((2,), float(seed)),
            [torch.zeros(1).requires_grad_()],
            "word",
        )
        return {"who": os.getpid(), "held": held}

    bench = Bench(seeds=range(5))
    alone, spread = bench.each(made), replace(bench, apart=True).each(made)
    for found, many in ((alone, 1), (spread, 2)):
        assert [one["held"][0].tolist() for one in found] == [[s, s] for s in range(5)]
        assert isinstance(found[4]["held"][1][0], np.ndarray)
        assert found[4]["held"][2] == "word"
        assert len({one["who"] for one in found}) == many
    assert len(replace(bench, apart=True).each(made, [3])) == 1

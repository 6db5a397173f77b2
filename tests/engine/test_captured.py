"""The captured cohort: without a CUDA device by calling the step, with one by a graph.

What only a graph can get wrong is tested on the device; that nothing moves, that the
cohort is copied to where it was, that finished clients rest, and that it can be
used again, is tested everywhere.
"""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedlab_core import ClientInput, Rule, Training
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine
from fedlab_core.engine import Trained, begin_states, train
from fedlab_core.engine import graphs as module
from fedlab_core.engine.graphs import Captured, sizes
from fedlab_core.engine.plan import make_plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task
from fedlab_core.models.network import Network
from tests.engine.test_options import SCAFFOLD
from tests.engine_cases import (
    NETS,
    PLAIN,
    ROUND,
    TRICKY,
    assert_same,
    assert_same_bits,
    problem,
)

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
EVERYTHING = replace(
    ROUND, clip=1.0, schedule=Cosine(4), augment=CropFlip(1), keep_velocity=True,
    statistics="local",
)  # fmt: skip
WAYS = pytest.mark.parametrize(
    "training, rule",
    [(ROUND, Rule()), (EVERYTHING, SCAFFOLD)],
    ids=["SGD", "everything"],
)


class Rehearsal:
    """Stands in for a graph: calls the step, and runs it before, as a warm-up does."""

    captures = 0

    def __call__(self, step):
        self.captures += 1
        step()
        step()
        return step


def stacked(model, x, y, training, rule):
    return StackedCohort(Task(Network(model, training=True), x, y, training, rule))


def sending(given_, rule):
    """The same, with what a rule that corrects gradients has to be sent."""
    sent = {n: 0.1 * v for n, v in given_.start.items()} if rule.gradient else {}
    return replace(given_, broadcast=sent)


def in_order(sizes_):
    """Clients come with the most samples first."""
    return sorted(sizes_, reverse=True)


@WAYS
@pytest.mark.parametrize("name", [PLAIN, TRICKY, "small cnn"])
def test_a_stage_gives_every_rounds_numbers_from_the_same_place(name, training, rule):
    """Three rounds of other clients: the first captures, the others only copy."""
    capture = Rehearsal()
    stage = addresses = None
    for t, sizes_ in enumerate([[30, 30, 19, 8, 1], [29, 20, 19, 9, 2], [30, 5, 4]]):
        sizes_ += [0] * (5 - len(sizes_))
        model, x, y, cohort, given_ = problem(name, in_order(sizes_), seed=t, t=t)
        if training.augment and name.startswith("mlp"):
            training = replace(training, augment=None)
        if stage is None:
            shared = (model, x, y)
            stage = Captured(stacked(model, x, y, training, rule), 5, 16, capture)
        model, x, y = shared
        given_ = sending(given_, rule)
        want = train(model, x, y, cohort, given_, training, rule, engine="looped")
        state = begin_states(model, training, rule, given_)
        plan = make_plan(cohort, training)
        states, kept, uploads, loss = stage.play(plan, replace(given_, state=state))
        got = Trained(states, loss, plan.steps, kept, uploads)
        assert_same(got, want, 1e-9)
        now = {n: v.data_ptr() for n, v in stage.stage.trees["params"].items()}
        assert addresses in (None, now)
        addresses = now
        before = {n: v.clone() for n, v in got.states.items()}
        stage.stage.trees["params"]["head.bias"].add_(1)
        assert all(torch.equal(v, got.states[n]) for n, v in before.items())


def test_a_cohort_of_equal_clients_needs_one_graph():
    model, x, y, cohort, given_ = problem(TRICKY, [16] * 6)
    capture = Rehearsal()
    stage = Captured(stacked(model, x, y, ROUND, Rule()), 6, 4, capture)
    for _ in range(3):
        stage.play(make_plan(cohort, ROUND), given_)
    assert capture.captures == 1


@given(st.integers(1, 300))
def test_few_sizes_serve_every_number_of_clients(clients):
    found = sizes(clients)
    assert found[0] == clients and found[-1] == 1 and len(found) <= 24
    for n in range(1, clients + 1):
        size = min(s for s in found if s >= n)
        assert size <= max(n * 4 / 3 + 1, 2)


def test_stages_are_kept_for_rounds_alike_and_the_oldest_make_room(monkeypatch):
    monkeypatch.setattr(module, "CudaGraphs", Rehearsal)
    kept: dict = {}

    def stage(clients, batch_size=8, n=8):
        training = Training(batch_size=batch_size)
        *_, cohort, given_ = problem(PLAIN, [n] * clients)
        plan = make_plan(cohort, training)
        task = Task(network, *shared, training, Rule())
        return module.captured(task, plan, given_, kept)

    model, x, y, *_ = problem(PLAIN, [8])
    network, shared = Network(model, training=True), (x, y)
    first = stage(2)
    assert stage(2) is first
    others = [stage(3), stage(2, batch_size=4), stage(2, batch_size=4, n=30)]
    assert len({id(s) for s in (first, *others)}) == 4 == len(kept["stages"])
    assert stage(2) is first
    stage(4)
    assert len(kept["stages"]) == 4 and stage(2) is not first


# -- on a device -------------------------------------------------------------------


def on_gpu(problem_):
    model, x, y, cohort, given_ = problem_
    trees = (given_.start, given_.state, given_.broadcast)
    there = ClientInput(*({n: v.cuda() for n, v in t.items()} for t in trees))
    return model.cuda(), x.cuda(), y.cuda(), cohort, there


def on_cpu(trained: Trained) -> Trained:
    states, kept, uploads = (
        {n: v.cpu() for n, v in t.items()}
        for t in (trained.states, trained.kept, trained.uploads)
    )
    return Trained(states, trained.loss.cpu(), trained.steps, kept, uploads)


@CUDA
@pytest.mark.gpu
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@WAYS
@pytest.mark.parametrize("name", NETS)
def test_a_gpu_gives_the_cpus_numbers_and_the_same_bits_again(
    name, training, rule, engine
):
    model, x, y, cohort, given_ = problem(name, [30, 8, 19, 30, 5, 16])
    if training.augment and name.startswith("mlp"):
        training = replace(training, augment=None)
    here = (model, x, y, cohort, sending(given_, rule))
    want = train(*here, training, rule, engine="looped")
    how = (*on_gpu(here), training, rule)
    kept: dict = {}
    got = train(*how, engine=engine, kept=kept)
    assert_same(on_cpu(got), want, 1e-8)
    assert_same_bits(got, train(*how, engine=engine, kept=kept))
    assert_same_bits(got, train(*how, engine=engine))


@CUDA
@pytest.mark.gpu
def test_a_round_on_a_gpu_does_not_wait_for_the_device():
    """After the capture, no call inside the steps synchronises."""
    given_ = on_gpu(problem(TRICKY, [32] * 4, torch.float32))
    kept: dict = {}
    train(*given_, ROUND, kept=kept)
    (stage,) = kept["stages"].values()
    plan = make_plan(given_[3], ROUND)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for turn in [stage._turn(n) for n in plan.active]:
            stage.replays[turn]()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@CUDA
@pytest.mark.gpu
def test_tf32_is_off_unless_asked_for():
    given_ = on_gpu(problem("disco cnn", [64] * 4, torch.float32))
    training = Training(lr=0.05, epochs=2, batch_size=16)
    exact = train(*given_, training)
    want = train(*problem("disco cnn", [64] * 4, torch.float32), training)
    assert_same(on_cpu(exact), want, 1e-4)
    rough = train(*given_, training, precision="tf32")
    gap = (rough.states["head.weight"] - exact.states["head.weight"]).abs().max()
    assert 0 < gap < 0.05


@CUDA
@pytest.mark.gpu
def test_a_cohort_that_fills_the_device_is_split():
    """What is left of the memory holds a few clients at a time."""
    given_ = on_gpu(problem(TRICKY, [16] * 40, torch.float32))
    want = train(*given_, ROUND)
    free, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction((total - free + 2**28) / total)
    try:
        assert_same(train(*given_, ROUND), want, 1e-5)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@settings(max_examples=10)
@given(st.lists(st.integers(0, 25), min_size=2, max_size=7), st.booleans())
def test_any_ragged_cohort_is_trained_as_the_loop_does(sizes_, drop_last):
    training = replace(ROUND, drop_last=drop_last)
    model, x, y, cohort, given_ = problem(TRICKY, in_order(sizes_))
    want = train(model, x, y, cohort, given_, training, engine="looped")
    longest = int(want.steps.max())
    stage = Captured(
        stacked(model, x, y, training, Rule()), len(cohort), longest, Rehearsal()
    )
    plan = make_plan(cohort, training)
    states, _, _, loss = stage.play(plan, given_)
    assert_same(Trained(states, loss, plan.steps), want, 1e-9)

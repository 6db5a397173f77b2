"""The captured cohort: without a CUDA device by calling the step, with one by a graph.

What only a graph can get wrong is tested on the device; that nothing moves, that the
cohort is copied to where it was, that finished clients rest, and that it can be
used again, is tested everywhere.
"""

import gc
import warnings
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from fedlab_core import ClientInput, Rule, Training, build
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine
from fedlab_core.engine import Trained, begin_states, train
from fedlab_core.engine import graphs as module
from fedlab_core.engine.graphs import Captured, sizes
from fedlab_core.engine.plan import make_plan
from fedlab_core.engine.split_on_oom import is_out_of_memory
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task
from fedlab_core.models import initial_state
from fedlab_core.models.network import Network
from fedlab_core.tree import repeat
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
from tests.once import examples

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
    task = Task(Network(model, training=True), x, y, training, rule)
    return StackedCohort(task, flat=True)


def sending(given_, rule):
    """The same, with what a rule that corrects gradients has to be sent."""
    sent = {n: 0.1 * v for n, v in given_.start.items()} if rule.gradient else {}
    return replace(given_, broadcast=sent)


def in_order(sizes_):
    """Clients come with the most samples first."""
    return sorted(sizes_, reverse=True)


@pytest.mark.slow
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


@pytest.fixture
def rounds(monkeypatch):
    """Play a round of so many equal clients; gives its stage, and what is kept."""
    monkeypatch.setattr(module, "CudaGraphs", Rehearsal)
    model, x, y, *_ = problem(PLAIN, [8])
    network, kept = Network(model, training=True), {}

    def play(clients, batch_size=8, n=8, epochs=1):
        training = Training(batch_size=batch_size, epochs=epochs)
        *_, cohort, given_ = problem(PLAIN, [n] * clients)
        plan = make_plan(cohort, training)
        task = Task(network, x, y, training, Rule())
        stage = module.captured(task, plan, given_, kept)
        stage.play(plan, given_)
        return stage

    return play, kept


def test_stages_are_kept_for_rounds_alike_and_share_their_graphs_memory(
    rounds, monkeypatch
):
    monkeypatch.setattr(module, "_room", lambda: 1e9)
    play, kept = rounds
    first = play(2)
    assert play(2) is first
    others = [play(3), play(2, batch_size=4), play(2, batch_size=4, n=30)]
    assert len({id(s) for s in (first, *others)}) == 4 == len(kept["stages"])
    assert {id(s.capture) for s in (first, *others)} == {id(kept["graphs"])}


@pytest.mark.slow
def test_sizes_that_take_turns_are_captured_once_each(rounds, monkeypatch):
    """Six kinds of rounds in turn, as of five own models beside a group's."""
    monkeypatch.setattr(module, "_room", lambda: 1e9)
    play, kept = rounds
    for _ in range(5):
        for clients in (10, 7, 3):
            play(clients)
            play(clients, batch_size=4)
    assert kept["graphs"].captures == 6


def test_what_was_not_used_for_longest_makes_room(rounds, monkeypatch):
    play, kept = rounds
    monkeypatch.setattr(module, "_room", lambda: 1e9)
    first, second = play(4), play(3)
    held = first.nbytes + second.nbytes
    assert second.nbytes < first.nbytes < held
    play(4)  # so that the second is the one unused
    monkeypatch.setattr(module, "_room", lambda: held - 1)
    third = play(2)
    assert list(kept["stages"].values()) == [first, third]


def test_a_stage_counts_all_that_it_holds(rounds, monkeypatch):
    monkeypatch.setattr(module, "_room", lambda: 1e9)
    play, _ = rounds
    stage = play(4)
    parameters = 4 * (16 * 7 + 7 + 7 * 4 + 4) * 8  # of clients, in double precision
    # parameters and where they began, both as pieces and as rows
    assert 2 * parameters <= stage.nbytes < 5 * parameters


@pytest.mark.slow
def test_nothing_is_left_of_a_cohort_that_is_let_go():
    """Without the garbage collector: memory is needed just when it has run out."""
    model, x, y, cohort, given_ = problem(TRICKY, [16] * 3)
    cohort_ = stacked(model, x, y, ROUND, Rule())
    stage = Captured(cohort_, 3, 4, Rehearsal())
    stage.play(make_plan(cohort, ROUND), given_)
    gone = [weakref.ref(stage), weakref.ref(cohort_)]
    gone += [weakref.ref(w) for w in cohort_.trees["params"].values()]
    gc.collect()
    gc.disable()
    try:
        del stage, cohort_
        assert [left() for left in gone] == [None] * len(gone)
    finally:
        gc.enable()


class Counted(TorchDispatchMode):
    """Sees the operations that PyTorch is asked for."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_resting_clients_cost_a_few_operations_whatever_the_network():
    """Their parameters and velocities are one tensor each."""
    added = {}
    for name in (PLAIN, "resnet"):
        model, x, y, cohort, given_ = problem(name, [16, 16, 8])
        cohort_ = stacked(model, x, y, ROUND, Rule())
        cohort_.load(make_plan(cohort, ROUND), given_)
        counts = []
        for gated in (False, True):
            with Counted() as counted:
                cohort_.step(3, gated)
            counts.append(len(counted.seen))
        buffers = len(cohort_.trees["buffers"])
        added[name] = counts[1] - counts[0] - 2 * buffers  # each of them rests alone
    assert len(set(added.values())) == 1 and added[PLAIN] < 20, added


def test_a_capture_that_fails_gives_the_stream_back_and_is_known_for_what_it_was(
    monkeypatch,
):
    """PyTorch ends it by an error of its own, and leaves its stream the current one."""
    now = ["mine"]

    @contextmanager
    def on(stream):
        before, now[0] = now[0], stream
        yield
        now[0] = before

    class Ends:
        def __init__(self, graph, pool, stream):
            self.stream = stream

        def __enter__(self):
            now[0] = self.stream

        def __exit__(self, *_):
            raise RuntimeError("operation failed due to a previous error")

    class Stream(str):
        def wait_stream(self, other):
            pass

    said = {
        "graph_pool_handle": lambda: 0, "current_stream": lambda: Stream(now[0]),
        "stream": on, "CUDAGraph": lambda: None, "graph": Ends,
        "set_stream": lambda stream: now.__setitem__(0, str(stream)),
    }  # fmt: skip
    for name, value in said.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(module, "_aside", lambda: Stream("aside"))
    steps = []

    def step():
        steps.append(now[0])
        if len(steps) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="previous error") as error:
        module.CudaGraphs()(step)
    assert now == ["mine"] and steps == ["aside"] * 3
    assert is_out_of_memory(error.value)


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
    turns = [stage._turn(n) for n in make_plan(given_[3], ROUND).active]
    make_plan(given_[3], ROUND, "cuda")
    stage.stage.tables["t"].zero_()  # a round goes through its plan once
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Synchronization debug mode")
        torch.cuda.set_sync_debug_mode("error")
        try:
            for turn in turns:
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
    """The memory that is left does not hold all clients at a time."""
    wide = build("mlp", (1, 4, 4), 4, hidden=(1024, 1024))
    _, x, y, cohort, _ = problem(PLAIN, [16] * 40, torch.float32)
    start = ClientInput(repeat(initial_state(wide, 0), 40))  # 4 MB a client
    given_ = on_gpu((wide(), x, y, cohort, start))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    want, kept = train(*given_, ROUND, largest=20), {}
    half = torch.cuda.max_memory_allocated() - before
    torch.cuda.empty_cache()
    allowed = torch.cuda.memory_reserved() + int(1.5 * half)
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(allowed / total)
    try:
        with pytest.warns(RuntimeWarning, match="40 clients do not fit"):
            assert_same(train(*given_, ROUND, largest=40, kept=kept), want, 1e-5)
        assert_same(train(*given_, ROUND, largest=40, kept=kept), want, 1e-5)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


@pytest.mark.slow
@settings(max_examples=examples(10))
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

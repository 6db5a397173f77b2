"""The captured cohort, without a CUDA device: the step is called in a graph's place.

That nothing moves, that the cohort is copied to where it was, that finished clients
rest, and that it can be used again.
"""

import gc
import weakref
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from fedlab_core import Rule, Training
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine
from fedlab_core.engine import Trained, begin_states, train
from fedlab_core.engine import graphs as module
from fedlab_core.engine.graphs import Captured, sizes
from fedlab_core.engine.plan import make_plan
from fedlab_core.engine.split_on_oom import is_out_of_memory
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task
from fedlab_core.models.network import Network
from tests.engine.test_options import SCAFFOLD
from tests.engine_cases import PLAIN, ROUND, TRICKY, assert_same, problem
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

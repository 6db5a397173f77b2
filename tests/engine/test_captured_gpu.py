"""The captured cohort on a CUDA device: what only a graph can get wrong."""

import warnings
from dataclasses import replace

import pytest
import torch

from fedlab_core import ClientInput, Training, build
from fedlab_core.engine import Trained, train
from fedlab_core.engine.plan import make_plan
from fedlab_core.models import initial_state
from fedlab_core.tree import repeat
from tests.engine.test_captured import CUDA, WAYS, sending
from tests.engine_cases import (
    NETS,
    PLAIN,
    ROUND,
    TRICKY,
    assert_same,
    assert_same_bits,
    problem,
)


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

"""Whole runs on a CUDA device: against a CPU, again, and for long.

`FEDLAB_GPU=cpu pytest tests/engine/test_gpu.py` rehearses it without one.
"""

import copy
import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core import METHODS, Proxy, Run, Training, run_all
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine
from fedlab_core.engine import Client, train
from fedlab_core.engine.cohort import _network
from fedlab_core.engine.determinism import exact
from fedlab_core.engine.plan import make_plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task, first_states
from fedlab_core.methods.moon import moon
from tests.engine.test_captured import EVERYTHING, SCAFFOLD, sending
from tests.engine.test_captured_gpu import on_cpu, on_gpu
from tests.engine_cases import ROUND, TRICKY, assert_same, assert_same_bits, problem
from tests.methods.plainly import LOCAL
from tests.methods.test_all import BRIEF
from tests.scenario_cases import dataset

DEVICE = os.environ.get("FEDLAB_GPU", "cuda")
REAL = torch.cuda.is_available() and DEVICE == "cuda"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE == "cuda" and not REAL, reason="needs a CUDA device"),
]


def a_world(device: str, network: str = "mlp", size=(6, 6), **options):
    data = dataset(size=size)
    who = fl.dirichlet(data.y_train, 6, 0.5, seed=1)
    make = fl.build(network, data.shape, 10, **options)
    return fl.world(data, who, make, device, proxy=Proxy(3))


def in_double(w: fl.World) -> fl.World:
    x, x_test, make = w.x.double(), w.x_test.double(), w.make
    model = copy.deepcopy(w.model).double()
    return replace(
        w, x=x, x_test=x_test, model=model, make=lambda: make().double(), proxy=None
    )


def digest(history: fl.History) -> str:
    tensors = [v.cpu().numpy().tobytes() for v in history.states.values()]
    return hashlib.sha256(b"".join(tensors) + str(history.rows).encode()).hexdigest()


def near(there: fl.History, here: fl.History, tolerance: float) -> None:
    for name, w in here.states.items():
        w, gap = w.cpu(), there.states[name].cpu() - w.cpu()
        far = gap.abs().max() / w.abs().max().clamp(min=1e-3)
        assert far < tolerance, (name, float(far))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_what_it_is_on_a_cpu_and_the_same_again(name):
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    runs = [Run(a_world(d, hidden=(16,)), method, 2, 3, 3) for d in (DEVICE, "cpu")]
    (there,), (again,), (here,) = (run_all([r]) for r in (runs[0], *runs))
    near(there, here, 1e-3)
    assert digest(there) == digest(again)
    assert there.group_of == here.group_of


@pytest.mark.parametrize("network", ["disco_cnn", "resnet"])
@pytest.mark.parametrize("name", ["feddisco", "scaffold"])
def test_whole_rounds_of_convolutions_are_too(network, name):
    """Against a CPU in double precision: in single, a rounding grows to anything.

    (Images that differ by 3e-7 move a BatchNorm of the ResNet by half its size, on one
    and the same CPU.)
    """
    local = Training(lr=0.02, batch_size=16, momentum=0.5, augment=CropFlip(2))
    method = METHODS[name](local)

    there, here = (a_world(d, network, (32, 32)) for d in (DEVICE, "cpu"))
    first, again = (run_all([Run(there, method, 2, 3, 4)])[0] for _ in range(2))
    assert digest(first) == digest(again)
    exact = in_double(here)
    moved = in_double(there)  # its own pixels were divided by their spread otherwise
    moved = replace(moved, x=exact.x.to(DEVICE), x_test=exact.x_test.to(DEVICE))
    far, close = (run_all([Run(w, method, 2, 3, 4)])[0] for w in (moved, exact))
    near(far, close, 1e-6)


SCRIPT = """
import sys, torch
torch.backends.cudnn.benchmark = sys.argv[1] == "loose"
torch.backends.cuda.matmul.allow_tf32 = sys.argv[1] == "loose"
torch.backends.cudnn.allow_tf32 = sys.argv[1] == "loose"
from tests.engine.test_gpu import DEVICE, CropFlip, Run, Training, a_world, digest, fl
local = Training(lr=0.02, batch_size=16, augment=CropFlip(2))
w = a_world(DEVICE, "disco_cnn", (32, 32))
print(digest(fl.run_all([Run(w, fl.feddisco(local), 2, 3, 4)])[0]))
"""


def test_two_processes_give_the_same_bits_whatever_they_were_set_to():
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, how], capture_output=True, text=True
        )
        for how in ("exact", "exact", "loose")
    ]
    assert all(done.returncode == 0 for done in said), said[-1].stderr
    assert len({done.stdout for done in said}) == 1


def test_seeds_together_are_the_seeds_alone():
    w = a_world(DEVICE, hidden=(16,))
    runs = [Run(w, fl.fedavg(LOCAL), 3, seed, 3) for seed in range(5)]
    for together, run in zip(run_all(runs), runs, strict=True):
        near(together, run_all([run])[0], 1e-4)


@pytest.mark.skipif(not REAL, reason="needs a CUDA device: it counts its memory")
def test_two_hundred_rounds_hold_what_twenty_hold():
    w, held = a_world(DEVICE, hidden=(64,)), []

    def observe(now):
        if now.number in (20, 200):
            torch.cuda.synchronize()
            held.append((torch.cuda.memory_allocated(), torch.cuda.memory_reserved()))
        return {}

    run_all([Run(w, fl.fedavg(LOCAL), 200, 0, 3, observe=observe)])
    (used, reserved), (used_late, reserved_late) = held
    assert used_late <= 1.05 * used and reserved_late <= 1.1 * reserved


def test_a_client_that_diverges_leaves_the_others_bits_alone():
    model, x, y, cohort, given_ = on_there(problem(TRICKY, [30, 30, 19, 8]))
    want = train(model, x, y, cohort, given_, ROUND, engine="stacked")
    wild = [replace(cohort[0], lr=1e9), *cohort[1:]]
    calm = [Client(c.indices, c.key, ROUND.lr) for c in cohort]
    got = train(model, x, y, wild, given_, ROUND, engine="stacked")
    same = train(model, x, y, calm, given_, ROUND, engine="stacked")
    assert_same_bits(got.of([1, 2, 3]), same.of([1, 2, 3]))
    assert_same(on_cpu(same), on_cpu(want), 1e-9)


def on_there(problem_):
    return on_gpu(problem_) if REAL else problem_


@pytest.mark.parametrize(
    "name, training, rule, precision",
    [
        (TRICKY, ROUND, fl.Rule(), "float32"),
        ("small cnn", EVERYTHING, SCAFFOLD, "float32"),
        (TRICKY, replace(ROUND, schedule=Cosine(4)), fl.Rule(), "float32"),
        ("small cnn", ROUND, moon(ROUND).rule, "float32"),
        ("small cnn", ROUND, fl.Rule(), "bf16"),
        ("resnet", ROUND, fl.Rule(), "bf16"),
        (TRICKY, ROUND, fl.Rule(), "bf16"),
    ],
    ids=[
        "dropout",
        "everything",
        "schedule",
        "MOON",
        "bf16",
        "bf16 resnet",
        "bf16 mlp",
    ],
)
def test_what_is_captured_is_what_is_called(name, training, rule, precision):
    """To the bit: a graph repeats the kernels of the steps that it was made of."""
    given = on_there(problem(name, [30, 30, 19, 8, 1], torch.float32))
    model, x, y, cohort, begun = given
    begun = sending(begun, rule)
    network = _network(model, precision == "bf16", {})
    task = Task(network, x, y, training, rule)
    begun = replace(begun, state=first_states(network, training, rule, begun))
    plan = make_plan(cohort, training, x.device)
    kept: dict = {}
    how = {"engine": "stacked", "precision": precision, "kept": kept}
    got = train(model, x, y, cohort, begun, training, rule, **how)
    turn_of = kept["stages"].popitem()[1]._turn if REAL else lambda n: (n, False)
    turns = [turn_of(n) for n in plan.active]
    cohort_ = StackedCohort(task, flat=REAL)
    with exact():
        cohort_.load(plan, begun)
        for turn in turns:
            cohort_.step(*turn)
    models, states, uploads, loss = cohort_.unload(plan)
    assert torch.equal(loss, got.loss)
    for mine, called in ((got.states, models), (got.kept, states)):
        assert all(torch.equal(w, called[n]) for n, w in mine.items())
    assert all(torch.equal(w, uploads[n]) for n, w in got.uploads.items())

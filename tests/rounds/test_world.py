"""A world: images as a network sees them, and who holds what."""

import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedlab_core as fl
from fedlab_core import Dataset, Partition, Proxy, build, iid, load, world
from fedlab_core.errors import InputError


def dataset(shape, mean, std):
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 256, (n, *shape), dtype=np.uint8) for n in (6, 4)]
    y = [np.arange(n) % 3 for n in (6, 4)]
    return Dataset("made", x[0], y[0], x[1], y[1], ("a", "b", "c"), mean, std)


@pytest.mark.parametrize(
    "shape, mean, std",
    [((2, 3), (0.3,), (0.2,)), ((2, 3, 3), (0.1, 0.2, 0.3), (0.5, 0.6, 0.7))],
)
def test_every_pixel_is_normalised_with_its_channels_constants(shape, mean, std):
    data = dataset(shape, mean, std)
    w = world(data, iid(data.y_train, 2), build("mlp", data.shape, 3))
    for stored, seen in ((data.x_train, w.x), (data.x_test, w.x_test)):
        assert seen.shape == (len(stored), *data.shape)
        assert seen.dtype == torch.float32 and seen.is_contiguous()
        deep = stored.reshape(len(stored), 2, 3, -1)
        for i, c, row, col in np.ndindex(*seen.shape):
            want = (deep[i, row, col, c] / 255 - mean[c]) / std[c]
            assert float(seen[i, c, row, col]) == pytest.approx(want, abs=1e-6)
    assert w.y.tolist() == data.y_train.tolist()
    assert w.y_test.tolist() == data.y_test.tolist()


def test_a_world_knows_who_holds_what():
    data = dataset((2, 3), (0.3,), (0.2,))
    held = (np.array([0, 3, 1]), np.array([2]))
    w = world(data, Partition("by hand", {}, held), build("mlp", data.shape, 3))
    assert len(w) == 2 and w.counts.tolist() == [[2, 1, 0], [0, 0, 1]]
    assert w.classes == ("a", "b", "c")


def test_what_is_trained_is_named_in_the_models_order():
    """In no set's order, which another process would have otherwise, with its sums."""
    data = dataset((2, 3), (0.3,), (0.2,))
    w = world(data, iid(data.y_train, 2), build("mlp", data.shape, 3))
    named = [name for name, _ in w.model.named_parameters()]
    assert list(w.parameters) == list(w.view.parameters) == named and len(named) > 4


@pytest.mark.slow
def test_a_data_set_loaded_again_and_again_is_kept_once():
    """Tensors of a data set live as long as it does, or as a world that uses them."""
    seen = []
    for _ in range(20):
        data = load("letters", n_train=60, n_test=10)
        make = build("mlp", data.shape, 10, hidden=(8,))
        one, two = (world(data, iid(data.y_train, k), make) for k in (2, 3))
        assert one.x is two.x and one.x_test is two.x_test
        seen.append(weakref.ref(one.x))
    del one, two
    assert sum(x() is not None for x in seen) == 1  # of the last, which is still here
    del data
    assert all(x() is None for x in seen)


def _tested(tests, **asked):
    data = load("letters", n_train=60, n_test=100)
    make = build("mlp", data.shape, 10, hidden=(8,))
    return world(data, iid(data.y_train, 2), make, tests=tests, proxy=Proxy(**asked))


def test_a_long_tail_leaves_the_server_one_of_the_rarest_class():
    """Ten classes from 4 samples down to 4 / 100: 4 rho^(-c/9), rounded down, or 1."""
    labels = np.repeat(np.arange(10), 6)
    drawn, rest = Proxy(4, rho=100.0).draw(labels)
    assert np.bincount(labels[drawn]).tolist() == [4, 2] + [1] * 8
    assert sorted([*drawn, *rest]) == list(range(60))


def test_a_proxy_takes_no_sample_that_a_client_is_tested_on():
    """Clients have the first 60 of 100: the server's come from the other 40."""
    w = _tested([np.arange(30), np.arange(30, 60)], per_class=1)
    assert w.proxy is not None and w.tests is not None
    images, labels = w.proxy
    assert sorted(labels.tolist()) == list(range(10))
    assert len(w.x_test) == 100, "the clients' places must go on to mean the same"
    places = [int((w.x_test == image).flatten(1).all(1).nonzero()) for image in images]
    assert min(places) >= 60 and w.y_test[places].tolist() == labels.tolist()
    assert w.common is not None and w.common.tolist() == [
        place for place in range(60, 100) if place not in places
    ]


def test_a_proxy_needs_a_test_sample_that_nobody_has():
    with pytest.raises(InputError, match="leave no test sample for a proxy"):
        _tested([np.arange(50), np.arange(50, 100)])


def test_the_global_generator_and_the_data_are_left_alone():
    data = dataset((2, 3), (0.3,), (0.2,))
    kept, before = data.x_train.copy(), torch.get_rng_state()
    w = world(data, iid(data.y_train, 2), build("mlp", data.shape, 3))
    assert torch.equal(torch.get_rng_state(), before)
    w.x.zero_()
    assert (data.x_train == kept).all()


SCALE = """
import fedlab_core as fl

def peak():  # of this program alone: getrusage begins with its parent's
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

data = fl.load("letters", n_train=100_000, n_test=100)
make = fl.build("mlp", data.shape, 10)
method = fl.fedavg(fl.Training(momentum=0.9, keep_velocity=True, iterations=2))
for clients in (200, 100_000):
    who = fl.iid(data.y_train, clients)
    w = fl.world(data, who, make)
    before = peak()
    h = fl.federate(w, method, 3, participants=100, progress=False, keep="host")
    print(clients, round(peak() - before), h.rows[-1]["participants"])
"""


@pytest.mark.slow
def test_a_hundred_thousand_clients_cost_what_the_cohort_costs():
    """The small world's run pays for the cohort; the large world's adds to it what
    300 clients keep, some 50 MB, where 100,000 would keep 17 GB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to see a program's memory")
    done = subprocess.run(
        [sys.executable, "-c", SCALE], capture_output=True, text=True, check=True
    )
    small, large = ([int(v) for v in line.split()] for line in done.stdout.splitlines())
    assert small[0] == 200 and large[0] == 100_000 and large[2] == 100
    assert small[1] > 20  # the cohort's own memory was seen at all
    assert large[1] < 200, f"{large[1]} MB more for 100,000 clients"


@pytest.mark.parametrize("rows", [False, True])
def test_a_data_set_is_left_as_it_was(rows):
    data = load("letters", n_train=40, n_test=20, seed=0)
    if rows:  # float32 already: the world's numbers could be written into these
        flat = (v.reshape(len(v), -1) for v in (data.x_train, data.x_test))
        train, test = (v.astype(np.float32) for v in flat)
        data = replace(data, x_train=train, x_test=test)
    kept = data.x_train.copy()

    def net() -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(kept[0].size, 10)
        )

    w, same = (world(d, iid(d.y_train, 2), net) for d in (data, replace(data)))
    assert np.array_equal(data.x_train, kept) and torch.equal(w.x, same.x)


def table(columns: int, classes: int = 3) -> Dataset:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, columns)).astype(np.float32), np.arange(12) % classes
    return fl.dataset(x[:8], y[:8], x[8:], y[8:], classes=range(classes))


@pytest.mark.parametrize("inside, outputs, words", [
    (8, 3, r"the network takes no x of shape \(5,\): .*1x5 and 8x3"),
    (5, 2, r"y has the label 2, but the network's outputs are \(2,\)"),
])  # fmt: skip
def test_a_network_of_another_width_is_refused_when_the_world_is_made(
    inside, outputs, words
):
    data = table(5)
    with pytest.raises(InputError, match=words) as refused:
        world(data, iid(data.y_train, 2), lambda: nn.Linear(inside, outputs))
    assert "\n" not in str(refused.value)


def test_widths_are_refused_with_a_loss_and_of_test_samples_too():
    data = table(5, 2)
    split = iid(data.y_train, 2)
    for loss in (fl.logistic, lambda out, y: out[:, 0] - y):
        with pytest.raises(InputError, match=r"takes no x of shape \(5,\)"):
            world(data, split, lambda: nn.Linear(8, 1), loss=loss)
    rare = replace(data, y_test=np.array([0, 1, 0, 2]), classes=("a", "b", "c"))
    with pytest.raises(InputError, match="label 2, but the network's outputs"):
        world(rare, split, lambda: nn.Linear(5, 2))
    assert len(world(rare, split, lambda: nn.Linear(5, 3))) == 2

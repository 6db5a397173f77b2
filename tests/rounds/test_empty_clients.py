"""Clients without a sample take no part; nobody's numbers turn into NaN by them."""

import math

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.partition import Partition
from tests.methods.plainly import LOCAL
from tests.methods.test_all import BRIEF

EMPTY = 2


def held(y: np.ndarray) -> Partition:
    parts = np.array_split(np.random.default_rng(1).permutation(len(y)), 5)
    parts.insert(EMPTY, np.zeros(0, dtype=np.int64))
    return Partition("mine", {}, tuple(parts))


@pytest.fixture(scope="module")
def place(small_data) -> fl.World:
    make = fl.build("mlp", small_data.shape, 10, hidden=(16,))
    who = held(small_data.y_train)
    return fl.world(small_data, who, make, proxy=fl.Proxy(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", fl.METHODS)
def test_every_method_runs_with_a_client_without_samples(place, name):
    seen = []

    def watch(now):
        seen.extend(now.ids)
        return {}

    method = fl.METHODS[name](LOCAL, **BRIEF.get(name, {}))
    if name == "fedcollab":  # who would be compared by samples that it has not
        with pytest.raises(InputError, match="needs 2 samples or more, but one has 0"):
            fl.federate(place, method, 2)
        return
    got = fl.federate(place, method, 2, observe=watch)
    assert not got.diverged and math.isfinite(got.accuracy())
    assert EMPTY not in seen and len(set(seen)) == 5


def test_draws_are_among_those_who_hold_samples(place):
    seen = []

    def watch(now):
        seen.extend(now.ids)
        return {}

    fl.federate(
        place, fl.fedavg(fl.Training(epochs=1)), 12, participants=2, observe=watch
    )
    assert EMPTY not in seen and set(seen) == {0, 1, 3, 4, 5}
    with pytest.raises(InputError, match="participants must be 1 to 5, not 6"):
        fl.Run(place, fl.fedavg(), 1, participants=6)


def test_a_world_in_which_nobody_holds_anything_is_refused(small_data):
    nothing = Partition("mine", {}, (np.zeros(0, dtype=np.int64),) * 2)
    with pytest.raises(InputError, match="gives no client a sample"):
        fl.world(small_data, nothing, fl.build("mlp", small_data.shape, 10))


def test_an_empty_client_changes_nothing_for_the_others(small_data):
    make = fl.build("mlp", small_data.shape, 10, hidden=(16,))
    with_it = held(small_data.y_train)
    others = [i for k, i in enumerate(with_it.indices) if k != EMPTY]
    without = Partition("mine", {}, tuple(others))
    local = fl.Training(lr=0.1, iterations=1, batch_size=10**6)  # no draw by number
    a, b = (fl.federate(fl.world(small_data, p, make), fl.fedavg(local), 3)
            for p in (with_it, without))  # fmt: skip
    assert all(torch.allclose(a.states[n], b.states[n], atol=1e-6) for n in a.states)

"""Limits on what a partition holds and on the record of its call."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from fedlab_core import fedavg, federate, iid, world
from fedlab_core.errors import InputError
from fedlab_core.partition import Partition
from tests.models_cases import DATA, LABELS, LOCAL, ROWS


@pytest.mark.parametrize(
    "held, who",
    [
        (([0, 1], [1, 2]), r"sample \[1\] is twice in client 0 and client 1"),
        (([0, 1], [2, 3, 2]), r"sample \[2\] is twice in client 1$"),
        ((), "a partition must have one client or more"),
    ],
)
def test_a_sample_is_held_once(held, who):
    with pytest.raises(InputError, match=who):
        Partition("mine", {}, tuple(np.array(h) for h in held))


def test_a_record_is_what_json_can_hold(tmp_path):
    parts = (np.array([0]), np.array([1]))
    numpy = Partition("mine", {"a": np.int64(3)}, parts)
    assert numpy == Partition("mine", {"a": 3}, parts)
    numpy.save(tmp_path / "p.json")
    assert Partition.read(tmp_path / "p.json") == numpy
    with pytest.raises(InputError, match="asked must be what JSON can hold"):
        Partition("mine", {"a": object()}, parts)
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / "deep.json").write_text(deep)
    with pytest.raises(InputError, match="is not a saved partition"):
        Partition.read(tmp_path / "deep.json")


def test_samples_that_nobody_holds_train_nobody():
    """As if they were not in the data set."""
    y = LABELS[:40]
    with_more, without = (
        replace(DATA, x_train=ROWS[:n], y_train=LABELS[:n]) for n in (60, 40)
    )
    split = iid(y, 3)
    a, b = (federate(world(d, split, lambda: nn.Linear(8, 3)), fedavg(LOCAL), 2)
            for d in (with_more, without))  # fmt: skip
    assert a.rows == b.rows and int(split.counts(with_more.y_train).sum()) == 40

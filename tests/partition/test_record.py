"""Limits on what a partition holds and on the record of its call."""

import numpy as np
import pytest

from fedlab_core.errors import InputError
from fedlab_core.partition import Partition


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

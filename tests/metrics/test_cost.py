"""Bytes sent: the papers' own numbers, and the table's sums."""

import pytest
import torch

from fedlab_core.analysis import Traffic, cost_table, traffic
from fedlab_core.errors import InputError

MODEL = {"w": torch.zeros(10, 4), "b": torch.zeros(4)}  # 44 numbers
DELTA = {"delta": torch.zeros(512)}


def test_mean_features_of_rfedavg():
    """rFedAvg sends every client 20 means of 512 numbers, rFedAvg+ one: 2,048 bytes."""
    plain = traffic([MODEL, *[DELTA] * 20], [MODEL, DELTA])
    plus = traffic([MODEL, DELTA], [MODEL, DELTA])
    assert plain == Traffic(down=176 + 20 * 2048, up=176 + 2048)
    assert plain.total - plus.total == 19 * 2048


def test_statistics_of_fedimpro():
    """Mean and spread of 10 classes at 32,768 features: 655,360 numbers each way."""
    both = {"mean": torch.empty(10, 32768), "std": torch.empty(10, 32768)}
    assert traffic([both], [both]).up == 4 * 655_360


def test_the_table():
    table = cost_table({"a": Traffic(10, 30), "b": Traffic(0, 20)}, 5, rounds=3)
    assert table.loc["a"].tolist() == [10, 30, 200, 600, 1]
    assert table.loc["b"].tolist() == [0, 20, 100, 300, 0.5]
    assert list(table.columns) == ["down", "up", "round", "total", "relative"]


def test_misuse():
    with pytest.raises(InputError, match="bytes must be 0 or more, not -1 down"):
        Traffic(-1, 0)
    with pytest.raises(InputError, match="methods is empty"):
        cost_table({}, 5)
    with pytest.raises(InputError, match="clients must be 1 or more, not 0"):
        cost_table({"a": Traffic(1, 1)}, 0)
    with pytest.raises(InputError, match="rounds must be 1 or more, not 0"):
        cost_table({"a": Traffic(1, 1)}, 1, 0)

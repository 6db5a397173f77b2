"""Data in memory are what they are taken for, or refused in one line."""

import numpy as np
import pytest
import torch

from fedlab_core import data, iid, world
from fedlab_core.errors import InputError

BYTES, ROWS, WORDS = (np.ones((4, 3, 3), np.uint8), np.ones((4, 3), np.float32),
                      np.ones((4, 3), np.int32))  # fmt: skip


def made(x, y=(0, 1, 1, 0), mean=(0.5,), std=(0.5,)) -> data.Dataset:
    y = np.array(y)
    return data.Dataset("mine", x, y, x, y, ("a", "b"), mean, std)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"x": BYTES.astype(np.float32)}, "x_train is float32: images are uint8"),
        ({"x": BYTES.astype(np.uint16)}, "x_train is uint16: images are uint8"),
        ({"x": ROWS.astype(np.float64)}, "x_train is float64: .* numbers float32"),
        ({"x": WORDS}, "x_train is int32: .* words have no mean"),
        (
            {"x": np.where(np.eye(4, 3) > 0, np.nan, ROWS).astype(np.float32)},
            "x_train must be .* not one with nan",
        ),
        ({"x": ROWS, "std": (0.5, 0.0, 1.0), "mean": (0.0,) * 3}, "std is 0 somewhere"),
        ({"x": ROWS, "std": (-1.0,)}, "std is -1 somewhere, but must be above 0"),
        ({"x": ROWS, "mean": (0.0, 1.0)}, "mean has 2 numbers for 3"),
        ({"x": ROWS, "mean": (), "std": ()}, "mean has 0 numbers for 3"),
        (
            {
                "x": np.ones((4, 3, 3, 2), np.uint8),
                "mean": (0.5,) * 2,
                "std": (1.0,) * 3,
            },
            "std has 3 numbers",
        ),
        # channels first: taken as 8 channels of 1 x 8
        ({"x": np.ones((4, 1, 8, 8), np.uint8)}, "mean has 1 numbers for 8"),
        (
            {"x": np.ones((4, 3, 8, 8), np.uint8), "mean": (0.5,) * 3},
            "mean has 3 numbers for 8",
        ),
        ({"x": ROWS, "y": (1, 2, 2, 1)}, "a label is 2, of 2 classes"),
    ],
)
def test_data_that_would_be_taken_for_others_are_refused(given, said):
    with pytest.raises(InputError, match=said) as refused:
        d = made(**given)
        world(d, iid(d.y_train, 2), lambda: torch.nn.Linear(3, 2))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.int64])
def test_labels_of_any_whole_kind_are_labels(kind):
    got = made(ROWS, np.array([0, 1, 1, 0], kind))
    assert got.y_train.dtype == np.int64 and got.y_train.tolist() == [0, 1, 1, 0]
    assert made(BYTES).shape == (1, 3, 3) and made(WORDS, mean=(), std=()).shape == (3,)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_refused_with_its_place(wrong):
    x = np.zeros((4, 3), np.float32)
    x[2, 1] = wrong
    with pytest.raises(InputError, match=rf"one with {wrong:g} at \[2, 1\]"):
        made(x, mean=(0.0,))


def test_arrays_may_be_views_that_run_backwards():
    back, plain = made(ROWS[::-1, ::-1]), made(ROWS[::-1, ::-1].copy())
    a, b = (world(d, iid(d.y_train, 2), lambda: torch.nn.Linear(3, 2))
            for d in (back, plain))  # fmt: skip
    assert torch.equal(a.x, b.x) and torch.equal(a.y, b.y)


@pytest.mark.parametrize("kind", ["rows", "images", "words"])
def test_arrays_that_are_changed_later_change_no_world(kind):
    """Labels would follow, and samples not."""
    x = {"rows": ROWS, "images": BYTES, "words": WORDS.astype(np.int64)}[kind].copy()
    y, none = np.array([0, 1, 1, 0]), () if kind == "words" else (0.5,)
    d = data.Dataset("mine", x, y, x, y, ("a", "b"), none, none)
    who = iid(y, 2)

    def net() -> torch.nn.Module:
        if kind != "words":
            return flat(x[0].size)
        return torch.nn.Sequential(torch.nn.Embedding(2, 1), flat(x[0].size))

    before = world(d, who, net)
    kept = [v.clone() for v in (before.x, before.y, before.counts)]
    x[:], y[:] = 0, 0
    for w in (before, world(d, who, net)):
        assert all(map(torch.equal, kept, (w.x, w.y, w.counts)))


def flat(size: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(size, 2))


def test_a_data_set_without_a_test_sample_makes_no_world():
    """Its accuracy would be nan to the end."""
    y, none = np.array([0, 1, 1, 0]), np.zeros(0, np.int64)
    d = data.Dataset("mine", ROWS, y, ROWS[:0], none, ("a", "b"), (0.5,), (0.5,))
    with pytest.raises(InputError, match="mine has no test sample"):
        world(d, iid(y, 2), lambda: torch.nn.Linear(3, 2))


def test_a_split_and_a_world_print_in_one_line():
    d = made(ROWS)
    split = iid(d.y_train, 2)
    w = world(d, split, lambda: torch.nn.Linear(3, 2))
    assert repr(split).endswith("): 2 clients with 2 to 2 of 4 samples")
    assert repr(w) == f"{split}, tested on 4; a model of 8 numbers"

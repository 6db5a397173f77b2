"""Scenarios: turned images, relabelled and corrupted clients."""

import math

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as tv
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms import InterpolationMode

from fedlab_core.partition import Partition
from fedlab_core.partition.scenarios import (
    Scenario,
    corrupted,
    fedcollab_concept_shift,
    relabelled,
    rotated,
    smaller,
    turn,
)
from tests.scenario_cases import DATA, PLAIN, TESTED

# -- turned images -----------------------------------------------------------------


@pytest.mark.parametrize(
    "edge, padding", [("black", "constant"), ("mirror", "symmetric")]
)
@pytest.mark.parametrize("size", [(32, 32, 3), (28, 28), (9, 9)])
@pytest.mark.parametrize("angle", [-25, 25, 155, 205, 10, 33.3])
def test_turning_is_padding_rotating_and_cropping(edge, padding, size, angle):
    """The oracle is torchvision, step by step as the paper's authors do it."""
    x = np.random.default_rng(1).integers(0, 256, (3, *size), dtype=np.uint8)
    t = torch.from_numpy(x.reshape(3, size[0], size[1], -1)).permute(0, 3, 1, 2)
    wide = tv.pad(t, [size[0] // 2], padding_mode=padding)
    turned = tv.rotate(wide, angle, InterpolationMode.NEAREST)
    want = tv.center_crop(turned, [size[0], size[1]]).permute(0, 2, 3, 1)
    assert np.array_equal(turn(x, angle, edge), want.numpy().reshape(x.shape))


@pytest.mark.parametrize("edge", ["black", "mirror"])
@pytest.mark.parametrize("size", [(6, 6), (7, 7, 3)])
def test_quarter_turns_are_exact(edge, size):
    x = np.random.default_rng(2).integers(0, 256, (4, *size), dtype=np.uint8)
    for quarters in range(-3, 5):
        want = np.rot90(x, quarters, axes=(1, 2))
        assert np.array_equal(turn(x, 90 * quarters, edge), want)
    assert np.array_equal(turn(x, 155), np.rot90(turn(x, -25), 2, axes=(1, 2)))


def test_corners_are_black_or_mirrored():
    x = np.full((1, 28, 28), 7, dtype=np.uint8)
    corners = turn(x, 45)[0][[0, 0, -1, -1], [0, -1, 0, -1]]
    assert corners.tolist() == [0] * 4 and turn(x, 45)[0, 14, 14] == 7
    assert (turn(x, 45, "mirror") == 7).all()


def test_clients_are_turned_by_their_angles_and_the_rest_is_not():
    s = smaller(TESTED, 0.8)
    made = rotated(s, (0, -90))
    assert made.angles == (0, 0, -90, -90) and made.test is not None
    for k, angle in enumerate(made.angles):
        for mine, x, old in (
            (made.train.indices[k], made.data.x_train, s.data.x_train),
            (made.test.indices[k], made.data.x_test, s.data.x_test),
        ):
            want = np.rot90(old[mine], int(angle) // 90, axes=(1, 2))
            assert np.array_equal(x[mine], want)
    free = np.setdiff1d(np.arange(300), np.concatenate(made.train.indices))
    assert len(free) and np.array_equal(made.data.x_train[free], s.data.x_train[free])
    assert np.array_equal(made.data.x_test[:100], s.data.x_test[:100])


def test_a_common_test_set_stays_upright():
    made = rotated(PLAIN, 90)
    assert made.data.x_test is DATA.x_test
    assert not np.array_equal(made.data.x_train, DATA.x_train)


# -- labels ------------------------------------------------------------------------


def test_fedcollabs_maps_are_those_of_its_figure():
    same_, begun, back, both = fedcollab_concept_shift().tolist()
    assert same_ == list(range(20)) and back == list(range(19, -1, -1))
    assert begun == [5 - i if i < 6 else i for i in range(20)]
    assert both == [14 + i if i < 6 else 19 - i for i in range(20)]


@given(st.integers(2, 15).map(lambda n: 2 * n), st.data())
def test_fedcollabs_types_agree_on_what_the_docstring_says(classes, data):
    first = 2 * data.draw(st.integers(1, classes // 2))
    maps = fedcollab_concept_shift(classes, first)
    agree = (maps[:, None] == maps).sum(-1)
    assert agree[0, 1] == agree[2, 3] == classes - first
    assert agree[0, 2] == agree[1, 3] == 0
    assert (np.sort(maps) == np.arange(classes)).all()


def test_clients_are_relabelled_in_training_and_test():
    maps = fedcollab_concept_shift(10, 4)
    made = relabelled(TESTED, maps)
    assert made.maps == tuple(map(tuple, maps.tolist())) and made.test is not None
    old = TESTED.data
    for k in range(4):
        i, j = made.train.indices[k], made.test.indices[k]
        assert made.data.y_train[i].tolist() == maps[k][old.y_train[i]].tolist()
        assert made.data.y_test[j].tolist() == maps[k][old.y_test[j]].tolist()
    assert np.array_equal(made.data.y_test[:100], DATA.y_test)
    assert made.data.y_train.dtype == DATA.y_train.dtype
    assert made.counts.sum(0).sum() == TESTED.counts.sum()


def label_map(before, after, classes=10) -> dict[int, set[int]]:
    """Labels that each label became."""
    return {c: set(after[before == c].tolist()) for c in set(before.tolist())}


@given(st.floats(0, 1), st.sampled_from(["swap", "permute"]), st.integers(0, 50))
def test_only_the_clients_named_are_corrupted_and_in_one_way(share, how, seed):
    made = corrupted(PLAIN, share, how, seed=seed)
    assert len(made.corrupted) == math.floor(4 * share + 0.5)
    assert list(made.corrupted) == sorted(set(made.corrupted))
    assert made.data.y_test is DATA.y_test and made.data.x_train is DATA.x_train
    for k, held in enumerate(PLAIN.train.indices):
        became = label_map(DATA.y_train[held], made.data.y_train[held])
        moved = {c: new for c, new in became.items() if new != {c}}
        assert all(len(new) == 1 for new in became.values())
        if k not in made.corrupted:
            assert not moved
        elif how == "permute":
            assert moved.keys() == became.keys()
        else:  # each became the other
            (a, to_a), (b, to_b) = moved.items()
            assert to_a == {b} and to_b == {a}


def test_each_client_is_corrupted_in_its_own_way_and_any_can_be():
    ways, hit = set(), set()
    for seed in range(20):
        made = corrupted(PLAIN, 0.5, seed=seed)
        hit |= set(made.corrupted)
        for k in made.corrupted:
            i = PLAIN.train.indices[k]
            ways.add(tuple(np.flatnonzero(made.data.y_train[i] != DATA.y_train[i])))
    assert hit == {0, 1, 2, 3} and len(ways) > 15


def test_a_client_with_one_class_gets_another():
    y = DATA.y_train
    who = Partition("by hand", {}, (np.flatnonzero(y == 3), np.array([], dtype=int)))
    made = corrupted(Scenario(DATA, who), 1.0)
    (new,) = set(made.data.y_train[who.indices[0]])
    assert new != 3 and made.corrupted == (0, 1)
    assert np.array_equal(made.data.y_train[y != 3], y[y != 3])

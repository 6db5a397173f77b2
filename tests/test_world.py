"""A world: images as a network sees them, and who holds what."""

import numpy as np
import pytest
import torch

from fedlab_core import Dataset, Partition, build, iid, world


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


def test_the_global_generator_and_the_data_are_left_alone():
    data = dataset((2, 3), (0.3,), (0.2,))
    kept, before = data.x_train.copy(), torch.get_rng_state()
    w = world(data, iid(data.y_train, 2), build("mlp", data.shape, 3))
    assert torch.equal(torch.get_rng_state(), before)
    w.x.zero_()
    assert (data.x_train == kept).all()

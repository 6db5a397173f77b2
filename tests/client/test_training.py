"""Schedules and augmentation, and what `Training` refuses."""

import numpy as np
import pytest
import torch
from torch import nn

from fedlab_core import Dataset, InputError, Training, fedavg, federate, iid, world
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine, Decay
from fedlab_core.keys import fold

KEYS = fold(torch.tensor(7), torch.arange(3))


def times(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_decay_shrinks_once_a_round():
    got = Decay(0.5)(times(0, 0.9, 1, 1.5, 3.01))
    assert got.tolist() == [1, 1, 0.5, 0.5, 0.125]


def test_cosine_falls_to_zero_and_stays_there():
    got = Cosine(4)(times(0, 2, 4, 9))
    torch.testing.assert_close(got, times(1, 0.5, 0, 0))


def windows(image, pad, fill):
    """Every crop of the padded image, mirrored or not, cut out by hand."""
    c, h, w = image.shape
    wide = torch.tensor(fill)[:, None, None].expand(c, h + 2 * pad, w + 2 * pad).clone()
    wide[:, pad : pad + h, pad : pad + w] = image
    found = {}
    for top in range(2 * pad + 1):
        for left in range(2 * pad + 1):
            cut = wide[:, top : top + h, left : left + w]
            found[top, left, False], found[top, left, True] = cut, cut.flip(-1)
    return found


def test_crop_and_flip_gives_every_crop_of_the_padded_image_alike_often():
    image = torch.rand(2, 5, 4)
    crops = windows(image, 1, (-1.0, -2.0))
    augment = CropFlip(1, fill=(-1.0, -2.0))
    got = augment(image.expand(3, 600, -1, -1, -1), KEYS)
    assert got.shape == (3, 600, 2, 5, 4)
    hits = dict.fromkeys(crops, 0)
    for crop in got.flatten(0, 1):
        (which,) = [at for at, want in crops.items() if torch.equal(crop, want)]
        hits[which] += 1
    assert min(hits.values()) > 60 and max(hits.values()) < 150  # 100 each expected


def test_one_fill_serves_all_channels_and_flips_can_be_off():
    image = torch.rand(3, 4, 4)
    crops = windows(image, 2, (0.0, 0.0, 0.0))
    for crop in CropFlip(2, flip=False)(image.expand(50, -1, -1, -1), KEYS[0]):
        same = [at for at, want in crops.items() if torch.equal(crop, want)]
        assert any(not mirrored for *_, mirrored in same)


def test_augmentation_depends_on_the_key_and_the_place_alone():
    x = torch.rand(3, 6, 1, 4, 4)
    whole = CropFlip(1)(x, KEYS)
    assert torch.equal(CropFlip(1)(x[1], KEYS[1]), whole[1])
    assert torch.equal(CropFlip(1)(x[1, :4], KEYS[1]), whole[1, :4])
    assert not torch.equal(CropFlip(1)(x[0], KEYS[0]), CropFlip(1)(x[0], KEYS[1]))


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"clip": 0}, "clip must be a number above 0 or None, not 0.0"),
        ({"clip": float("nan")}, "clip must be a number above 0 or None"),
        ({"cap": -1}, "cap must be a whole number of 0 or more or .*, not -1"),
        ({"cap": (3, 2)}, r"cap: from 3 to 2 there is no number"),
        ({"iterations": (-1, 2)}, "iterations must be a whole number of 0 or more or"),
        ({"statistics": "mine"}, "statistics must be average or local, not 'mine'"),
        ({"keep_velocity": True}, "keep_velocity needs momentum above 0, rmsprop or"),
        ({"adam": 0.9}, r"adam must be \(?2 values, each a number of 0 or more and"),
        ({"adam": (0.9, 1)}, "adam must be .* below 1 or None, not"),
        ({"adam": (0.9, 0.9), "momentum": 0.9}, "adam goes without momentum and"),
        ({"adam": (0.9, 0.9), "rmsprop": 0.9}, "adam goes without .* rmsprop"),
        ({"decoupled": True}, "decoupled needs adam, and makes AdamW of it"),
    ],
)
def test_what_makes_no_sense_is_refused(choices, message):
    with pytest.raises(InputError, match=message):
        Training(**choices)


def test_a_crop_needs_room_and_a_fill_for_every_channel():
    with pytest.raises(
        InputError, match="pad must be a whole number of 0 or more, not -1"
    ):
        CropFlip(-1)
    with pytest.raises(InputError, match="fill has 2 numbers, the images 3 channels"):
        CropFlip(1, fill=(0.0, 0.0))(torch.rand(2, 3, 4, 4), KEYS[0])


def test_a_crop_of_rows_is_refused():
    cut = Training(augment=CropFlip())
    x, y = np.ones((8, 4), np.float32), np.arange(8) % 2
    rows = Dataset("rows", x, y, x, y, ("a", "b"), (0.0,), (1.0,))
    w = world(rows, iid(rows.y_train, 2), lambda: nn.Linear(4, 2))
    for engine in ("looped", "stacked"):
        with pytest.raises(InputError, match="moves images, not rows or texts"):
            federate(w, fedavg(cut), 1, engine=engine)

"""The built-in task: the drawing itself, its balance, its knobs and its seed."""

import numpy as np
import pytest

from fedlab_core.data import strokes as letters
from fedlab_core.data.strokes import CLASSES, HIGH, LOW, SIZE


def pixels(images):
    """Stored bytes back to the pen's darkness."""
    return images / 255 * (HIGH - LOW) + LOW


def clean(n=400, **options):
    x, y = letters.letters(n, noise=0, clutter=0, **options)
    return pixels(x), y


def test_form_balance_and_range():
    x, y = letters.letters(1005)
    assert x.shape == (1005, SIZE, SIZE) and x.dtype == np.uint8
    assert y.dtype == np.int64
    counts = np.bincount(y, minlength=len(CLASSES))
    assert counts.max() - counts.min() <= 1 and counts.sum() == 1005
    assert len(np.unique(y[:50])) > 5  # shuffled, not stored class after class


def test_same_arguments_same_bytes_and_each_argument_counts():
    x, y = letters.letters(50, seed=3)
    again, labels = letters.letters(50, seed=3)
    assert x.tobytes() == again.tobytes() and (y == labels).all()
    for other in ({"seed": 4}, {"seed": 3, "noise": 0.5}, {"seed": 3, "angle": 20.0}):
        assert letters.letters(50, **other)[0].tobytes() != x.tobytes()


def test_more_images_than_one_slice():
    x, y = letters.letters(4100, noise=0.1)
    assert x[4096:].std(axis=(1, 2)).min() > 0  # the second slice is drawn too
    assert len(y) == 4100


def test_a_stroke_has_a_gaussian_profile():
    """One horizontal stroke through row 6 from column 3 to column 9, pen width 2."""
    stroke = np.array([[[[3.0, 6.0], [9.0, 6.0]], [[np.nan] * 2] * 2]])
    image = letters._draw(stroke, np.array([[0.8, 5.0]]), np.array([2.0]))[0]
    assert image[6, 3:10] == pytest.approx(0.8)
    assert image[8, 5] == pytest.approx(0.8 * np.exp(-(2**2) / 8))
    assert image[6, 12] == pytest.approx(0.8 * np.exp(-(3**2) / 8))  # past the end
    assert image[9, 13] == pytest.approx(0.8 * np.exp(-(3**2 + 4**2) / 8))


def test_letters_look_like_themselves():
    """The mean L is dark at the left and at the bottom, the mean T at the top."""
    x, y = clean(1000)
    mean = {c: x[y == i].mean(0) for i, c in enumerate(CLASSES)}
    left, right = mean["L"][:, :7].sum(), mean["L"][:, 7:].sum()
    top, bottom = mean["L"][:7].sum(), mean["L"][7:].sum()
    assert left > 1.2 * right and bottom > 1.2 * top
    assert mean["T"][:7].sum() > 1.2 * mean["T"][7:].sum()
    middle = slice(5, 9)
    assert mean["X"][middle, middle].mean() > 2 * mean["U"][middle, middle].mean()


def test_every_class_differs_from_every_other():
    """The nearest class mean names clean letters far above chance."""
    x, y = clean(1000, seed=1)
    means = np.stack([x[y == c].mean(0) for c in range(len(CLASSES))])
    new, truth = clean(500, seed=2)
    gap = ((new[:, None] - means[None]) ** 2).sum((2, 3))
    recall = [(gap.argmin(1) == truth)[truth == c].mean() for c in range(len(CLASSES))]
    assert min(recall) > 0.3 and np.mean(recall) > 0.6


def test_angle_turns_the_picture():
    """Half a turn of the strokes is half a turn of the mean picture, about."""
    upright, y = clean(2000)
    turned, labels = clean(2000, angle=180.0)
    for c in range(len(CLASSES)):
        a = upright[y == c].mean(0)
        b = turned[labels == c].mean(0)[::-1, ::-1]
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.97


def test_angle_may_be_given_per_image():
    angle = np.where(np.arange(60) < 30, 0.0, 90.0)
    x, _ = letters.letters(60, angle=angle)
    upright, _ = letters.letters(60, angle=0.0)
    assert (x[:30] == upright[:30]).all() and not (x[30:] == upright[30:]).all()


@pytest.mark.parametrize("noise", [0.1, 0.35])
def test_noise_has_the_asked_standard_deviation(noise):
    noisy = pixels(letters.letters(500, seed=5, noise=noise)[0])
    without = pixels(letters.letters(500, seed=5, noise=0)[0])
    background = (without < 0.02) & (without > -0.02)
    assert noisy[background].std() == pytest.approx(noise, rel=0.05)


def test_clutter_adds_ink_elsewhere():
    plain, _ = letters.letters(500, noise=0, clutter=0, seed=7)
    full, _ = letters.letters(500, noise=0, clutter=2, seed=7)
    assert pixels(full).mean() > 1.1 * pixels(plain).mean()


def test_normalisation_constants_match_the_stored_bytes():
    byte = np.array([0, 255])
    learner = (byte / 255 - letters.MEAN) / letters.STD
    assert learner == pytest.approx([(LOW - 0.25) / 0.5, (HIGH - 0.25) / 0.5])

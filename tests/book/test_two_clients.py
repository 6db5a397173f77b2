"""Two clients: who holds what, when it pays to train together, and what is drawn."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.container import ErrorbarContainer

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.two_clients import (
    OWN_TESTS,
    TRAIN,
    judged,
    pairs,
    renamed,
    series,
    two_panels,
    worth,
)
from fedlab_core.errors import InputError

POINTS = [(200, 0), (200, 2), (200, 4), (25, 2), (50, 2)]
UP, DOWN, NEAR = (
    np.array(v) for v in ([2.0, 2.2, 1.9], [-2.0, -2.2, -1.9], [0.3, -0.2, 0.0])
)


@pytest.mark.parametrize("classes", [0, 2, 4, 8])
def test_so_many_names_differ(classes):
    assert (renamed(classes) != np.arange(10)).sum() == classes
    assert sorted(renamed(classes)) == list(range(10))


def test_names_are_passed_on_in_a_ring():
    assert renamed(4).tolist() == [3, 0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_pair_holds_the_same_data_and_names_a_part_of_it_differently():
    bench = Bench(noise=0.3, part="even", sizes={"hidden": [8]})
    points = [(30, 0), (40, 2)]
    world = pairs(bench, points)(5)
    data = replace(bench, samples=TRAIN, tests=2 * OWN_TESTS).task(5)
    assert world.counts.sum(1).tolist() == [30, 30, 40, 40]
    assert world.tests is not None
    swapped = {0: 1, 1: 0}
    for k, (first, m) in enumerate([(0, 30), (400, 30), (0, 40), (400, 40)]):
        held, own = world.client(k), world.tests[k]
        named = data.y_train[first : first + m], data.y_test[500 * (k % 2) :][:500]
        if k == 3:  # the second client of the second pair
            named = tuple(np.array([swapped.get(c, c) for c in y]) for y in named)
        np.testing.assert_array_equal(world.y[held], named[0])
        np.testing.assert_array_equal(world.y_test[own], named[1])
        # a world scales all images alike: by one factor, after one shift
        images = world.x[held].numpy().ravel()
        theirs = data.x_train[first : first + m].ravel()
        assert np.corrcoef(images, theirs)[0, 1] == pytest.approx(1, abs=1e-6)


def test_more_samples_than_there_are_is_refused():
    with pytest.raises(InputError, match="at most 400 samples, not 401"):
        pairs(Bench(), [(25, 2), (401, 2)])


def test_a_pair_is_judged_by_the_mean_of_its_two():
    """0.5 and 0.7 are 60 on average, 0.1 and 0.3 are 20; with seed 2 ten more."""
    runs = {}
    for seed in (1, 2):
        for arm, more in (("alone", 0.0), ("together", 0.2)):
            clients = np.array([0.5, 0.7, 0.1, 0.3]) + more + 0.1 * (seed - 1)
            runs["", arm, seed] = fl.History(arm, seed, clients=clients)
    two = judged(Comparison(runs))
    np.testing.assert_allclose(two, [[[60, 20], [80, 40]], [[70, 30], [90, 50]]])


def test_two_series_cross_in_one_point():
    assert series(POINTS) == ([0, 1, 2], [3, 4, 1])


@pytest.mark.parametrize(
    ("gains", "when"),
    [
        ([UP, NEAR, UP], "always"),
        ([NEAR, DOWN], "never"),
        ([NEAR, UP, NEAR, DOWN], "few"),
        ([DOWN, NEAR, UP], "many"),
        ([NEAR, NEAR], "neither"),
    ],
)
def test_when_it_is_worth_it_is_what_intervals_decide(gains, when):
    assert worth(gains) == when


def accuracies() -> np.ndarray:
    """Three seeds; alone 50, 51 and 52 everywhere, together by the point ahead."""
    alone = np.tile(50 + np.arange(3.0)[:, None], (1, len(POINTS)))
    return np.stack([alone, alone + [5.0, -0.04, -7.0, 1.0, 2.0]], axis=1)


def test_the_picture_says_what_it_shows():
    """Differences are the same for every seed: their intervals have no width."""
    fig, alt = two_panels(POINTS, accuracies())
    told = alt.replace("\u00a0", " ")
    assert "in points: +5.0 ± 0.0 at 0, +0.0 ± 0.0 at 0.2, -7.0 ± 0.0 at 0.4." in told
    assert "at distance 0.2: +1.0 ± 0.0 with 25, +2.0 ± 0.0 with 50, +0.0" in told
    left, right = fig.axes
    assert left.get_title("left") == "200 samples each"
    assert right.get_title("left") == "D = 0.2"
    arms = [c for c in left.containers if isinstance(c, ErrorbarContainer)]
    together = np.asarray(arms[1].lines[0].get_xydata(), float)
    np.testing.assert_allclose(together, [[0, 56], [0.2, 50.96], [0.4, 44]])


def test_rings_are_on_what_is_chosen():
    """Together at the first point and the last two, else alone; two arms a panel."""
    fig, _ = two_panels(POINTS, accuracies(), [1, 0, 0, 1, 1])
    rings = [
        np.asarray(ring.get_offsets())
        for ax in fig.axes
        for ring in ax.collections
        if isinstance(ring, PathCollection)
    ]
    assert np.round(np.concatenate(rings), 2).tolist() == [
        *([0.2, 51], [0.4, 51]),  # alone, at the left
        [0, 56],  # together, at the left
        [200, 51],
        *([25, 52], [50, 53]),
    ]
    assert [len(r) for r in rings] == [2, 1, 1, 2]

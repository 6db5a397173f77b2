"""Pictures of a partition: each mark stands at its client and can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from fedlab_book import draw, figures
from fedlab_core.data import Dataset
from fedlab_core.partition import Partition, dirichlet
from fedlab_core.partition.scenarios import (
    FEDCOLLAB_ANGLES,
    Scenario,
    fedcollab_concept_shift,
    scenario,
)

ALT = "Bars of the samples of each client by class; marks at the right"
Y = np.arange(1800) % 10
DATA = Dataset(
    "made",
    np.zeros((1800, 4, 4), dtype=np.uint8),
    Y,
    np.zeros((10, 4, 4), dtype=np.uint8),
    np.arange(10),
    tuple("ABCDEFGHIJ"),
    (0.5,),
    (0.5,),
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def bars(fig: Figure, at: int = 0) -> list[tuple[float, float, float]]:
    """(client, left, width) of each segment, in the order of drawing."""
    found = []
    for drawn in fig.axes[at].collections:
        assert isinstance(drawn, PolyCollection)
        for path in drawn.get_paths():
            corners = np.asarray(path.vertices)
            (left, top), (right, bottom) = corners.min(0), corners.max(0)
            found.append(((top + bottom) / 2, left, right - left))
    return found


def said(fig: Figure, at: int) -> list[tuple[float, str]]:
    """(height, text) of what is written on one of the axes."""
    texts = [(float(t.get_position()[1]), t.get_text()) for t in fig.axes[at].texts]
    return [(y, text) for y, text in texts if text != "↑"]


def headings(fig: Figure) -> list[str]:
    return [ax.get_title(loc="center") for ax in fig.axes[1:]]


def test_holdings_draws_each_sample_once():
    counts = np.array([[3, 0, 5], [0, 2, 0]])
    fig = draw.holdings(counts, "abc", title="who")
    want = [(0, 0, 3), (1, 0, 2), (0, 3, 5)]
    assert np.array(bars(fig)) == pytest.approx(np.array(want))
    written = {(t.get_text(), *t.get_position()) for t in fig.axes[0].texts}
    assert written == {("a", 1.5, 0), ("b", 1, 1), ("c", 5.5, 0)}
    assert fig.axes[0].get_title(loc="left") == "who"


def test_a_scenario_to_which_nothing_was_done_is_drawn_as_its_holdings():
    s = scenario(DATA, "dirichlet", clients=6, alpha=0.5)
    drawn, plain = draw.scenario_plot(s), draw.holdings(s.counts, DATA.classes)
    assert len(drawn.axes) == 1 and bars(drawn) == bars(plain)
    assert (drawn.get_size_inches() == plain.get_size_inches()).all()
    assert drawn.axes[0].get_xlabel() == "samples held, by class"


@pytest.mark.slow
def test_own_test_sets_continue_the_bars():
    s = scenario(DATA, "dirichlet", clients=6, alpha=0.5, own_test=0.3)
    fig = draw.scenario_plot(s)
    assert s.test is not None
    ends = np.stack([np.arange(6), s.train.sizes, s.test.sizes], axis=1)
    assert np.array(bars(fig)[-6:]) == pytest.approx(ends)
    assert fig.axes[0].get_xlim()[1] >= (s.train.sizes + s.test.sizes).max()
    assert "hatched: own test set" in fig.axes[0].get_xlabel()


def test_the_classes_of_a_small_client_can_be_read_as_shares():
    parts = (np.arange(100), np.array([100, 101, 102, 103]), np.array([], dtype=int))
    s = Scenario(DATA, Partition("by hand", {}, parts), angles=(0.0, 90.0, 90.0))
    fig = draw.scenario_plot(s, shares=True)
    held, own = (np.array(bars(fig, k)) for k in (0, 1))
    assert (own[:, 0] == held[:, 0]).all(), "the same clients, class by class"
    total = held[own[:, 0] == 1, 2].sum()
    assert own[own[:, 0] == 1, 2] == pytest.approx(
        100 * held[held[:, 0] == 1, 2] / total
    )
    assert own[own[:, 0] == 0, 2].sum() == pytest.approx(100)
    assert headings(fig)[1:] == ["turned"], "what was done stays at the right"


def test_neighbours_share_their_angle():
    s = scenario(DATA, "iid", clients=20, rotate=FEDCOLLAB_ANGLES)
    fig = draw.scenario_plot(s)
    assert headings(fig) == ["turned"]
    want = [(2, "−25°"), (7, "25°"), (12, "155°"), (17, "205°")]
    assert said(fig, 1) == want
    arrows = [t.get_rotation() for t in fig.axes[1].texts if t.get_text() == "↑"]
    assert arrows == [a % 360 for a in FEDCOLLAB_ANGLES]


def test_label_maps_are_drawn_as_dots_beside_their_clients():
    maps = fedcollab_concept_shift(10, 4)
    s = scenario(DATA, "iid", clients=20, own_test=0.2, relabel=maps)
    fig = draw.scenario_plot(s)
    assert headings(fig) == ["labels"]
    dots = [line for line in fig.axes[1].lines if line.get_marker() == "o"]
    for line, order, first in zip(dots, maps, range(0, 20, 5), strict=True):
        x, y = (np.asarray(v) for v in line.get_data())
        assert (np.diff(x) > 0).all()
        assert np.argsort(np.argsort(y)).tolist() == order.tolist()
        assert first - 0.5 < y.min() and y.max() < first + 4.5


def test_crosses_mark_the_corrupted_clients():
    s = scenario(DATA, "iid", clients=20, corrupt=0.3, rotate=5)
    fig = draw.scenario_plot(s)
    assert headings(fig) == ["turned", "wrong"]
    (line,) = fig.axes[2].lines
    assert np.asarray(line.get_ydata()).tolist() == list(s.corrupted)
    assert len(s.corrupted) == 6


@pytest.mark.slow
@pytest.mark.parametrize("clients", [2, 20, 60])
def test_everything_at_once_can_be_read(clients):
    rng = np.random.default_rng(clients)
    own = {
        "rotate": rng.integers(-180, 180, clients),
        "relabel": [rng.permutation(10) for _ in range(clients)],
    }
    s = scenario(DATA, "iid", clients=clients, own_test=0.3, corrupt=0.25, **own)
    fig = draw.scenario_plot(s, title="All of it")
    assert headings(fig) == ["turned", "labels", "wrong"]
    fig.canvas.draw()
    boxes = [t.get_window_extent() for t in fig.axes[1].texts if t.get_text() != "↑"]
    for upper, lower in zip(boxes, boxes[1:], strict=False):
        assert upper.y0 >= lower.y1 - 1  # a pixel of the font's own margin
    right = max(box.x1 for box in boxes)
    assert right <= fig.axes[2].get_window_extent().x0 + 1
    markup = figures.svg(fig, ALT)  # refuses small text
    assert markup.startswith("<svg")


def test_long_class_names_are_numbered():
    names = ("T-shirt", *DATA.classes[1:])
    data = Dataset("made", DATA.x_train, Y, DATA.x_test, DATA.y_test, names, (0,), (1,))
    s = Scenario(data, dirichlet(Y, 3, 100.0))
    written = {t.get_text() for t in draw.scenario_plot(s).axes[0].texts}
    assert written == set("0123456789")


def test_a_client_without_samples_can_be_drawn():
    nothing = np.array([], dtype=int)
    s = Scenario(DATA, Partition("by hand", {}, (np.arange(5), nothing)))
    assert {client for client, *_ in bars(draw.scenario_plot(s))} == {0}


def test_runs_are_neighbours_with_equal_values():
    assert draw._runs([1, 1, 2, 1]) == [range(0, 2), range(2, 3), range(3, 4)]
    assert draw._runs([(1, 2)]) == [range(0, 1)]


def test_a_band_is_the_interval_around_the_mean_of_the_seeds():
    fig, ax = figures.canvas()
    seeds = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 5.0]])
    draw.banded(ax, [1, 2, 3], seeds, color="red", alpha=0.3, marker="s")
    (line,), (band,) = ax.lines, ax.collections
    assert np.asarray(line.get_ydata()).tolist() == [2, 2, 4.5]
    assert line.get_marker() == "s" and band.get_alpha() == 0.3
    # of a and b the half is 12.7062 |a - b| / 2, by Student's table
    edge = {tuple(v) for v in np.asarray(band.get_paths()[0].vertices).round(3)}
    assert {(1, -10.706), (1, 14.706), (2, 2), (3, -1.853), (3, 10.853)} <= edge


def test_tiles_stand_in_a_row_two_pixels_apart():
    fig, ax = figures.canvas()
    images = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    draw.tiles(ax, images, row=1, vmin=0, vmax=255)
    extents = [tuple(image.get_extent()) for image in ax.images]
    assert extents == [(0, 5, 10, 6), (7, 12, 10, 6), (14, 19, 10, 6)]
    for image, drawn in zip(images, ax.images, strict=True):
        assert np.array_equal(np.asarray(drawn.get_array()), image)
        assert drawn.get_clim() == (0, 255)

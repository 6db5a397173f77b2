"""Panels on toy numbers: what is drawn, what is said, and what is refused."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from fedlab_book import panels
from fedlab_book.figures import LEGEND_LINE, LOOKS, PALETTE, svg
from fedlab_book.findings import Row
from fedlab_core.errors import InputError

TWO = {"FedAvg": np.array([[1.0, 2], [3, 4]]), "other": np.array([[5.0, 6], [7, 8]])}
GRID = np.array([(a, b, 2 - a - b) for a in range(3) for b in range(3 - a)]) / 2
ROWS = [Row("alike", [1.0, 2, 3], paper=4), Row("uneven", [-1.0, 0, 1])]
EACH = {
    "course": panels.course(TWO, label="accuracy", levels={"guessing": 1.0}),
    "sweep": panels.sweep(TWO, ["1", "2"], label="accuracy", along="epochs"),
    "gains": panels.gains(ROWS),
    "beside": panels.beside(
        [("FedAvg", 5.0, np.array([1.0, 2])), ("x", 1.0, np.array([]))], "%"
    ),
    "strip": panels.strip(np.eye(3), ["A", "B", "C"], dots=np.eye(3)[::-1]),
    "bars": panels.bars({"size": [1, 2]}, ["1", "2"], label="weight"),
    "held": panels.held(np.array([[3, 0], [0, 0]]), ["A", "B"]),
    "triangle": panels.triangle(GRID, GRID[:, 0], {"FedAvg": [1 / 3] * 3}, "ABC"),
    "grid": panels.grid(np.array([[1.0, np.nan]]), ["a"], ["b", "c"], label="gain"),
    "scatter": panels.scatter(
        {"all": (np.arange(4), np.arange(4))}, xlabel="x", ylabel="y"
    ),
}
SAID = {
    "course": r"FedAvg from 2.0 to 3.0 ± 12.7; other from 6.0 to 7.0",
    "sweep": r"by epochs. FedAvg: 2.0 ± 12.7 at 1, 3.0 ± 12.7 at 2; other",
    "gains": r"alike \+2.0 ± 2.5; uneven \+0.0 ± 2.5. The paper's: alike \+4",
    "beside": r"FedAvg: paper 5, ours 1.5 ± 6.4; x: paper 1, ours not run",
    "strip": r"Last: A 0 %, B 0 %, C 100 %",
    "bars": r"Weight of client 1, 2. size: 1, 2",
    "held": r"client 1 3 A; client 2 none",
    "triangle": r"FedAvg at 0.33, 0.33, 0.33, loss 0",
    "grid": r"Gain. a: b 1.0\.$",
    "scatter": r"4 points: correlation 1.00",
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def axes_of(panel: panels.Panel) -> Axes:
    fig, _ = panels.picture(panel)
    return fig.axes[0]


@pytest.mark.parametrize("name", EACH)
def test_a_panel_has_its_numbers_in_words_and_fits_a_phone(name: str) -> None:
    fig, alt = panels.picture(EACH[name], EACH["bars"], lead="First.")
    assert alt.startswith("First. ") and re.search(SAID[name], EACH[name].said)
    width = re.search(r"min-width:(\d+)px", svg(fig, alt))
    assert width is not None and int(width[1]) <= 360
    assert panels.picture(EACH[name], EACH["bars"], across=1)[0].axes


def test_a_course_is_the_mean_over_seeds_in_the_colour_of_its_method() -> None:
    ax = axes_of(EACH["course"])
    first, second, *_ = ax.get_lines()
    assert np.asarray(first.get_ydata()).tolist() == [2, 3] and np.asarray(
        second.get_ydata()
    ).tolist() == [6, 7]
    assert first.get_color() == LOOKS["FedAvg"].color != second.get_color()
    assert [t.get_text() for t in ax.texts] == ["guessing"]
    assert all(float(t).is_integer() for t in ax.get_xticks())  # rounds are whole


def test_seeds_in_two_groups_are_a_ring_each_and_have_no_interval() -> None:
    apart = np.array([47.0, 48, 92, 92.5, 93])
    ax = axes_of(panels.beside([("C", 92.0, apart)], "%"))
    rings = ax.get_lines()[-1]
    assert np.asarray(rings.get_xdata()).tolist() == apart.tolist()
    assert rings.get_markerfacecolor() == "none" and ax.get_xlim()[1] < 100


def test_what_cannot_be_told_is_hollow() -> None:
    clear, open_ = Row("clear", [1.0, 1.1, 0.9]), Row("open", [-1.0, 0, 1])
    lines = axes_of(panels.gains([clear, open_])).get_lines()
    dots = [line for line in lines if line.get_marker() == "o"]
    assert [d.get_markerfacecolor() for d in dots] == [PALETTE["blue"], "none"]


def test_the_papers_stars_stand_at_their_settings() -> None:
    paper = {"FedAvg": {1: 9.0}}
    drawn = panels.sweep(TWO, ["1", "2"], label="y", along="x", paper=paper)
    stars = [s for s in axes_of(drawn).get_lines() if s.get_marker() == "*"]
    assert [np.asarray(s.get_ydata()).tolist() for s in stars] == [[9.0], []]
    assert "the paper: 9 at 2" in drawn.said and "the paper's" in (drawn.names or {})


def test_two_panels_share_one_legend() -> None:
    fig, _ = panels.picture(EACH["course"], EACH["sweep"])
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [*TWO]
    assert not panels.picture(EACH["gains"])[0].legends


def test_names_too_long_to_stand_abreast_have_a_line_each_and_room_for_it() -> None:
    short, long = (
        {f"{word} {i}": TWO["other"] for i in "ab"} for word in ("x", "x" * 40)
    )
    figs = [panels.picture(panels.course(each, label="y"))[0] for each in (short, long)]
    columns = [getattr(fig.legends[0], "_ncols") for fig in figs]  # noqa: B009
    assert columns == [2, 1]
    low, high = (fig.get_figheight() for fig in figs)
    assert round(96 * (high - low)) == LEGEND_LINE
    assert figs[1].legends[0].get_window_extent().width < figs[1].bbox.width


def test_a_map_prints_its_numbers_and_leaves_blank_what_is_none() -> None:
    drawn = panels.grid(
        np.array([[1.0, -2], [np.nan, 0]]), "ab", "cd", label="gain", most=5
    )
    assert [t.get_text() for t in axes_of(drawn).texts] == ["+1.0", "-2.0", "+0.0"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="a picture needs a panel"):
        panels.picture()
    with pytest.raises(InputError, match="a colour for .'x'., which is not drawn"):
        panels.course(TWO, label="y", colours={"x": "red"})
    with pytest.raises(InputError, match="one bar for each of 3 labels"):
        panels.bars({"size": [1, 2]}, ["1", "2", "3"], label="y")
    with pytest.raises(InputError, match="two rows have one name"):
        panels.gains([ROWS[0], ROWS[0]])
    with pytest.raises(InputError, match="line='x': fit, same"):
        panels.scatter({"a": (np.ones(2), np.ones(2))}, xlabel="", ylabel="", line="x")


def test_a_legend_of_bars_has_their_hatch_and_long_names_a_word_a_line() -> None:
    names = ["often at first", "often at last", "evenly", "only its very end"]
    panel = panels.bars({"A": [1.0] * 4, "B": [2.0] * 4}, names, label="%")
    fig, _ = panels.picture(panel)
    hatches = [bars[0].get_hatch() or "" for bars in fig.axes[0].containers]
    marks = [mark.get_hatch() or "" for mark in fig.legends[0].get_patches()]
    assert marks == hatches == ["", "//"]
    under = [text.get_text() for text in fig.axes[0].get_xticklabels()]
    assert under == [name.replace(" ", "\n") for name in names]
    short = axes_of(panels.bars({"A": [1.0, 2.0]}, ["at first", "at last"], label="%"))
    assert [t.get_text() for t in short.get_xticklabels()] == ["at first", "at last"]

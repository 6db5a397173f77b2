"""A piece of the playground in a chapter: what stands there before it trains."""

import html
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fedlab_book import live as piece
from fedlab_book.live import Goal, live
from fedlab_browser.playground import state as can
from fedlab_core.errors import InputError

ALT = "Ten lines from one point, each the way of a client, and their short mean."


def shown(*about: Any, **how: Any) -> Any:
    return live(*about, **how)


@pytest.fixture
def on_a_page(monkeypatch):
    monkeypatch.setenv("FEDLAB_PAGES", "1")


@pytest.mark.slow
def test_a_page_has_a_picture_and_what_to_train(on_a_page):
    text = shown("alpha=0.1&epochs=8", ALT, sliders=["alpha"], rounds=1)._repr_html_()
    said = re.search(r'data-playground="([^"]*)"', text)
    assert said and json.loads(html.unescape(said[1])) == {
        "state": can.said(can.parsed("alpha=0.1&epochs=8")),
        "rows": [],
        "sliders": ["alpha"],
        "pictures": ["plane", "curve"],
        "until": 20,
    }
    assert f'aria-label="{ALT}"' in text and "<svg" in text
    assert "<script" not in text


@pytest.mark.slow
def test_a_notebook_brings_everything_along(monkeypatch):
    monkeypatch.delenv("FEDLAB_PAGES", raising=False)
    monkeypatch.setattr(piece, "kept", lambda: {"task.json": b"{}"})
    page = shown("", ALT, rounds=1, pictures=["clients"])
    assert page.options["pictures"] == ["clients"] and "<svg" in page.before


@pytest.mark.slow
def test_a_piece_can_be_about_own_letters(on_a_page):
    """One that trains alone reads its own letters, and few of the others."""
    state, names = "groups=nobody&split=worlds&ratio=9", ("clients", "curve")
    how: dict[str, Any] = {"rounds": 2, "pictures": names, "measure": "own"}
    told = shown(state, ALT, **how)._repr_html_()
    said = re.search(r'data-playground="([^"]*)"', told)
    assert said and json.loads(html.unescape(said[1]))["measure"] == "own"
    two = ("own", "accuracy")
    own, every = (piece.played(state, 2, names, measure=m) for m in two)
    assert [ax.get_title("left") for ax in own.axes] == [
        "Own letters read",
        "On average",
    ]
    drawn = own.axes[0].patches
    bars = [bar.get_height() for bar in drawn if isinstance(bar, Rectangle)]
    ends = [np.asarray(f.axes[1].lines[0].get_ydata())[-1] for f in (own, every)]
    assert sum(bars) / 10 == pytest.approx(ends[0]) and ends[0] > 1.5 * ends[1]


@pytest.mark.parametrize(
    "state, how, says",
    [
        ("rule=adam", {}, "rule='adam'"),
        ("", {"rows": ["rul"]}, "rows=rul: choose from rule, weigh"),
        ("", {"sliders": ["gamma"]}, "sliders=gamma: choose from alpha"),
        ("", {"sliders": ["seed"]}, "sliders=seed: choose from alpha"),  # none shown
        ("", {"pictures": ["map"]}, "pictures=map: choose from clients, plane"),
        ("", {"beside": "seed=1"}, "two federations share seed"),
        ("", {"beside": "rule=adam"}, "rule='adam'"),
        ("", {"beside": "weigh=equal", "pictures": ["letters"]}, "of one only"),
        ("", {"measure": "left"}, "measure='left': choose from .*own"),
        ("", {"names": {"Deal": {"odd": "alpha=7"}}}, "alpha='7'"),
        ("groups=nobody", {"names": {"By": {"it": "weigh=disco"}}}, "client alone"),
    ],
)
def test_what_is_not_there_is_said(state, how, says):
    with pytest.raises(InputError, match=says):
        live(state, ALT, **how)


def test_names_for_several_choices_are_told_to_the_page(on_a_page, monkeypatch):
    monkeypatch.setattr(piece, "played", lambda *_: Figure())
    names = {"Deal": {"usual": "", "few": "alpha=0.1&present=0.5"}}
    text = shown("", ALT, names=names)._repr_html_()
    said = re.search(r'data-playground="([^"]*)"', text)
    assert said
    told = json.loads(html.unescape(said[1]))["names"]
    assert told == {"Deal": {"usual": {}, "few": {"alpha": 0.1, "present": 0.5}}}


GOAL = Goal(
    "Lose ten points", "alpha=0.05", below=-0.1, keep="epochs=5", than="alpha=5"
)


@pytest.mark.parametrize(
    "goal, says",
    [
        (replace(GOAL, above=0.1), "either above or below"),
        (replace(GOAL, below=None), "either above or below"),
        (replace(GOAL, keep="epochs=8"), "its solution is not epochs=8"),
        (replace(GOAL, than="alpha=7"), "alpha='7'"),
        (replace(GOAL, solution="rule=adam"), "rule='adam'"),
    ],
)
def test_a_goal_that_cannot_be_is_said(goal, says):
    with pytest.raises(InputError, match=says):
        live("", ALT, goal=goal)


def test_the_page_is_told_the_goal_and_not_its_solution():
    told = GOAL.options
    assert told["keep"] == {"epochs": 5} and told["than"] == {"alpha": 5}
    assert told["below"] == -0.1 and "above" not in told and "0.05" not in str(told)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "groups=nobody", "weigh=disco&split=two", "present=0.2", "groups=two"]
)
def test_every_picture_of_every_kind_of_state_can_be_drawn(text):
    fig = piece.played(text, 2, piece.PICTURES)
    titles = [ax.get_title("left") for ax in fig.axes]
    assert len(titles) == len(piece.PICTURES) and all(titles)


@pytest.mark.slow
def test_two_federations_are_drawn_beside_each_other():
    """Both curves, a plane of each by one scale, and both weights."""
    fig = piece.played(
        "split=big", 2, ["clients", "plane", "curve"], {"weigh": "equal"}
    )
    clients, one, other, curve = fig.axes
    assert one.get_xlim() == other.get_xlim() and len(clients.patches) == 20
    _, names = curve.get_legend_handles_labels()
    assert names == ["counts by size", "counts equally"]
    titles = [ax.get_title("left") for ax in (one, other)]
    assert titles == names


def test_the_words_for_a_difference():
    one = can.parsed("weigh=equal&present=0.5")
    told = piece.apart(one, can.parsed("weigh=equal&rule=fedprox&fedprox.mu=1"))
    assert told[0] == "SGD, clients a round 5 of 10"
    assert told[1] == "FedProx, clients a round 10 of 10, pull, μ 1"


def test_the_weights_drawn_are_the_runs():
    fig = piece.played("weigh=disco&split=two", 1, ["clients"])
    bars: list[Any] = list(fig.axes[0].patches)
    heights = [bar.get_height() for bar in bars]
    assert sum(heights) == pytest.approx(1) and max(heights) == heights[-1]

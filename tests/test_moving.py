"""Widgets as a page has them, held against the widgets themselves."""

import itertools
import json
import re
from typing import Any

import ipywidgets as W
import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup, Tag
from ipywidgets.embed import embed_data

from fedlab_book import figures
from fedlab_book.widgets import Axis, frames
from tools import moving


def draw(*values):
    fig, ax = figures.canvas(200, 100)
    ax.set_title(" ".join(map(str, values)))
    return fig, f"A picture without any curve, drawn for the values {values}"


def page_of(*widgets: W.Widget) -> BeautifulSoup:
    """A page's body that shows these widgets, as the notebook's state has them."""
    data: Any = embed_data(views=widgets)
    plt.close("all")
    kind = "application/vnd.jupyter.widget-view+json"
    views = [
        f'<script type="{kind}">\n{json.dumps(view)}\n</script>'
        for view in data["view_specs"]
    ]
    body = moving.still("<p>before</p>".join(views), data["manager_state"]["state"])
    return BeautifulSoup(body, "html.parser")


def held(page: BeautifulSoup) -> dict[str, Any]:
    data = page.select_one("script[type='application/json']")
    assert data is not None
    return json.loads(data.text)


def chosen(data: dict[str, Any], values: tuple[int, ...]) -> str:
    """The picture for some values of the controls, as `frames.js` finds it."""
    number = data["top"]
    while number < 0:
        by, among = data["chosen"][-1 - number]
        number = among[values[by]]
    return data["frames"][number]


@pytest.mark.slow
def test_every_choice_shows_the_widgets_own_picture(monkeypatch):
    chosen_by, link = {}, W.jslink

    def linked(source, target):
        chosen_by[target[0]] = source[0]
        return link(source, target)

    def visible(widget: Any) -> str:
        while isinstance(widget, W.Stack):
            widget = widget.children[chosen_by[widget].index]
        return widget.value

    monkeypatch.setattr(W, "jslink", linked)
    box = frames(
        draw,
        Axis("r", [0, 1, 2], start=1),
        Axis("task", ["a", "b"], "buttons"),
        Axis("form", ["x", "y"], "dropdown", start=1),
        key=lambda r, task, form: (r, task if r else "-", form),
    )
    bar, stage = box.children[:2]
    data = held(page_of(box))
    for values in itertools.product(range(3), range(2), range(2)):
        for control, value in zip(bar.children, values, strict=True):
            control.index = value
        assert chosen(data, values) == visible(stage.children[0]), values
    assert len(data["frames"]) == 2 + 2 * 2 * 2  # what is alike is there once


@pytest.mark.slow
def test_the_controls_say_their_names_values_and_the_first_choice():
    page = page_of(
        frames(
            draw,
            Axis("mixing <r>", [0, 1, 2], start=1, format="{} %".format),
            Axis("task", ["a", "b"], "buttons", start=1),
            Axis("form", ["x", "y"], "dropdown"),
            caption="What to see",
        )
    )
    slider, buttons, dropdown = page.select(".fl-control")
    field = _one(slider, "input")
    assert _one(slider, "label").text == "mixing <r>"
    assert _one(slider, "label")["for"] == field["id"]
    assert (field["value"], field["max"]) == ("1", "2")
    assert field["aria-valuetext"] == _one(slider, ".fl-readout").text == "1 %"
    pressed = [b["aria-pressed"] for b in buttons.select("button")]
    assert pressed == ["false", "true"]
    assert _one(dropdown, "option[selected]").text == "x"
    assert "for the values (1, &#x27;b&#x27;, &#x27;x&#x27;)" in str(
        _one(page, ".fl-stage")
    ).replace("'", "&#x27;")
    assert "What to see" in _one(page, ".fl-frames").text
    assert held(page)["values"] == [["0 %", "1 %", "2 %"], ["a", "b"], ["x", "y"]]


def test_a_player_keeps_its_pace_and_only_a_player_has_a_button():
    axis = Axis("t", [0, 1])
    played, still = frames(draw, axis, play=True), frames(draw, axis)
    played.children[0].children[0].interval = 650
    page = page_of(played, still)
    one, other = page.select(".fl-frames")
    assert one["data-interval"] == "650" and one.select_one(".fl-play")
    assert not other.get("data-interval") and not other.select_one(".fl-play")


def test_widgets_on_a_page_have_names_of_their_own():
    page = page_of(*(frames(draw, Axis("t", [0, 1])) for _ in range(2)))
    names = [tag["id"] for tag in page.select("[id]") if not tag.find_parent("svg")]
    assert len(names) == len(set(names)) == 4


def test_no_picture_ends_the_data():
    def mark(fig, alt, scope):
        return f"<!-- {figures.svg(fig, alt, scope)} --></script>"

    box = frames(draw, Axis("t", [0, 1]), render=mark)
    body = str(page_of(box).select_one("script"))
    assert body.count("</script>") == 1 and "<!--" not in body
    data = json.loads(re.sub("<.?script.*?>", "", body))
    assert data["frames"][0].endswith("--></script></div></figure>")


def test_a_widget_that_nothing_could_move_is_refused():
    with pytest.raises(ValueError, match="IntSliderModel shows on a page, where only"):
        page_of(W.IntSlider())


def _one(page: Tag, selector: str) -> Tag:
    (found,) = page.select(selector)
    return found

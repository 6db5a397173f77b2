import ast
import inspect

import ipywidgets as W
import pytest
import torch

from fedlab_book import figures, widgets
from fedlab_book.widgets import Axis, frames


class Drawer:
    """Draws a small figure and counts how often."""

    def __init__(self):
        self.calls = []

    def __call__(self, *values):
        self.calls.append(values)
        fig, ax = figures.canvas(200, 100)
        ax.set_title(" ".join(map(str, values)))
        return fig, f"A picture without any curve, drawn for the values {values}"


@pytest.fixture
def draw():
    return Drawer()


@pytest.fixture
def links(monkeypatch):
    """The (control, target) pairs that are linked in the browser."""
    made = []
    monkeypatch.setattr(
        W, "jslink", lambda source, target: made.append((source[0], target[0]))
    )
    return made


def models(box, kind):
    """The different models of one kind below `box`."""
    found = {}
    todo = [box]
    while todo:
        widget = todo.pop()
        todo += getattr(widget, "children", ())
        if type(widget) is kind:
            found[widget.model_id] = widget
    return list(found.values())


def visible(widget):
    """The markup of the frame that shows in the present state of the stacks."""
    while isinstance(widget, W.Stack):
        widget = widget.children[widget.selected_index]
    assert isinstance(widget, W.HTML)
    return widget.value


def controls_and_picture(box):
    bar, stage = box.children[:2]
    return bar.children, stage.children[0]


@pytest.mark.slow
def test_every_combination_has_its_frame(draw):
    box = frames(draw, Axis("r", [0, 1, 2]), Axis("task", ["a", "b"], "buttons"))
    assert sorted(draw.calls) == [(r, t) for r in (0, 1, 2) for t in "ab"]
    (r, task), outer = controls_and_picture(box)
    for i in range(3):
        for j in range(2):
            r.index = outer.selected_index = i
            inner = outer.children[i]
            task.index = inner.selected_index = j
            assert f"({i}, &#39;{'ab'[j]}&#39;)" in visible(outer)


@pytest.mark.slow
def test_every_stack_is_linked_in_the_browser_to_its_control(draw, links):
    box = frames(draw, Axis("r", [0, 1, 2]), Axis("task", ["a", "b"], "dropdown"))
    (r, task), outer = controls_and_picture(box)
    inner = [(task, stack) for stack in outer.children]
    assert set(links) == {(r, outer), *inner}


@pytest.mark.slow
def test_first_state_is_what_start_says(draw):
    box = frames(draw, Axis("r", [5, 6, 7], start=2), Axis("t", [1, 2], start=1))
    (r, t), outer = controls_and_picture(box)
    assert (r.index, t.index) == (2, 1)
    assert "(7, 2)" in visible(outer)


@pytest.mark.slow
def test_equal_frames_share_one_model():
    def same_for_all_alpha(kind, alpha):
        shown = alpha if kind == "skewed" else "any"
        return Drawer()(kind, shown)

    box = frames(
        same_for_all_alpha,
        Axis("kind", ["even", "skewed"], "buttons"),
        Axis("alpha", [0.1, 1, 10]),
    )
    assert len(models(box, W.HTML)) == 1 + 3
    assert len(models(box, W.Stack)) == 1 + 1  # no stack where alpha changes nothing


def test_key_saves_the_drawing(draw):
    box = frames(draw, Axis("x", [0, 1, 2, 3]), key=lambda x: x % 2)
    assert draw.calls == [(0,), (1,)]
    assert len(models(box, W.HTML)) == 2


@pytest.mark.slow
def test_frames_share_one_layout(draw):
    box = frames(draw, Axis("x", range(10)))
    assert len({frame.layout.model_id for frame in models(box, W.HTML)}) == 1


def test_play_runs_the_first_axis(draw, links):
    box = frames(draw, Axis("t", [0, 1, 2], start=1), play=True)
    (player, t), _ = controls_and_picture(box)
    assert (player.value, player.min, player.max) == (1, 0, 2)
    assert (player, t) in links


def test_caption_is_text(draw):
    box = frames(draw, Axis("x", [0, 1]), caption="a < b")
    assert "a &lt; b" in box.children[-1].value


def test_format_writes_the_values(draw):
    box = frames(draw, Axis("r", [0.25, 0.5], format="{:.0%}".format))
    (r,), _ = controls_and_picture(box)
    assert [label for label, _ in r.options] == ["25%", "50%"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"kind": "knob"}, "axis 'x': kind 'knob'; known: slider, buttons, dropdown"),
        ({"values": [1]}, "axis 'x' has fewer than two values"),
        ({"start": 2}, r"axis 'x': start 2 not in 0\.\.1"),
        ({"format": lambda value: "?"}, "axis 'x': two values are written alike"),
    ],
)
def test_a_wrong_axis_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Axis(**{"name": "x", "values": [1, 2], **wrong})


def test_frames_without_an_axis_are_refused(draw):
    with pytest.raises(ValueError, match="frames needs an axis"):
        frames(draw)


def test_a_frame_needs_a_text_alternative():
    def mute(x):
        return figures.canvas()[0], "short"

    with pytest.raises(ValueError, match="alt of 5 characters"):
        frames(mute, Axis("x", [0, 1]))


def test_frames_drawn_on_two_cores_are_those_drawn_on_one(draw):
    def markups() -> list[str]:
        made = widgets._Frames(draw, axes, [], None, lambda fig, alt, _: alt)
        return list(made._by_key.values())

    axes = (Axis("x", range(3)), Axis("task", ["a", "b"]))
    alone, calls = markups(), len(draw.calls)
    torch.set_num_threads(2)
    try:
        assert markups() == alone
    finally:
        torch.set_num_threads(1)
    assert calls == 6 and len(draw.calls) == 6 + 3  # here, the others elsewhere


def test_widgets_import_nothing_but_figures_and_processes():
    tree = ast.parse(inspect.getsource(widgets))
    nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    ours = {ast.unparse(n) for n in nodes if "fedlab" in ast.unparse(n)}
    assert ours == {
        "from fedlab_book import figures",
        "from fedlab_book.parallel import spread",
    }

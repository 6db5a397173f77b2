"""Pictures that move: in a live notebook and in the built page, where no kernel runs.

Every state is drawn beforehand. The controls are linked to the frames in the browser,
so the same widget answers to mouse and keyboard with or without Python behind it.

    frames(draw, Axis("mixing weight r", rs, start=5), Axis("task", tasks, "buttons"))

where `draw(r, task)` gives a figure and its text alternative.
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as W
import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from fedlab_book import figures
from fedlab_book.parallel import spread

Drawing = tuple[Figure, str]  # a figure and its text alternative

_CONTROLS = {
    "slider": W.SelectionSlider,
    "buttons": W.ToggleButtons,
    "dropdown": W.Dropdown,
}
_scopes = itertools.count()


@dataclass(frozen=True)
class Axis:
    """One thing the reader can change: its name, its values, and where it starts."""

    name: str
    values: Sequence[Any]
    kind: str = "slider"  # or "buttons", "dropdown"
    start: int = 0  # index of the first value shown
    format: Callable[[Any], str] = str

    def __post_init__(self) -> None:
        if self.kind not in _CONTROLS:
            kinds = ", ".join(_CONTROLS)
            raise ValueError(f"axis {self.name!r}: kind {self.kind!r}; known: {kinds}")
        if len(self.values) < 2:
            raise ValueError(f"axis {self.name!r} has fewer than two values")
        if not 0 <= self.start < len(self.values):
            last = len(self.values) - 1
            raise ValueError(f"axis {self.name!r}: start {self.start} not in 0..{last}")
        labels = [self.format(value) for value in self.values]
        if len(set(labels)) < len(labels):
            raise ValueError(f"axis {self.name!r}: two values are written alike")


def frames(
    draw: Callable[..., Drawing],
    *axes: Axis,
    key: Callable[..., Hashable] | None = None,
    render: Callable[[Figure, str, str], str] = figures.svg,
    caption: str | None = None,
    play: bool = False,
) -> W.VBox:
    """A picture for every combination of the axes' values, with a control per axis.

    Args:
        draw: called as `draw(*values)`, one value per axis, on every core: what it
            leaves behind elsewhere than in its answer may be lost.
        key: combinations with the same `key(*values)` are drawn once. Without it every
            combination is drawn; those that come out alike still share one frame.
        render: `(figure, alt, scope) -> markup`.
        caption: what to see in it, under the picture.
        play: add a player that runs through the first axis.
    """
    if not axes:
        raise ValueError("frames needs an axis; without one, use figures.show")
    controls = [_control(axis) for axis in axes]
    picture = _Frames(draw, axes, controls, key, render).stack(())
    bar = [_player(controls[0], axes[0]), *controls] if play else controls
    children = [W.HBox(bar, layout=W.Layout(flex_flow="row wrap")), _stage(picture)]
    if caption:
        text = Markup('<p class="fl-caption">{}</p>').format(figures.plain(caption))
        children.append(W.HTML(str(text), layout=W.Layout(margin="0")))
    box = W.VBox(children)
    box.add_class("fl-frames")
    return box


class _Frames:
    """Builds the nested stacks; equal frames and equal stacks are one model each."""

    def __init__(self, draw, axes, controls, key, render):
        self._draw, self._axes, self._controls = draw, axes, controls
        self._key, self._render = key, render
        # Frames of one widget are never shown together, hence one scope for their ids.
        self._scope = f"frames {next(_scopes)}"
        self._layout = W.Layout(margin="0")  # shared: one of its own costs 1 kB a frame
        firsts: dict[Hashable, tuple[Any, ...]] = {}
        for values in itertools.product(*(axis.values for axis in axes)):
            firsts.setdefault(self._key_of(values), values)
        drawn = spread(self._drawn, list(firsts.values()))
        self._by_key = dict(zip(firsts, drawn, strict=True))
        self._by_markup: dict[str, W.HTML] = {}
        self._by_children: dict[tuple[str, ...], W.Stack] = {}

    def stack(self, values: tuple[Any, ...]) -> W.Widget:
        """The picture once the first `len(values)` axes are fixed."""
        depth = len(values)
        if depth == len(self._axes):
            return self._frame(values)
        axis, control = self._axes[depth], self._controls[depth]
        children = [self.stack((*values, value)) for value in axis.values]
        ids = tuple(child.model_id for child in children)
        if len(set(ids)) == 1:
            return children[0]  # this axis changes nothing here
        if ids not in self._by_children:
            stack = W.Stack(children, selected_index=axis.start, layout=self._layout)
            W.jslink((control, "index"), (stack, "selected_index"))
            self._by_children[ids] = stack
        return self._by_children[ids]

    def _frame(self, values: tuple[Any, ...]) -> W.HTML:
        markup = self._by_key[self._key_of(values)]
        if markup not in self._by_markup:
            self._by_markup[markup] = W.HTML(str(markup), layout=self._layout)
        return self._by_markup[markup]

    def _key_of(self, values: tuple[Any, ...]) -> Hashable:
        return self._key(*values) if self._key else values

    def _drawn(self, some: Sequence[tuple[Any, ...]]) -> list[str]:
        with mpl.rc_context(figures.STYLE):
            return [
                figures.framed(Markup(self._render(*self._draw(*values), self._scope)))
                for values in some
            ]


def _control(axis: Axis) -> Any:
    options = [(axis.format(value), i) for i, value in enumerate(axis.values)]
    layout = {"width": "min(420px, 100%)"} if axis.kind == "slider" else {}
    return _CONTROLS[axis.kind](
        options=options,
        index=axis.start,
        description=axis.name,
        style={"description_width": "initial"},
        layout=W.Layout(**layout),
    )


def _player(control: Any, axis: Axis) -> W.Play:
    last = len(axis.values) - 1
    player = W.Play(value=axis.start, min=0, max=last, interval=300)
    W.jslink((player, "value"), (control, "index"))
    return player


def _stage(picture: W.Widget) -> W.Box:
    """The place where the picture changes; the page announces changes inside it."""
    box = W.Box([picture], layout=W.Layout(margin="0", display="block"))
    box.add_class("fl-stage")
    return box

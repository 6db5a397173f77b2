"""Pictures that move on a page, without the scripts of the notebooks they come from.

A notebook keeps the state of its widgets. Those of `fedlab_book.widgets.frames` are all
of one kind: controls, and a picture for every choice of their values. This turns such a
state into the page's own markup, with the first picture in its place; the script
`frames.js` puts another there when a control moves. What the pictures are comes last on
the page, so that nothing else waits for it.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedlab_book.html import macros

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(
    r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*?)</script>',
    re.DOTALL,
)
_KINDS = {
    "SelectionSliderModel": "slider",
    "ToggleButtonsModel": "buttons",
    "DropdownModel": "dropdown",
}

Models = dict[str, dict[str, Any]]
_html = macros("moving", "tools")


def still(body: str, models: Models) -> str:
    """A page's body with markup of ours for each widget, and its pictures at the end.

    Raises:
        ValueError: for a widget that is not one of `fedlab_book.widgets.frames`; there
            is nothing on the page that could move it.
    """
    later: list[str] = []

    def place(view: re.Match[str]) -> str:
        widget = _Widget(models, json.loads(view[1])["model_id"])
        name = f"fl-{len(later) + 1}"
        later.append(widget.pictures(name))
        return widget.markup(name)

    return VIEW.sub(place, body) + "".join(later)


@dataclass(frozen=True)
class _Control:
    """A control for the reader: its name, its values, and the one shown first."""

    kind: str
    name: str
    values: list[str]
    index: int


class _Widget:
    """One widget of `frames`, read from the state of the notebook."""

    def __init__(self, models: Models, name: str):
        self._models = models
        box = self._state(name)
        self.classes = [str(c) for c in box.get("_dom_classes", ())]
        if "fl-frames" not in self.classes:
            raise ValueError(
                f"a {models.get(name, {}).get('model_name', 'widget')} shows on a "
                "page, where only fedlab_book.widgets.frames can move; tag its cell "
                "`remove-cell`"
            )
        bar, stage, *captions = self._children(box)
        self.caption = "".join(self._state(caption)["value"] for caption in captions)
        self.interval, self._controls = 0, dict[str, _Control]()
        for child in self._children(self._state(bar)):
            self._read_control(child)
        # A stack, by the control that chooses among what is in it.
        self._chosen_by = {
            _plain(link["state"]["target"][0]): _plain(link["state"]["source"][0])
            for link in models.values()
            if link["model_name"] == "LinkModel"
        }
        self._frames = dict[str, int]()
        self._stacks = dict[str, tuple[int, list[int]]]()
        (top,) = self._children(self._state(stage))
        self._top = self._number(top)

    def markup(self, name: str) -> Markup:
        """Its controls and its first picture; `name` is where the others are."""
        controls = [*self._controls.values()]
        classes, caption = " ".join(self.classes), Markup(self.caption)
        first = Markup(self._first())
        return _html.widget(name, classes, self.interval, controls, first, caption)

    def pictures(self, name: str) -> Markup:
        """Every picture, and which one stands for which values of the controls.

        Pictures are numbered from 0; what chooses among several is the number of a
        control with what it chooses from, and is referred to as -1, -2, ...
        """
        pictures = [self._state(frame)["value"] for frame in self._frames]
        held = {
            "values": [control.values for control in self._controls.values()],
            "frames": pictures,
            "chosen": self._chosen(),
            "top": self._top,
        }
        text = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
        text = text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
        return _html.pictures(name, Markup(text))

    def _chosen(self) -> list[tuple[int, list[int]]]:
        return list(self._stacks.values())

    def _first(self) -> str:
        number, chosen = self._top, self._chosen()
        controls = list(self._controls.values())
        while number < 0:
            by, among = chosen[-1 - number]
            number = among[controls[by].index]
        return self._state(list(self._frames)[number])["value"]

    def _number(self, name: str) -> int:
        if self._models[name]["model_name"] != "StackModel":
            return self._frames.setdefault(name, len(self._frames))
        if name not in self._stacks:
            by = list(self._controls).index(self._chosen_by[name])
            among = [self._number(c) for c in self._children(self._state(name))]
            self._stacks[name] = (by, among)
        return -1 - list(self._stacks).index(name)

    def _read_control(self, name: str) -> None:
        kind, state = self._models[name]["model_name"], self._state(name)
        if kind == "PlayModel":
            self.interval = state.get("interval", 100)  # ipywidgets' own
        else:
            values, index = state["_options_labels"], state.get("index", 0)
            control = _Control(_KINDS[kind], state["description"], values, index)
            self._controls[name] = control

    def _state(self, name: str) -> dict[str, Any]:
        return self._models.get(name, {}).get("state", {})

    def _children(self, state: dict[str, Any]) -> list[str]:
        return [_plain(child) for child in state["children"]]


def _plain(name: str) -> str:
    return name.removeprefix("IPY_MODEL_")

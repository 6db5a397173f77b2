"""Pictures that move on a page, without the scripts of the notebooks they come from.

A notebook keeps the state of its widgets. Those of `fedlab_book.widgets.frames` are all
of one kind: controls, and a picture for every choice of their values. This turns such a
state into the page's own markup, with the first picture in its place; the script
`frames.js` puts another there when a control moves. What the pictures are comes last on
the page, so that nothing else waits for it.
"""

import html
import json
import re
from dataclasses import dataclass
from typing import Any

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
    """What the reader can change: its name, its values, and the one shown first."""

    kind: str
    name: str
    values: list[str]
    index: int

    def markup(self, name: str) -> str:
        inside = getattr(self, f"_{self.kind}")(f"{name}-control")
        return f'<div class="fl-control fl-{self.kind}">{inside}</div>'

    def _slider(self, name: str) -> str:
        now = html.escape(self.values[self.index])
        return (
            f'<label for="{name}">{html.escape(self.name)}</label>'
            f'<input type="range" id="{name}" min="0" max="{len(self.values) - 1}" '
            f'value="{self.index}" aria-valuetext="{now}" autocomplete="off">'
            f'<span class="fl-readout" aria-hidden="true">{now}</span>'
        )

    def _dropdown(self, name: str) -> str:
        options = "".join(
            f"<option{' selected' if i == self.index else ''}>{html.escape(value)}"
            "</option>"
            for i, value in enumerate(self.values)
        )
        return (
            f'<label for="{name}">{html.escape(self.name)}</label>'
            f'<select id="{name}" autocomplete="off">{options}</select>'
        )

    def _buttons(self, name: str) -> str:
        buttons = "".join(
            f'<button type="button" aria-pressed="{str(i == self.index).lower()}">'
            f"{html.escape(value)}</button>"
            for i, value in enumerate(self.values)
        )
        return (
            f'<span class="fl-name" id="{name}">{html.escape(self.name)}</span>'
            f'<div role="group" aria-labelledby="{name}">{buttons}</div>'
        )


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

    def markup(self, name: str) -> str:
        """Its controls and its first picture; `name` is where the others are."""
        controls = "".join(
            control.markup(f"{name}-{i}")
            for i, control in enumerate(self._controls.values(), start=1)
        )
        if self.interval:
            play = '<button type="button" class="fl-play" aria-label="Play"></button>'
            controls = play + controls
        runs = f' data-interval="{self.interval}"' if self.interval else ""
        return (
            f'<div class="{html.escape(" ".join(self.classes))}" '
            f'data-pictures="{name}"{runs}>'
            f'<div class="fl-controls">{controls}</div>'
            f'<div class="fl-stage" role="status" aria-live="polite">'
            f"{self._first()}</div>{self.caption}</div>"
        )

    def pictures(self, name: str) -> str:
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
        return f'<script type="application/json" id="{name}">{text}</script>\n'

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

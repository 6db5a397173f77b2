"""A piece of the playground in a chapter: it trains where the reader looks at it.

Until then, and where no script runs, there is a picture of the same run, played by the
core. In a notebook with a kernel the piece brings everything along (see `whole`).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import torch
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlab_book.figures import INK, PALETTE, canvas, framed, styled, svg
from fedlab_book.html import macros
from fedlab_book.panels import strip
from fedlab_browser.playground import state as can
from fedlab_browser.playground.observers import letters_read, own_letters
from fedlab_browser.playground.page_file import Page, kept
from fedlab_core import Run, run_all, tree
from fedlab_core.errors import require
from fedlab_core.rounds.records import Round

PICTURES = ("clients", "plane", "curve", "letters")
SLIDERS = [n for n in can.NUMBERS if n not in ("draw", "seed")]  # buttons change these
MEASURES = {"accuracy": "all letters", "own": "own letters"}
SIDES = ("#00897b", "#a87000")  # of two federations side by side, as on the page
# A division and a seed, which two have in common.
COMMON = ("split", "alpha", "rho", "ratio", "clients", "draw", "seed")
_PHRASES = {
    "weigh": "counts by",
    "pace": "meets by",
    "server": "server:",
    "groups": "averaged with",
    "personal": "for itself:",
}
_ODD = {
    "weigh=equal": "counts equally",
    "weigh=last": "counts one by hand",
    "groups=chosen": "averaged as I tick",
}


@dataclass(frozen=True)
class Goal:
    """Something to reach in a piece, which the page recognises; `solution` reaches it.

    Either `above` or `below` is for the measure of one run, or with `than` for what it
    has more than a run of these other choices after as many rounds (or steps).

    Args:
        says: what to do, without the full stop.
        solution: a state that reaches it, for the tests: the page does not tell it.
        keep: choices that a run must have to count, as in an address.
        first, last: between which rounds, or steps; None: in any.
    """

    says: str
    solution: str
    above: float | None = None
    below: float | None = None
    measure: str = "accuracy"
    keep: str = ""
    than: str = ""
    first: int | None = None
    last: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The goal as the page is told it."""
        one = (self.above is None) != (self.below is None)
        require(one, f"{self.says!r}: either above or below")
        solved = can.parsed(self.solution)
        states = {
            name: _named(text)
            for name, text in (("keep", self.keep), ("than", self.than))
        }
        fits = all(solved[n] == v for n, v in states["keep"].items())
        require(fits, f"{self.says!r}: its solution is not {self.keep}")
        line = {"above": self.above} if self.below is None else {"below": self.below}
        limits = {"from": self.first, "by": self.last}
        given = {n: v for n, v in {**states, **limits}.items() if v}
        return {"says": self.says, "measure": self.measure, **line, **given}


def _named(address: str) -> can.State:
    """The choices that an address names, and no others."""
    state = can.parsed(address)
    return {n: state[n] for n, _ in parse_qsl(address)}


def _several(
    state: str, names: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, can.State]]:
    """The choices that each name of each row stands for, if they go with the state."""
    rows = {row: {n: _named(at) for n, at in of.items()} for row, of in names.items()}
    for one in (one for of in rows.values() for one in of.values()):
        can.sound(can.parsed(state) | one)
    return rows


def live(
    state: str,
    alt: str,
    *,
    names: Mapping[str, Mapping[str, str]] | None = None,
    rows: Sequence[str] = (),
    sliders: Sequence[str] = (),
    pictures: Sequence[str] = ("plane", "curve"),
    rounds: int = 5,
    until: int = 20,
    pooled: bool = False,
    measure: str = "accuracy",
    goal: Goal | None = None,
    beside: str = "",
    seeds: bool = False,
) -> HTML | Page:
    """A federation with this state, of which the reader can change what is named.

    Args:
        state: as the playground's address has it.
        alt: what the picture shows that stands there first, after `rounds` rounds.
        names: rows of names for several choices at once, as in an address; what only
            other names of its row set is as usual.
        rows: the choices on view, of `state.CHOICES`.
        sliders: the numbers on view, of `SLIDERS`.
        pictures: of `PICTURES`.
        until: the round at which Play pauses.
        pooled: with the curve of all letters in one place beside it.
        measure: which accuracy it is about, of `MEASURES`.
        goal: what to reach in it.
        beside: choices in which a second federation is other than the first, as in an
            address; it trains in step, of the same seed and division.
        seeds: with a button that plays five seeds, of both if there are two.
    """
    require(measure in MEASURES, f"measure={measure!r}: choose from {[*MEASURES]}")
    chosen, other = can.said(can.parsed(state)), _named(beside)
    shared = ", ".join(n for n in other if n in COMMON)
    require(not shared, f"beside={beside!r}: two federations share {shared}")
    can.sound(can.parsed(state) | other)
    require(not other or "letters" not in pictures, "letters are drawn of one only")
    for name, there, known in (
        ("rows", rows, can.CHOICES),
        ("sliders", sliders, SLIDERS),
        ("pictures", pictures, PICTURES),
    ):
        strange = ", ".join(n for n in there if n not in known)
        require(not strange, f"{name}={strange}: choose from {', '.join(known)}")
    options: dict[str, Any] = {"state": chosen, "rows": [*rows], "sliders": [*sliders]}
    options |= {"pictures": [*pictures], "until": until}
    options |= {"names": _several(state, names)} if names else {}
    options |= {"pooled": True} if pooled else {}
    options |= {"measure": measure} if measure != "accuracy" else {}
    options |= {"goal": goal.options} if goal else {}
    options |= {"beside": other} if other else {}
    options |= {"seeds": True} if seeds else {}
    still = framed(svg(played(chosen, rounds, pictures, other, measure), alt))
    if os.environ.get("FEDLAB_PAGES") != "1":  # no page of ours: nobody serves scripts
        return Page(kept, options, still)
    return HTML(str(macros("pages").live(json.dumps(options), still)))


@styled
def played(
    state: str,
    rounds: int,
    pictures: Sequence[str],
    other: can.State | None = None,
    measure: str = "accuracy",
) -> Figure:
    """The playground's pictures of a state after some rounds; beside it, of another."""
    s = can.parsed(state)
    sides = [s, s | other] if other else [s]
    found = [_run(side, rounds) for side in sides]
    names = apart(sides[0], sides[1]) if other else ("",)
    every = [n for n in pictures for _ in (sides if n == "plane" else [0])]
    fig, axes = canvas(260 * len(every), 290, ncols=len(every), squeeze=False)
    reach = max(_reach(seen.last) for seen in found)
    left, colours = iter(range(len(sides))), SIDES if other else [PALETTE["blue"]]
    for ax, name in zip(axes[0], every, strict=True):
        if name == "curve":
            curves = [seen.curves[measure] for seen in found]
            _curve(ax, curves, MEASURES[measure], names, colours)
        elif name == "letters":
            read = np.array(found[0].letters).T
            title = "How much of each letter\nis read"
            strip(read, can.world_of(s).classes, title=title).draw(ax)
        elif name == "plane":
            side = next(left)
            _plane(ax, found[side].last, reach, colours[side], names[side])
        elif measure == "own":
            _own(ax, [seen.own for seen in found], names, colours)
        else:
            _clients(ax, [seen.last for seen in found], names, colours)
    return fig


@dataclass(frozen=True)
class _Seen:
    """Traces of a run: its last round, curves by measure, letters by round."""

    last: Round
    curves: dict[str, list[float]]
    letters: list[list[float]]
    own: list[float]


def _run(s: can.State, rounds: int) -> _Seen:
    seen, read, own = list[Round](), list[list[float]](), list[list[float]]()
    world, method = can.world_of(s), can.method_of(s, can.group_of(s))

    def observe(now: Round) -> dict[str, float]:
        seen[:] = [now]
        read.append(letters_read(now))
        own.append(own_letters(now))
        return {}

    run = Run(world, method, rounds, int(s["seed"]), can.present(s), observe=observe)
    (history,) = run_all([run], progress=False)
    everyone = [row["accuracy"] for row in history.rows]
    curves = {"accuracy": everyone, "own": np.mean(own, axis=1).tolist()}
    return _Seen(seen[0], curves, read, own[-1])


def apart(one: can.State, other: can.State) -> tuple[str, str]:
    """The words for in what two states differ, of each, as the page has them."""
    differ = [n for n in one if one[n] != other[n]]

    def words(n: str, s: can.State) -> str:
        if n in can.CHOICES:
            plain = f"{_PHRASES.get(n, '')} {can.CHOICES[n][str(s[n])]}".strip()
            return _ODD.get(f"{n}={s[n]}", plain)
        many = f"{can.present(s) or s['clients']} of {s['clients']:g}"
        value = many if n == "present" else f"{s[n]:g}"
        return f"{can.NUMBERS[n].name.lower()} {value}"

    def told(s: can.State) -> str:
        known = [n for n in differ if n in can.CHOICES or can.matters(s, n)]
        return ", ".join(words(n, s) for n in known) or "without"

    return told(one), told(other)


def _curve(
    ax: Axes,
    accuracies: Sequence[Sequence[float]],
    of: str,
    names: Sequence[str],
    colours: Sequence[str],
) -> None:
    for accuracy, name, colour in zip(accuracies, names, colours, strict=True):
        x, y = range(1, len(accuracy) + 1), 100 * np.array(accuracy)
        ax.plot(x, y, marker="o", color=colour, label=name)
    title = "All letters read" if of == MEASURES["accuracy"] else "On average"
    ax.set(title=title, xlabel="round", ylabel="%", ylim=(0, 100))
    if len(accuracies) > 1:
        ax.legend()


def _ways(now: Round) -> tuple[np.ndarray, torch.Tensor]:
    """The clients' ends in the plane of their two first directions, and those."""
    begin = tree.take(now.before, [now.group_of[k] for k in now.ids])
    gone = tree.flatten({n: now.trained.states[n] - v for n, v in begin.items()}, True)
    _, _, directions = torch.linalg.svd(gone.double(), full_matrices=False)
    return (gone.double() @ directions[:2].T).numpy(), directions[:2]


def _reach(now: Round) -> float:
    return float(np.linalg.norm(_ways(now)[0], axis=1).max())


def _plane(ax: Axes, now: Round, reach: float, colour: str, name: str) -> None:
    """Draw the models' ways in the plane of the clients' two first directions."""
    ends, directions = _ways(now)
    for g in sorted({now.group_of[k] for k in now.ids}):
        moved = {n: now.after[n][g] - v[g] for n, v in now.before.items()}
        x, y = (directions @ tree.flatten(moved).double()).numpy()
        ax.plot([0, x], [0, y], color=colour, linewidth=3)
        ax.plot(x, y, "o", color=colour, markersize=9)
    longest = np.abs(ends).max()
    for k, end in zip(now.ids, ends, strict=True):
        ax.plot(*zip((0, 0), end, strict=True), color=INK, alpha=0.4, linewidth=1)
        far = np.linalg.norm(end)
        if far > 0.15 * longest:  # else there is no room for its number
            x, y = end * (1 + 0.08 * longest / far)
            ax.text(x, y, str(k + 1), ha="center", va="center")
    ax.set(title=name or "Where the models went", aspect="equal")
    if name:  # two of one scale
        ax.set(xlim=(-1.15 * reach, 1.15 * reach), ylim=(-1.15 * reach, 1.15 * reach))
    ax.axis("off")


def _clients(
    ax: Axes, rounds: Sequence[Round], names: Sequence[str], colours: Sequence[str]
) -> None:
    """How much each client counts, beside what its size alone would give."""
    now, wide = rounds[0], 0.8 / len(rounds)
    sizes = now.world.counts.sum(1).double()
    by_size = (sizes / sizes.sum()).numpy()
    clients = np.arange(1, len(now.world) + 1)
    for i, (one, name) in enumerate(zip(rounds, names, strict=True)):
        weights = np.zeros(len(one.world))
        for g, shares in enumerate(one.weights):
            weights[[k for k in one.ids if one.group_of[k] == g]] = shares.numpy()
        at = clients + wide * (i - (len(rounds) - 1) / 2)
        ax.bar(at, weights, wide, color=colours[i], label=name or "weight")
    ax.plot(clients, by_size, "_", color=INK, markersize=16, label="by size")
    ax.set(title="How much each counts", xlabel="client", xticks=clients)
    ax.legend()


def _own(
    ax: Axes,
    accuracies: Sequence[Sequence[float]],
    names: Sequence[str],
    colours: Sequence[str],
) -> None:
    wide, clients = 0.8 / len(accuracies), np.arange(1, len(accuracies[0]) + 1)
    for i, (values, name) in enumerate(zip(accuracies, names, strict=True)):
        at = clients + wide * (i - (len(accuracies) - 1) / 2)
        ax.bar(at, 100 * np.array(values), wide, color=colours[i], label=name)
    ax.set(title="Own letters read", xlabel="client", ylabel="%")
    ax.set(xticks=clients, ylim=(0, 100))
    if len(accuracies) > 1:
        ax.legend()

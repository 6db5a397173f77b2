"""A piece of the playground in a chapter: it trains where the reader looks at it.

Until then, and where no script runs, there is a picture of the same run, played by the
core. In a notebook with a kernel the piece brings everything along (see `whole`).
"""

import json
import os
from collections.abc import Sequence
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
from fedlab_browser.playground import state as can
from fedlab_browser.playground.observers import letters_read, own_letters
from fedlab_browser.playground.page_file import Page, kept
from fedlab_core import Run, run_all, tree
from fedlab_core.errors import require
from fedlab_core.rounds.records import Round

PICTURES = ("clients", "plane", "curve", "letters")
MEASURES = {"accuracy": "all letters", "own": "own letters"}


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


def live(
    state: str,
    alt: str,
    *,
    rows: Sequence[str] = (),
    sliders: Sequence[str] = (),
    pictures: Sequence[str] = ("plane", "curve"),
    rounds: int = 5,
    until: int = 20,
    pooled: bool = False,
    measure: str = "accuracy",
    goal: Goal | None = None,
) -> HTML | Page:
    """A federation with this state, of which the reader can change what is named.

    Args:
        state: as the playground's address has it.
        alt: what the picture shows that stands there first, after `rounds` rounds.
        rows: the choices on view, of `state.CHOICES`.
        sliders: the numbers on view, of `state.NUMBERS`.
        pictures: of `PICTURES`.
        until: the round at which Play pauses.
        pooled: with the curve of all letters in one place beside it.
        measure: which accuracy it is about, of `MEASURES`.
        goal: what to reach in it.
    """
    require(measure in MEASURES, f"measure={measure!r}: choose from {[*MEASURES]}")
    chosen = can.said(can.parsed(state))
    for name, there, known in (
        ("rows", rows, can.CHOICES),
        ("sliders", sliders, can.NUMBERS),
        ("pictures", pictures, PICTURES),
    ):
        strange = ", ".join(n for n in there if n not in known)
        require(not strange, f"{name}={strange}: choose from {', '.join(known)}")
    options: dict[str, Any] = {"state": chosen, "rows": [*rows], "sliders": [*sliders]}
    options |= {"pictures": [*pictures], "until": until}
    options |= {"pooled": True} if pooled else {}
    options |= {"measure": measure} if measure != "accuracy" else {}
    options |= {"goal": goal.options} if goal else {}
    still = framed(svg(played(chosen, rounds, pictures, measure), alt))
    if os.environ.get("FEDLAB_PAGES") != "1":  # no page of ours: nobody serves scripts
        return Page(kept, options, still)
    return HTML(str(macros("pages").live(json.dumps(options), still)))


@styled
def played(
    state: str, rounds: int, pictures: Sequence[str], measure: str = "accuracy"
) -> Figure:
    """The playground's pictures of a state after some rounds."""
    s, seen, read = can.parsed(state), list[Round](), list[list[float]]()
    own = list[list[float]]()
    world, method = can.world_of(s), can.method_of(s, can.group_of(s))

    def observe(now: Round) -> dict[str, float]:
        seen[:] = [now]
        read.append(letters_read(now))
        own.append(own_letters(now))
        return {}

    run = Run(world, method, rounds, int(s["seed"]), can.present(s), observe=observe)
    (history,) = run_all([run], progress=False)
    fig, axes = canvas(300 * len(pictures), 290, ncols=len(pictures), squeeze=False)
    for ax, name in zip(axes[0], pictures, strict=True):
        if name == "curve":
            on_all = [row["accuracy"] for row in history.rows]
            curve = on_all if measure == "accuracy" else np.mean(own, axis=1)
            _curve(ax, curve, MEASURES[measure])
        elif name == "letters":
            _letters(ax, np.array(read).T, world.classes)
        elif name == "clients" and measure == "own":
            _own(ax, own[-1])
        else:
            {"plane": _plane, "clients": _clients}[name](ax, seen[0])
    return fig


def _curve(ax: Axes, accuracy: Sequence[float] | np.ndarray, of: str) -> None:
    ax.plot(range(1, len(accuracy) + 1), 100 * np.array(accuracy), marker="o")
    ax.set(title=f"Accuracy on {of}", xlabel="round", ylabel="%", ylim=(0, 100))


def _letters(ax: Axes, read: np.ndarray, names: Sequence[str]) -> None:
    ax.imshow(read, aspect="auto", vmin=0, vmax=1, cmap="Blues")
    ax.set(title="How much of each letter is read", xlabel="round")
    rounds = range(1, read.shape[1] + 1)
    ax.set_xticks(range(len(rounds)), [*map(str, rounds)])
    ax.set_yticks(range(len(names)), names)


def _plane(ax: Axes, now: Round) -> None:
    """Draw the models' ways in the plane of the clients' two first directions."""
    begin = tree.take(now.before, [now.group_of[k] for k in now.ids])
    gone = tree.flatten({n: now.trained.states[n] - v for n, v in begin.items()}, True)
    _, _, directions = torch.linalg.svd(gone.double(), full_matrices=False)
    ends = (gone.double() @ directions[:2].T).numpy()
    for g in sorted({now.group_of[k] for k in now.ids}):
        moved = {n: now.after[n][g] - v[g] for n, v in now.before.items()}
        x, y = (directions[:2] @ tree.flatten(moved).double()).numpy()
        ax.plot([0, x], [0, y], color=PALETTE["blue"], linewidth=3)
        ax.plot(x, y, "o", color=PALETTE["blue"], markersize=9)
    longest = np.abs(ends).max()
    for k, end in zip(now.ids, ends, strict=True):
        ax.plot(*zip((0, 0), end, strict=True), color=INK, alpha=0.4, linewidth=1)
        far = np.linalg.norm(end)
        if far > 0.15 * longest:  # else there is no room for its number
            x, y = end * (1 + 0.08 * longest / far)
            ax.text(x, y, str(k + 1), ha="center", va="center")
    ax.set(title="Where the models went", aspect="equal")
    ax.axis("off")


def _own(ax: Axes, accuracy: Sequence[float]) -> None:
    clients = np.arange(1, len(accuracy) + 1)
    ax.bar(clients, 100 * np.array(accuracy), color=PALETTE["blue"])
    ax.set(title="Own letters read", xlabel="client", ylabel="%")
    ax.set(xticks=clients, ylim=(0, 100))


def _clients(ax: Axes, now: Round) -> None:
    """How much each client counts, beside what its size alone would give."""
    weights = np.zeros(len(now.world))
    for g, shares in enumerate(now.weights):
        who = [k for k in now.ids if now.group_of[k] == g]
        weights[who] = shares.numpy()
    sizes = now.world.counts.sum(1).double()
    by_size = (sizes / sizes.sum()).numpy()
    clients = np.arange(1, len(weights) + 1)
    ax.bar(clients, weights, color=PALETTE["blue"], label="weight")
    ax.plot(clients, by_size, "_", color=INK, markersize=16, label="by size")
    ax.set(title="How much each counts", xlabel="client", xticks=clients)
    ax.legend()

"""The ledger at a glance: how verdicts fall, and how far ours are from the papers'."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.display import HTML

from fedlab_book.figures import INK, PALETTE, canvas, legend, look, on, show, styled
from fedlab_book.ledger.markup import number
from fedlab_book.panels.panel import handle
from fedlab_ledger.judge.claims import Judged, tally
from fedlab_ledger.judge.show import Shown
from fedlab_ledger.model.describe import without_names
from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
    NO_VERDICT,
    NONE,
    OPPOSITE,
    SAME,
    UNDECIDED,
)
from fedlab_ledger.report.book import NAMES, Book

_INKS = {
    MATCHES: PALETTE["green"],
    SAME: PALETTE["violet"],
    AS_GOOD: PALETTE["sky"],
    UNDECIDED: PALETTE["rose"],
    DIFFERS: PALETTE["orange"],
    OPPOSITE: PALETTE["red"],
    NO_VERDICT: "#767676",
}
_HATCHES = {SAME: "//", AS_GOOD: "..", DIFFERS: "--", OPPOSITE: "xx"}


_CLEAR = (MATCHES, SAME, AS_GOOD, OPPOSITE)  # drawn filled


def verdict_bars(book: Book) -> HTML:
    """The verdicts on each paper's claims, every experiment once."""
    found = {p: _words(book.claimed(p)) for p in book.papers}
    said = "; ".join(
        f"{NAMES.get(p, p)}: " + ", ".join(f"{n} {w}" for w, n in words.items() if n)
        for p, words in found.items()
    )
    alt = f"Verdicts on the papers' claims, a bar a paper. {said}."
    caption = (
        "Claims by their verdict, on stand-ins nearly all of them; each experiment "
        "once. On the right how many were not run."
    )
    return show(_bars(found), alt, caption)


def _words(rows: Sequence[Judged]) -> dict[str, int]:
    """How many have each verdict, on whatever they were run."""
    words = dict.fromkeys((*_INKS, NONE), 0)
    for word, n in tally(rows).words.items():
        words[word.removesuffix(" on a stand-in")] += n
    return words


@styled
def _bars(found: dict[str, dict[str, int]]):
    fig, ax = canvas(640, 120 + 42 * len(found))
    most = max(1, *(sum(w[n] for n in _INKS) for w in found.values()))
    for i, words in enumerate(found.values()):
        left = 0
        for word, colour in _INKS.items():
            n = words[word]
            look_ = {
                "color": colour,
                "hatch": _HATCHES.get(word, ""),
                "edgecolor": "white",
            }
            ax.barh(i, n, left=left, height=0.62, linewidth=0, **look_)
            if n >= most / 20:
                style = {"ha": "center", "va": "center", "color": on(colour)}
                box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
                ax.text(left + n / 2, i, str(n), fontweight="bold", bbox=box, **style)
            left += n
        ax.text(left + most / 60, i, f"{words[NONE]} not run", va="center")
    for word, colour in _INKS.items():
        ax.barh(
            0,
            0,
            color=colour,
            hatch=_HATCHES.get(word, ""),
            edgecolor="white",
            label=word,
        )
    ax.set_yticks(range(len(found)), [NAMES.get(p, p) for p in found])
    ax.set(ylim=(len(found) - 0.5, -0.5), xlim=(0, 1.3 * most), xlabel="claims")
    fig.legend(loc="outside upper left", ncols=3)
    return fig


def against_paper(book: Book) -> HTML | None:
    """Ours against the paper's, cells in % at the paper's scale; None without any."""
    points = {p: _points(book, p) for p in book.papers}
    points = {p: x for p, x in points.items() if len(x)}
    if not points:
        return None
    every = np.concatenate(list(points.values()))
    off = every[:, 1] - every[:, 0]
    each = "; ".join(
        f"{NAMES.get(p, p)} {len(x)} cells, mean difference "
        f"{(x[:, 1] - x[:, 0]).mean():+.1f} points"
        for p, x in points.items()
    )
    alt = (
        "Our accuracy against the paper's in percent, a point a cell at the paper's "
        f"scale, with the diagonal. {each}."
    )
    caption = (
        f"{len(every)} cells at the paper's scale, one and the same run counted once. "
        "On the line we agree; above it ours is higher. The median cell is "
        f"{np.median(np.abs(off)):.2f} points off."
    )
    cells = [s for p in points for s in book.comparable(p)]
    ran = "; ".join(dict.fromkeys(s.ran_on for s in cells if _compared(s)))
    return show(_scatter(points), alt, caption, ran)


def _points(book: Book, paper: str) -> np.ndarray:
    cells = [s for s in book.comparable(paper) if _compared(s)]
    return np.array([(s.cell.paper_value, s.verdict.mean) for s in cells], float)


def _compared(s: Shown) -> bool:
    there = s.cell.paper_value is not None and np.isfinite(s.verdict.mean)
    return there and s.cell.unit == "%"


@styled
def _scatter(points: dict[str, np.ndarray]):
    fig, ax = canvas(460, 420)
    every = np.concatenate(list(points.values()))
    low, high = every.min() - 2, every.max() + 2
    ax.axline((low, low), slope=1, color=INK, linestyle=":", linewidth=1)
    for paper, x in points.items():
        style = look(NAMES.get(paper, paper)) | {"linestyle": "none", "alpha": 0.75}
        ax.plot(x[:, 0], x[:, 1], label=NAMES.get(paper, paper), **style)
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.set(xlabel="paper (%)", ylabel="ours (%)")
    ax.legend(loc="upper left")
    return fig


def gains(rows: Sequence[Judged], alt: str, caption: str) -> HTML | None:
    """Our gains with their intervals, a line a claim, beside what the paper says.

    None without any. The rows are claims about one kind of number.
    """
    rows = [j for j in rows if j.verdict.n]
    if not rows:
        return None
    said = [f"{without_names(j.claim.sentence)} {_gain(j)}" for j in rows]
    claim = rows[0].claim
    if claim.gain:
        theirs = number(claim.gain, claim.cell.unit, "+")
        said.append(f"{claim.source} {theirs}")
    ran = "; ".join(dict.fromkeys(j.ran_on.rpartition(", ")[0] for j in rows))
    caption = f"{caption} Ours ran on {ran}."
    return show(_gains(rows), f"{alt} {'; '.join(said)}.", caption, ran)


def _gain(j: Judged) -> str:
    """A gain with its interval, if there is one, as text."""
    v, unit = j.verdict, j.claim.cell.unit
    interval = f" ± {number(v.half, unit)}" if math.isfinite(v.half) else ""
    return number(v.mean, unit, "+") + interval


@styled
def _gains(rows: Sequence[Judged]):
    fig, ax = canvas(640, 64 + 25 * len(rows))
    looks = {word: _mark(word) for word in dict.fromkeys(j.verdict.word for j in rows)}
    for i, j in enumerate(rows):
        v = j.verdict
        half = v.half if math.isfinite(v.half) else 0.0
        ax.errorbar(v.mean, i, xerr=half, capsize=3, **looks[v.word])
    handles = [handle(word, style) for word, style in looks.items()]
    claim = rows[0].claim
    ax.axvline(0, color=INK, linestyle=":", linewidth=1)
    if claim.gain:
        blue = {"color": PALETTE["blue"]}
        ax.axvline(claim.gain, **blue)
        handles.append(handle(claim.whose_gain, blue))
    ax.set_yticks(range(len(rows)), [without_names(j.claim.sentence) for j in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    points = claim.cell.unit == "%"
    ax.set_xlabel("gain (points)" if points else f"gain ({claim.cell.unit})")
    ax.grid(axis="x")
    legend(fig, handles, 4, "outside upper left")
    return fig


def _mark(word: str) -> dict[str, Any]:
    """A dot in the colour of a verdict, filled where it is clear."""
    colour = _INKS.get(word, INK)
    fill = colour if word in _CLEAR else "none"
    return {"color": colour, "marker": "o", "mfc": fill, "linestyle": ""}

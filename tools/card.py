"""The picture that stands for the book where somebody links to it, 1200 by 630."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from fedlab_book.figures import PALETTE

_PAPER, _INK, _QUIET = "#fffefb", "#1f2328", "#57606a"
# Five clients as in the logo: where across, how large, which colour.
_CLIENTS = (
    (0.90, 0.42, "blue"),
    (1.95, 0.20, "orange"),
    (2.90, 0.31, "pink"),
    (3.80, 0.14, "green"),
    (4.75, 0.36, "sky"),
)
_SERVER = (2.85, 1.35, 0.55)


def draw(path: Path) -> None:
    """Write the card to `path`."""
    with mpl.rc_context({"font.family": "DejaVu Sans"}):
        fig = Figure(figsize=(12, 6.3), dpi=100, facecolor=_PAPER)
        ax = fig.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set(xlim=(0, 12), ylim=(0, 6.3), aspect="equal")
        ax.axis("off")
        _flow(ax)
        ax.text(5.9, 3.75, "Who counts?", color=_INK, fontsize=50, fontweight="bold")
        said = "Aggregation in federated learning,\nfive papers you can run"
        ax.text(5.95, 2.35, said, color=_QUIET, fontsize=23, linespacing=1.4)
        fig.savefig(path, metadata={"Software": None})


def _flow(ax) -> None:
    """Every client's share runs down to the server, as wide as its weight."""
    x1, y1, r1 = _SERVER
    t = np.linspace(0, 1, 60)
    ease = t**2 * (3 - 2 * t)
    for x, r, _ in _CLIENTS:
        line = {"linewidth": 60 * r, "color": "#b9c3cf", "solid_capstyle": "butt"}
        ax.plot(x + (x1 - x) * ease, 4.9 + (y1 - 4.9) * t, zorder=1, **line)
    for x, r, colour in _CLIENTS:
        ax.add_patch(Circle((x, 4.9), 1.25 * r, color=PALETTE[colour], zorder=2))
    ax.add_patch(Circle((x1, y1), r1, color=PALETTE["violet"], zorder=2))

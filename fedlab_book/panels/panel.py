"""A panel, and a picture of several: their axes, their legend, and their words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from IPython.display import HTML
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fedlab_book.figures import LOOKS, PALETTE, canvas, legend, look, show, styled
from fedlab_core.errors import require

WIDE, HIGH = 520, 270  # of a picture, and of a row of its panels, in pixels
ROW = 30  # of a panel that has one a line
APART = 14  # rows of panels, in pixels
_DASHES = ("-", "--", "-.", ":")
Colours = Mapping[str, str]  # by name: a method of the book, or a colour of its palette


@dataclass(frozen=True)
class Panel:
    """Part of a picture, and what it shows in words."""

    draw: Callable[[Axes], None]
    said: str
    high: float = HIGH
    names: Mapping[str, Mapping[str, Any]] | None = None  # a legend's, with their looks


def drawn(
    *panels: Panel,
    lead: str = "",
    caption: str | None = None,
    ran: str = "",
    across: int = 2,
    wide: float = WIDE,
) -> HTML:
    """The panels as one picture; `lead` begins its text, `ran` as `show` has it."""
    fig, alt = picture(*panels, lead=lead, across=across, wide=wide)
    return show(fig, alt, caption, ran)


@styled
def picture(
    *panels: Panel, lead: str = "", across: int = 2, wide: float = WIDE
) -> tuple[Figure, str]:
    """The same as a figure with its text."""
    require(len(panels) > 0, "a picture needs a panel")
    columns = min(across, len(panels))
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    tall = [max(panel.high for panel in row) for row in rows]
    names: dict[str, Mapping[str, Any]] = {}
    for panel in panels:
        names |= panel.names or {}
    shape = {"nrows": len(rows), "ncols": columns, "squeeze": False}
    ratios = {"height_ratios": tall}
    high = sum(tall) + APART * (len(rows) - 1)
    fig, axes = canvas(wide, high, **shape, gridspec_kw=ratios)
    if len(rows) > 1:
        fig.set_layout_engine("constrained", hspace=APART * len(rows) / high)
    for ax, panel in zip(axes.flat, panels, strict=False):
        panel.draw(ax)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    if len(names) > 1:
        handles = [handle(name, style) for name, style in names.items()]
        legend(fig, handles, 2, "outside upper left")
    return fig, " ".join(part for part in (lead, *(p.said for p in panels)) if part)


def handle(name: str, style: Mapping[str, Any]) -> Artist:
    """A legend's mark of a line, or of a bar, which has a hatch."""
    if "hatch" in style:
        return Patch(label=name, **style)
    return Line2D([], [], label=name, **style)


def looks_of(names: Mapping[str, Any], colours: Colours | None) -> dict[str, dict]:
    """A look for every name: the method's, or one of the palette's colours."""
    chosen = dict(colours or {})
    strange = sorted(chosen.keys() - set(names))
    require(not strange, f"a colour for {strange[:1]}, which is not drawn")
    known = {name: chosen.get(name, name) for name in names}
    taken = {LOOKS[k].color for k in known.values() if k in LOOKS}
    taken |= {PALETTE[k] for k in known.values() if k in PALETTE}
    free = [c for c in PALETTE.values() if c not in taken] or [*PALETTE.values()]
    found = dict[str, dict[str, Any]]()
    for i, (name, as_) in enumerate(known.items()):
        if as_ in LOOKS:
            found[name] = look(as_)
            continue
        colour = PALETTE.get(as_) or free[i % len(free)]
        marker, dash = "oDs^vP"[i % 6], _DASHES[i % len(_DASHES)]
        found[name] = {"color": colour, "marker": marker, "linestyle": dash}
    return found


def unmarked(style: Mapping[str, Any]) -> dict[str, Any]:
    """A look without its marker: a curve has too many points for them."""
    return {k: v for k, v in style.items() if k != "marker"}


def worded(title: str, label: str) -> str:
    """Beginning of a panel's words."""
    return f"{title}: {label}" if title else label[:1].upper() + label[1:]

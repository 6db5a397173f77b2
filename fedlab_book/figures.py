"""The book's pictures: one visual language, and pictures that follow the page.

A figure is inline SVG whose black is the page's own text colour, so that it reads in
the light and in the dark theme, and it carries a text alternative. Colours are fixed
per method and per class across the book, distinct for colour-blind readers, and stand
out from both backgrounds; a method also has its own marker and line style.

    @styled
    def curves(history):
        fig, ax = canvas()
        ax.plot(history.round, history.accuracy, **look("FedAvg"))
        return fig

    show(curves(history), alt="Accuracy against round: ...", caption="...")
"""

import hashlib
import io
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from markupsafe import Markup, escape
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from fedlab_book.html import macros

if TYPE_CHECKING:
    from IPython.display import HTML

_html = macros("pages")
INK = "black"  # svg() lets everything black take the page's text colour

# At least 3:1 against white and against the dark theme; the smallest distance between
# two of them, also as seen with deuteranopia or protanopia, is the largest we found:
# twice that for those who see all colours, and half as much again among the six whose
# methods are drawn as solid lines.
PALETTE = {
    "blue": "#1890f0",
    "orange": "#d87800",
    "green": "#489c60",
    "pink": "#c02484",
    "violet": "#5448fc",
    "sky": "#3c9cc0",
    "red": "#cc1824",
    "magenta": "#b418b4",
    "periwinkle": "#3c60e4",
    "rose": "#a86c78",
}
CLASSES = tuple(PALETTE.values())
# A letter has the colour that it has on the playground (its pictures.js).
LETTERS = (
    "#306cc0",
    "#d87854",
    "#3c7818",
    "#e4609c",
    "#6048fc",
    "#3c9ccc",
    "#e40000",
    "#c00c9c",
    "#6c84fc",
    "#b4546c",
)
SEQUENTIAL = "cividis"  # for maps: even steps of lightness


class Look(NamedTuple):
    color: str
    marker: str
    linestyle: str


LOOKS = {
    "FedAvg": Look(PALETTE["blue"], "o", "-"),
    "Equal": Look(PALETTE["sky"], "s", "--"),
    "FedDisco": Look(PALETTE["orange"], "D", "-"),
    "FedLAW": Look(PALETTE["green"], "^", "-"),
    "GWS": Look(PALETTE["sky"], "d", "-."),
    "Attentive": Look(PALETTE["orange"], "H", "--"),
    "Server-FT": Look(PALETTE["magenta"], "8", ":"),
    "FedDF": Look(PALETTE["pink"], "x", "--"),
    "FedBE": Look(PALETTE["rose"], "+", ":"),
    "rFedAvg": Look(PALETTE["violet"], "v", "--"),
    "rFedAvg+": Look(PALETTE["violet"], "<", "-"),
    "FedImpro": Look(PALETTE["pink"], "P", "-"),
    "FedCollab": Look(PALETTE["red"], "X", "-"),
    "FedProx": Look(PALETTE["rose"], "p", "-."),
    "SCAFFOLD": Look(PALETTE["magenta"], "h", "-."),
    "Local": Look(PALETTE["periwinkle"], ">", ":"),
    "Centralised": Look(INK, "*", ":"),
}

MIN_TEXT_PX = 11  # as displayed; a figure scrolls sideways before it shrinks below this
MIN_ALT = 40
LEGEND_LINE = 24  # CSS pixels
_PX_PER_INCH = 96  # CSS pixels
_PX_PER_POINT = _PX_PER_INCH / 72

STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",  # the reader's fonts have no glyphs for mathematics
    "svg.hashsalt": "who counts",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 12,
    "axes.titlesize": 12.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 12,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "legend.fontsize": 12,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=CLASSES),
    "grid.color": INK,
    "grid.alpha": 0.15,
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "image.cmap": SEQUENTIAL,
    "image.interpolation": "nearest",
}

_scopes = itertools.count()
F = TypeVar("F", bound=Callable[..., Any])


def styled(draw: F) -> F:
    """Run a drawing function in the book's style; other figures are untouched."""
    return mpl.rc_context(STYLE)(draw)


def look(method: str) -> dict[str, Any]:
    """The colour, marker and line style that `method` has in the whole book.

    A name that is not in the book has one of its own, derived from the name.
    """
    if method in LOOKS:
        return LOOKS[method]._asdict()
    mark = int(hashlib.sha256(method.encode()).hexdigest(), 16)
    return Look(CLASSES[mark % len(CLASSES)], "dH18"[mark % 4], "--")._asdict()


def on(colour: str) -> str:
    """Near-black or white, whichever reads better on that colour."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04 else c / 12.92 for c in channels]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#101010" if (light + 0.05) / 0.055 > 1.05 / (light + 0.05) else "white"


@styled
def canvas(
    width: float = 500, height: float = 320, nrows: int = 1, ncols: int = 1, **more: Any
) -> tuple[Figure, Any]:
    """A figure of `width` by `height` CSS pixels and its axes (an array if several)."""
    size = (width / _PX_PER_INCH, height / _PX_PER_INCH)
    return plt.subplots(nrows, ncols, figsize=size, **more)


@styled
def mosaic(width: float, height: float, layout: str) -> tuple[Figure, dict[str, Axes]]:
    """The same with axes of unequal size, as letters picture them: "AA;BC"."""
    fig = plt.figure(figsize=(width / _PX_PER_INCH, height / _PX_PER_INCH))
    return fig, fig.subplot_mosaic(layout)


def legend(fig: Figure, handles: Sequence[Artist], most: int, loc: Any) -> None:
    """Name what is drawn, outside of the axes, in as many columns as there is room for.

    There are `most` columns at most; each line makes the figure higher.
    """
    columns = min(most, len(handles))
    names = fig.legend(handles=handles, loc=loc, ncols=columns)
    while columns > 1 and names.get_window_extent().width > fig.bbox.width:
        names.remove()
        columns -= 1
        names = fig.legend(handles=handles, loc=loc, ncols=columns)
    lines = math.ceil(len(handles) / columns)
    fig.set_figheight(fig.get_figheight() + lines * LEGEND_LINE / _PX_PER_INCH)


def svg(fig: Figure, alt: str, scope: str | None = None) -> Markup:
    """The figure as inline SVG with `alt` as its text alternative; closes the figure.

    Ids are derived from content and `scope`, so the bytes are the same in every run.
    Drawings on one page must not share a scope unless they are never shown together;
    without one, each call takes the next of a series.
    """
    with _closing(fig):
        _require_alt(alt)
        smallest = _require_readable(fig)
        markup = _page_ink(_markup(fig))
    width = fig.get_size_inches()[0] * _PX_PER_INCH
    scope = f"figure {next(_scopes)}" if scope is None else scope
    shrunk = width * MIN_TEXT_PX / smallest
    root = (
        f'<svg role="img" aria-label="{escape(alt)}" fill="currentColor" '
        'stroke-linejoin="round" stroke-linecap="butt" '
        f'style="width:{width:.0f}px;max-width:100%;min-width:{shrunk:.0f}px;'
        'height:auto" '
    )
    return Markup(_own_ids(markup, scope).replace("<svg ", root, 1))


def framed(picture: Markup, caption: str | None = None, ran: str = "") -> Markup:
    """Markup of a picture in the book's frame, which scrolls sideways on a phone.

    `ran` says on what its numbers were measured, if the ledger has them.
    """
    said = plain(caption) if caption else ""
    return _html.framed(picture, said, ran)


def plain(caption: str) -> str:
    """A caption as it is; nobody would typeset a formula in it."""
    if "$" in caption:
        raise ValueError(f"a caption is plain text, without formulas: {caption!r}")
    return caption


def show(fig: Figure, alt: str, caption: str | None = None, ran: str = "") -> "HTML":
    """Display a figure: `alt` says what is drawn, `caption` what to see in it."""
    from IPython.display import HTML  # only a notebook has it

    return HTML(str(framed(svg(fig, alt), caption, ran)))


@contextmanager
def _closing(fig: Figure) -> Iterator[None]:
    try:
        yield
    finally:
        plt.close(fig)


def _require_alt(alt: str) -> None:
    if len(alt) < MIN_ALT:
        raise ValueError(
            f"alt of {len(alt)} characters ({alt!r}); at least {MIN_ALT} are needed "
            "to say axes, groups and the finding"
        )


def _require_readable(fig: Figure) -> float:
    """The size of the smallest text, in CSS pixels at the figure's own size."""
    texts = [t for t in fig.findobj(Text) if isinstance(t, Text)]
    shown = [t for t in texts if t.get_visible() and t.get_text()]
    sizes = [float(t.get_fontsize()) for t in shown]
    smallest = min(sizes, default=STYLE["font.size"]) * _PX_PER_POINT
    if smallest < MIN_TEXT_PX:
        raise ValueError(
            f"text of {smallest:.1f} px; it takes {MIN_TEXT_PX} px to be read"
        )
    return smallest


def _markup(fig: Figure) -> str:
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        # savefig draws twice: once only to lay out, which drawing does anyhow
        fig.set_facecolor(mpl.rcParams["savefig.facecolor"])
        printed = {"Date": None, "Creator": None}
        FigureCanvasSVG(fig).print_svg(buffer, metadata=printed)
    return buffer.getvalue()


def _page_ink(markup: str) -> str:
    """Drop what an inline drawing does not need and let black take the page's colour.

    Black fills are left out by matplotlib, hence inherited from the root element. Its
    `<style>` would apply to the whole page; the root's attributes replace it.
    """
    markup = markup[markup.index("<svg") :]
    for unneeded in ("<metadata>.*?</metadata>", "<style.*?</style>", "<!--.*?-->"):
        markup = re.sub(unneeded, "", markup, flags=re.DOTALL)
    markup = re.sub(r'(<svg) [^>]*?(viewBox="[^"]*")[^>]*>', r"\1 \2>", markup, count=1)
    markup = markup.replace("xlink:href", "href").replace("#000000", "currentColor")
    markup = re.sub(r"\s*\n\s*", " ", markup).replace("> <", "><")
    hundredths = re.compile(r"(\.\d\d)\d+")
    return re.sub(
        r' (?:d|x|y)="[^"]*"', lambda place: hundredths.sub(r"\1", place[0]), markup
    )


def _own_ids(markup: str, scope: str) -> str:
    """Keep only the ids something refers to, and make them unique to this drawing."""
    prefix = hashlib.sha256(f"{scope}\n{markup}".encode()).hexdigest()[:8]
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^")]+)', markup))
    new = {old: f"f{prefix}-{i}" for i, old in enumerate(used)}
    markup = re.sub(
        r' id="([^"]+)"', lambda m: f' id="{new[m[1]]}"' if m[1] in new else "", markup
    )
    return re.sub(r'(url\(|href=")#([^")]+)', lambda m: f"{m[1]}#{new[m[2]]}", markup)

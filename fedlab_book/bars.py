"""Labelled bars as plain SVG: for widgets with hundreds of frames."""

from dataclasses import dataclass
from textwrap import wrap

from markupsafe import Markup

from fedlab_book.figures import PALETTE
from fedlab_book.html import macros

_WIDE, _HIGH = 480, 84  # of a full bar, and of a bar with its two lines of text


@dataclass(frozen=True)
class Bar:
    """A share of 100, what it is called, a mark to compare it with, and a line below.

    Without a share, only the lines are shown.
    """

    name: str
    below: str
    share: float | None = None
    mark: float | None = None

    @property
    def lines(self) -> list[str]:
        """The text below, in lines as wide as a bar."""
        return wrap(self.below, 54)

    @property
    def width(self) -> float:
        return _WIDE * (self.share or 0.0) / 100

    @property
    def at(self) -> float:
        """The place of the mark."""
        return 10 + _WIDE * (self.mark or 0.0) / 100


def bars(shown: list[Bar], alt: str, scope: str = "") -> Markup:
    """Markup of some bars, under each other; a `render` of `widgets.frames`."""
    high = max(_HIGH * len(shown), 2 * _HIGH)
    return macros("pages").bars(alt, shown, _HIGH, high, PALETTE["blue"])

"""Labelled bars as plain SVG: for widgets with hundreds of frames."""

import html
from dataclasses import dataclass
from textwrap import wrap

from fedlab_book.figures import PALETTE

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


def bars(shown: list[Bar], alt: str, scope: str = "") -> str:
    """Markup of some bars, under each other; a `render` of `widgets.frames`."""
    body = [part for i, bar in enumerate(shown) for part in _parts(bar, _HIGH * i)]
    high = max(_HIGH * len(shown), 2 * _HIGH)
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 500 {high}" '
        'fill="currentColor" font-size="16" font-family="inherit" '
        'style="width:500px;max-width:100%;min-width:344px;height:auto">'
        f"{''.join(body)}</svg>"
    )


def _parts(bar: Bar, top: int) -> list[str]:
    parts = [_text(bar.name, top + 20)]
    if bar.share is None:
        lines = wrap(bar.below, 54)
        return parts + [_text(line, top + 44 + 22 * i) for i, line in enumerate(lines)]
    width = _WIDE * bar.share / 100
    parts.append(
        f'<rect x="10" y="{top + 28}" width="{width:.1f}" height="22" '
        f'fill="{PALETTE["blue"]}"/>'
    )
    if bar.mark is not None:
        x = 10 + _WIDE * bar.mark / 100
        parts.append(
            f'<path d="M{x:.1f} {top + 24}v30" stroke="currentColor" stroke-width="3"/>'
        )
    return [*parts, _text(bar.below, top + 70)]


def _text(text: str, y: int) -> str:
    return f'<text x="10" y="{y}">{html.escape(text)}</text>'

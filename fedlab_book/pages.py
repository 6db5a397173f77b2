"""Parts of a chapter besides pictures: sentences with numbers, source code, tables.

No number in a chapter is typed: a sentence that needs one is made by `say` from the
run it stands under.
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown
from markupsafe import Markup, escape

from fedlab_book.html import macros

_html = macros("pages")


def as_text(text: object) -> str:
    """Text from elsewhere as a sentence can hold it: no markup, whatever is in it."""
    return re.sub(r"([^\w\s.,:;/%+=-])", r"\\\1", str(text)).replace("_", r"\_")


def say(text: str) -> Markdown:
    """A sentence of the page, with numbers put in by the caller's f-string."""
    return Markdown(text)


def source(*things: Callable[..., Any] | type, fold: str = "") -> Markdown:
    """The source of core functions, as it stands: what is shown is what has run.

    If `fold` says what it is, it is folded below that.
    """
    texts = [textwrap.dedent(inspect.getsource(thing)).rstrip() for thing in things]
    shown = "\n".join(f"```python\n{text}\n```" for text in texts)
    if not fold:
        return Markdown(shown)
    return Markdown(_html.aside(fold, Markup(f"\n\n{shown}\n\n")))


def table(
    frame: pd.DataFrame, caption: str, digits: int = 2, ran: str = "", fold: str = ""
) -> HTML:
    """A table with a caption and header cells; its index becomes the first column.

    Args:
        ran: data and networks that the numbers were measured on, if they are named.
        fold: what it is folded below, if it is.
    """
    named = frame.index.name is not None
    numbered = isinstance(frame.index, pd.RangeIndex)
    shown = (frame.reset_index() if named else frame).to_html(
        index=not (named or numbered),
        border=0,
        classes="fl-table",
        float_format=lambda v: f"{v:.{digits}f}",
    )
    shown = shown.replace(' style="text-align: right;"', "")
    head = f"<caption>{escape(caption)}</caption>\n  <thead>"
    whole = _html.scroll(Markup(shown.replace("<thead>", head, 1)), ran)
    return HTML(str(_html.aside(fold, whole) if fold else whole))


def abreast(*figures: HTML, caption: str = "") -> HTML:
    """Pictures side by side where there is room, and below them what both show."""
    each = [Markup(figure.data) for figure in figures]
    return HTML(str(_html.abreast(each, caption)))

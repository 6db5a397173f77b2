"""Additions to a page of ours: a Sphinx extension, named in `_config.yml`.

At a chapter's end, how long it took to run, by what command, and where to get it;
widgets that need none of the notebook's scripts; tags for those who link to the page.
"""

import html
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx

from fedlab_book.html import macros
from tools import moving, paths

CARD = "_static/card.png"  # drawn by tools/card.py
_ALT = "Dots of different size run together into one. Who counts?"
_CITE = "book/cite"
_CHAPTER = re.compile(r"notebooks/\d\d_")  # which has slides
_MATHEMATICS = re.compile(r'class="[^"]*\bmath\b')
_MAX_DESCRIPTION = 200
_html = macros("page", "tools")


def strip(seconds: float, command: str, notebook: str, slides: str = "") -> Markup:
    """The line that says where a page's numbers come from, and where its slides are."""
    took = f"{seconds:.0f} seconds" if seconds >= 1.5 else "a second"
    if seconds >= 90:
        took = f"{seconds / 60:.1f} minutes"
    return _html.strip(took, command, notebook, slides)


def description(doctree: nodes.document) -> str:
    """The first sentence or so of a page's prose, as plain text."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        text = re.sub(r"^The (paper.s )?claim\. ", "", text)
        if len(text) > 60:
            return shorten(text, _MAX_DESCRIPTION)
    return ""


def shorten(text: str, most: int) -> str:
    """The whole sentences that fit, or else the words."""
    if len(text) <= most:
        return text
    sentences = re.match(rf".{{40,{most - 1}}}[.?!](?= )", text)
    if sentences:
        return sentences[0]
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(",:;") + "…"


def with_narrow(body: str, static: Path, at: str) -> str:
    """A page's body with another drawing for narrow screens where there is one.

    It lies beside the first: `map_narrow.svg` stands for `map.svg`.
    """

    def place(image: re.Match[str]) -> str:
        name = f"{image[1]}_narrow.svg"
        if not (static / name).is_file():
            return image[0]
        return _html.narrow(f"{at}/{name}", Markup(image[0]))

    return re.sub(r'<img [^>]*src="[^"]*/(\w+)\.svg"[^>]*>', place, body)


def tags(title: str, text: str, page: str, card: str) -> Markup:
    """Tags for a preview of the page, shown by those who link to it."""
    said = {
        "og:type": "article",
        "og:title": title,
        "og:description": text,
        "og:url": page,
        "og:image": card,
        "og:image:alt": _ALT if card else "",
    }
    return _html.tags(said, card)


def add(app: Sphinx, name: str, template: str, context: dict, doctree: Any) -> None:
    """Change what one page is made of (Sphinx's `html-page-context`)."""
    if doctree is None:
        return
    base = (app.config.html_baseurl or "").rstrip("/")
    up = "../" * name.count("/")
    page = f"{base}/{name}.html" if base else ""
    title = re.sub("<.*?>", "", html.unescape(context.get("title") or ""))
    card = f"{base}/{CARD}" if base else ""  # a relative one is refused
    more = tags(title, description(doctree), page, card)
    context["metatags"] = f"{context.get('metatags', '')}\n{more}"
    static = Path(app.confdir) / "book" / "_static"
    context["body"] = with_narrow(context["body"], static, f"{up}_static")
    formulas = bool(_MATHEMATICS.search(context["body"]))
    context["script_files"][:] = [
        script for script in context["script_files"] if _needed(script, formulas)
    ]
    if _CITE in app.env.found_docs:
        context["theme_extra_footer"] = str(_html.footer(f"{up}{_CITE}.html"))
    notebook = Path(app.srcdir) / f"{name}.ipynb"
    if notebook.is_file():
        known = json.loads(notebook.read_text())["metadata"]
        download = PurePosixPath(f"{up}_sources/{name}.ipynb")
        shown = f"{up}{paths.SLIDES}/{notebook.stem}.html"
        _as_executed(context, known, download, shown if _CHAPTER.search(name) else "")


def _as_executed(
    context: dict, known: dict, download: PurePosixPath, shown: str
) -> None:
    body = context["body"]
    if build := known.get("build"):  # at the end: a page begins with what it shows
        given = build["seconds"], build["command"], str(download), shown
        body += str(strip(*given))
    states = known.get("widgets", {}).get(moving.STATE, {}).get("state", {})
    context["body"] = moving.still(body, states)


def _needed(script: Any, formulas: bool) -> bool:
    """Whether a page has a use for a script that Sphinx gives to all."""
    given = getattr(script, "attributes", {})
    if given.get("type") == moving.STATE:
        return False  # `moving` has taken from it what there is to show
    said = f"{getattr(script, 'filename', script)} {given.get('body', '')}"
    return formulas or "mathjax" not in said.lower()


def setup(app: Sphinx) -> dict[str, bool]:
    # After those who put the scripts of the page together.
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

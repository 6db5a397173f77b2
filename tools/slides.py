"""Six slides a chapter, cut from its built page: nothing on them is typed twice.

They lie in the site's `slides/`: a page that reads and prints like any other, and shows
one slide at a time on a projector (`book/_static/slides.js`). What is cut:

    question    the title, and the text before the first piece
    knob        the first piece that trains
    prediction  the first question that waits for an answer
    algorithm   the cells tagged `algorithm`
    decides     the finding in the cell tagged `decides`
    limit       the paragraph or the section on how far the chapter carries
"""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag
from markupsafe import Markup

from fedlab_book.html import macros
from tools.page import shorten
from tools.paths import SLIDES

_CARRIES = re.compile(r"\bhow far\b.*\bcarr(y|ies)\b", re.IGNORECASE)
_LIMIT = re.compile(r"^(A limit\.|How far does this carry\?)$")


class SlideError(ValueError):
    """A page lacks what a slide is cut from; the message says what, and where."""


@dataclass(frozen=True)
class Slide:
    """One slide: what kind it is, what stands above it, and what is on it."""

    kind: str
    title: str
    body: Markup

    @property
    def first(self) -> bool:
        return self.kind == "question"


def cut(page: BeautifulSoup, name: str) -> list[Slide]:
    """The slides of a chapter's page, in their order; what it lacks is an error."""
    article = page.select_one("article.bd-article")
    title = article and article.select_one("h1")
    if not article or not title:
        raise SlideError("no chapter: it has no title")
    said = title.get_text().removesuffix("#").strip()
    said = re.sub(r"^\d+\.\s*", "", said)
    kinds: dict[str, tuple[str, Callable[[Tag], list[Tag]]]] = {
        "question": (said, _opening),
        "knob": ("Turn it", _piece),
        "prediction": ("What do you expect?", _prediction),
        "algorithm": ("The method, whole", _algorithm),
        "decides": ("What decides", _decides),
        "limit": ("How far does this carry?", _limit),
    }
    made = []
    for kind, (above, find) in kinds.items():
        parts = [_plain(part, name) for part in find(article)]
        if not any(part.get_text(strip=True) or part.find("svg") for part in parts):
            raise SlideError(f"no slide “{kind}”: it has no {_WANTED[kind]}")
        body = Markup("\n").join(Markup(str(part)) for part in parts)
        made.append(Slide(kind, above, body))
    return made


_WANTED = {
    "question": "text before its first piece",
    "knob": "piece that trains (`live(...)`) or moves (`frames(...)`)",
    "prediction": "question that waits for an answer (`predict(...)`)",
    "algorithm": "cell tagged `algorithm`",
    "decides": "finding in a cell tagged `decides`",
    "limit": "paragraph “A limit.” or section “How far does this carry?”",
}


def _opening(article: Tag) -> list[Tag]:
    found = []
    top = article.select_one("section")
    for part in top.find_all(True, recursive=False) if top else []:
        if "cell" in _classes(part) or part.name in ("section", "h2"):
            break
        found += [part] * (part.name == "p")
    return found


def _piece(article: Tag) -> list[Tag]:
    """The first that trains or moves, with the pictures that it moves through."""
    first = article.select("[data-playground], .fl-frames")[:1]
    page = article.find_parent("html") or article
    named = [one.get("data-pictures") for one in first]
    return [*first, *(one for one in page.select("script[id]") if one["id"] in named)]


def _prediction(article: Tag) -> list[Tag]:
    return article.select("fieldset.fl-predict")[:1]


def _algorithm(article: Tag) -> list[Tag]:
    return article.select(".cell.tag_algorithm .cell_input div.highlight")


def _decides(article: Tag) -> list[Tag]:
    said = article.select(".cell.tag_decides .fl-finding")[:1]
    shown = article.select(".cell.tag_decides .fl-scroll:has(.fl-forest)")
    return said + [table for table in shown if not table.find_parent("details")][:1]


def _limit(article: Tag) -> list[Tag]:
    for section in article.select("section"):
        heading = section.find(["h2", "h3"], recursive=False)
        if heading and _CARRIES.search(heading.get_text()):
            return _listed([_here(part) for part in _prose(section)])
    for paragraph in article.select("p"):
        strong = paragraph.find("strong")
        if strong and _LIMIT.match(strong.get_text().strip()):
            return [_here(paragraph)]
    return []


def _listed(parts: list[Tag]) -> list[Tag]:
    """Parts that say something, entries of a list again in one."""
    made: list[Tag] = []
    for part in parts:
        if not part.get_text().strip():
            continue
        if part.name != "li":
            made.append(part)
            continue
        if not made or made[-1].name != "ul":
            made.append(BeautifulSoup("<ul></ul>", "html.parser").ul or part)
        made[-1].append(part)
    return made


def _here(part: Tag) -> Tag:
    """A copy without the sentences that point to other pages, and its own heading."""
    made = BeautifulSoup(" ".join(str(part).split()), "html.parser").contents[0]
    assert isinstance(made, Tag)
    for citation in made.select("a[title]"):  # a title has sentences of its own
        citation.unwrap()
    for strong in made.select("strong"):
        if _CARRIES.search(strong.get_text()):
            strong.decompose()
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z<])", made.decode_contents())
    kept = [each for each in sentences if "<a " not in each]
    made.clear()
    made.append(BeautifulSoup(" ".join(kept).strip(), "html.parser"))
    return made


def _prose(section: Tag) -> Iterator[Tag]:
    """A section's own paragraphs, and the entries of its box if it is one."""
    for part in section.find_all(["p", "li"]):
        folded = part.find_parent(["details", "table", "figure"])
        box = part.find_parent(class_="admonition")
        if folded or (part.name == "p" and part.find_parent("li")):
            continue
        if box and {"dropdown", "toggle"} & _classes(box):
            continue
        if "admonition-title" not in _classes(part):
            yield part


def _classes(tag: Tag) -> set[str]:
    return set(tag.get_attribute_list("class"))


def _plain(part: Tag, name: str) -> Tag:
    """A copy whose links lead where they led from the chapter's page."""
    made = copy.copy(part)
    for link in made.select("a.headerlink"):
        link.decompose()
    for link in made.select("a[href]"):
        to = str(link["href"])
        if to.startswith("#"):
            to = f"{name}.html{to}"
        if not to.startswith("../") and not urlsplit(to).scheme:
            link["href"] = f"../notebooks/{to}"
    return made


def page(source: str, name: str, base: str) -> str:
    """The page of slides of a chapter.

    Args:
        source: the chapter's built page.
        name: its name, as 01_averaging.
        base: the site's address, or nothing.
    """
    chapter = BeautifulSoup(source, "html.parser")
    slides = cut(chapter, name)
    for link in chapter.select("head script"):
        link.extract() if not _typesets(link) else None
    formulas = any('class="math' in slide.body for slide in slides)
    typeset = (
        [Markup(str(s)) for s in chapter.select("head script")] if formulas else []
    )
    words = BeautifulSoup(slides[0].body, "html.parser").get_text(" ", strip=True)
    card = f"{base}/_static/card.png" if base else ""
    return str(
        macros("slides", "tools").page(
            slides=slides,
            name=name,
            title=slides[0].title,
            said=shorten(" ".join(words.split()), 200),
            address=f"{base}/{SLIDES}/{name}.html" if base else "",
            card=card,
            typeset=typeset,
        )
    )


def _typesets(script: Tag) -> bool:
    return "mathjax" in f"{script.get('src', '')}{script.string or ''}".lower()


def write(site: Path, chapters: list[str], base: str = "") -> None:
    """Put the slides of these chapters, named as their notebooks, into a built site."""
    to = site / SLIDES
    to.mkdir(exist_ok=True)
    for name in chapters:
        built = site / "notebooks" / f"{name}.html"
        try:
            made = page(built.read_text(), name, base.rstrip("/"))
        except SlideError as error:
            raise SlideError(f"notebooks/{name}.ipynb: {error}") from error
        (to / f"{name}.html").write_text(made)

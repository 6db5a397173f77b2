"""Text that was stored by anyone, in any field, reaches no page as markup."""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from IPython.display import HTML
from jinja2 import UndefinedError
from markupsafe import Markup

import fedlab_book.ledger as pages_of_the_ledger
from fedlab_book import figures
from fedlab_book.findings import Row, finding
from fedlab_book.html import macros
from fedlab_book.ledger import companion, drawings
from fedlab_book.ledger.claimed import card
from fedlab_book.ledger.markup import folded, grid, verdict_cell, wide, written
from fedlab_book.pages import as_text, source, table
from fedlab_book.predict import predict
from fedlab_browser.playground.page_file import Page
from fedlab_core.errors import InputError
from fedlab_ledger import Store
from fedlab_ledger.papers import HEADLINES
from fedlab_ledger.report.book import Book
from tests.book.test_pages import CELLS, CLAIMS, TABLES, line
from tools import explorer, moving, page

BAD = "\"'><script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:b)"
ROOT = Path(__file__).parents[2]


class Reader(HTMLParser):
    """The tags of a text, each with the names of its attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))


def safe(text: str) -> None:
    names = {name for tag in Reader(text).tags for name in tag}
    assert not {"script", "img", "onerror"} & names, text


def test_what_is_looked_for_is_found():
    with pytest.raises(AssertionError):
        safe(f"<p>{BAD}</p>")


def builders() -> Iterator:
    """Functions that draw parts of pages from the ledger, found by their arguments.

    Without the companion pages, which are about a paper's real tables.
    """
    for module in pkgutil.iter_modules(pages_of_the_ledger.__path__):
        room = importlib.import_module(f"fedlab_book.ledger.{module.name}")
        if room is companion:
            continue
        for function in vars(room).values():
            if inspect.isfunction(function) and function.__module__ == room.__name__:
                asked = inspect.signature(function).parameters
                if "book" in asked and set(asked) <= {"book", "paper", "table"}:
                    yield function


def stored(folder: Path, field: str, value: object) -> Book:
    store = Store(folder)
    for c, level in ((CELLS[0], 60.2), (CELLS[1], 50.0), (CELLS[2], 63.0)):
        store.append([line(c, "paper", k, level + 0.1 * k) for k in range(3)])
    for file in folder.glob("*.jsonl"):
        lines = [json.loads(each) for each in file.read_text().splitlines()]
        text = "\n".join(json.dumps(each | {field: value}) for each in lines)
        file.write_text(text + "\n")
    waiting = HEADLINES["feddisco"].cells[2].key("paper")
    costs = {waiting: {"seconds": 9.0, "device": BAD, "threads": 1}}
    return Book(TABLES, store.read(), CLAIMS, HEADLINES, costs)


ONE = line(CELLS[0], "paper", 0, 60.0)
TEXTS = [name for name, value in ONE.items() if isinstance(value, str)]
FIELDS = [(name, BAD) for name in (*TEXTS, "diverged", "unknown")]
FIELDS += [("metrics", {BAD: 1.0})]


@pytest.mark.slow
@pytest.mark.parametrize("field, value", FIELDS, ids=lambda v: str(v)[:12])
def test_no_field_of_a_result_is_markup(tmp_path, field, value):
    try:
        book = stored(tmp_path, field, value)
    except InputError:
        return  # it does not even get in
    seen = 0
    for build in builders():
        asked = inspect.signature(build).parameters
        for t in TABLES.values():
            given = {"book": book, "paper": t.paper, "table": t}
            made = build(**{name: given[name] for name in asked})
            if made is not None:
                safe(str(made.data if isinstance(made, HTML) else made))
                seen += 1
    assert seen >= 12
    made = card("feddisco", "table1", book=book)
    safe(str(made.data))
    if field != "key":  # lines of no cell are not counted
        safe(entry_of_a_companion(book))


def entry_of_a_companion(book: Book) -> str:
    """An entry with a picture and a sentence, both from the stored lines."""
    paper = drawings.Paper(book, "feddisco", {})
    gain = f"table1 {CELLS[2].row} | {CELLS[2].column} > Plain | {CELLS[2].column}"
    asked = {"kind": "gains", "rows": {"A": gain}}
    entry = companion.Entry(
        ("table1",), "T", "Says.", "Found.", {"cells": [gain]}, (asked,)
    )
    panels, about = companion._drawings(entry, paper)
    return str(companion._section(entry, paper, panels, about, ""))


def rows(text: str) -> list[Row]:
    values = [1.0, 2.0, 3.0]
    more = {"words": (text, text), "ran": text}
    return [Row(text, values, **more), Row(text, values, aside=True)]


def widget(text: str) -> str:
    kinds = ("slider", "dropdown", "buttons")
    controls = [moving._Control(kind, text, [text, "b"], 0) for kind in kinds]
    given = (text, 300, controls, text, text)
    return macros("moving", "tools").widget(text, *given)


def story(text: str) -> str:
    words = ("title", "look", "state", "beside", "compared", "measured", "what")
    said = dict.fromkeys((*words, "named", "rounds"), text)
    return macros("page", "tools").story(SimpleNamespace(**said))


def drawn(text: str) -> str:
    return figures.svg(figures.canvas(200, 100)[0], text.ljust(80, "."), "one")


def headline_row(text: str) -> str:
    groups = [(text, text, [(text, text, macros("table").plain(text))])]
    return macros("headline").table([text], groups, text)


DRAWN: dict[str, Callable[[str], object]] = {
    "finding": lambda t: finding(t, rows(t), holds=True, unit=t, note=t).data,
    "predict": lambda t: predict(t, {t: t, "b": t}, "b").data,
    "picture": drawn,
    "framed": lambda t: figures.framed(Markup("<svg></svg>"), t, t),
    "table": lambda t: table(pd.DataFrame({"a": [t]}), t, ran=t, fold=t).data,
    "grid": lambda t: grid([t], [wide(t, 3)], t, t),
    "folded": lambda t: folded(t, t, t),
    "verdict": lambda t: verdict_cell(t, True, t, t),
    "docstring": lambda t: written(f"{t}\n\n- {t}\n- {t}\n\n1. {t}"),
    "headline": headline_row,
    "waiting": lambda t: macros("headline").waiting(t, t),
    "off": lambda t: macros("offs").list(t, t, t, t, t, t, [t], [t]),
    "searched": lambda t: macros("offs").searched(t, t, t, t),
    "answer": lambda t: macros("answer").told(t, t, t, t),
    "strip of an answer": lambda t: macros("answer").strip(t, t, t, t),
    "card": lambda t: macros("claims").card(t, t, (t, t), t, t, t, t),
    "advice": lambda t: macros("pages").advice(t, t),
    "live": lambda t: macros("pages").live(t, t),
    "strip": lambda t: page.strip(1.0, t, t),
    "tags": lambda t: page.tags(t, t, t, t),
    "footer": lambda t: macros("page", "tools").footer(t),
    "widget": widget,
    "story": story,
    "explorer": lambda t: explorer._html.row([t] * 6, *[t] * 10),
    "filters": lambda t: explorer._html.control(t, t, [(t, t)]),
    "page": lambda t: Page(dict, {"state": t}).html(),
    "frame": lambda t: Page(dict, {"state": t})._repr_html_(),
}


@pytest.mark.parametrize("name", DRAWN)
def test_text_in_a_template_adds_no_tag_and_no_attribute(name):
    """With any text the tags are those that they are with a plain word."""
    hostile, plain = (Reader(str(DRAWN[name](text))) for text in (BAD, "word" * 9))
    assert hostile.tags == plain.tags and plain.tags


def test_every_template_is_escaped_and_complete():
    """Nothing is marked as safe, and no name is guessed."""
    folders = (ROOT / "fedlab_book" / "templates", ROOT / "tools" / "templates")
    found = [path for folder in folders for path in sorted(folder.iterdir())]
    assert len(found) >= 10
    for path in found:
        assert not re.search(r"\|\s*safe|autoescape", path.read_text()), path
    with pytest.raises(UndefinedError):
        str(macros("table").link("to"))


def test_a_tables_caption_and_cells_are_text():
    frame = pd.DataFrame({f"{BAD}2": [BAD]}, index=pd.Index([BAD], name=BAD))
    text = str(table(frame, BAD).data)
    safe(text)
    assert "alert(1)" in text  # it is there, as text


def test_plain_text_is_no_markdown():
    """Characters that a browser or Markdown would act on get a backslash."""
    assert as_text("a_b <i> [x](y)") == r"a\_b \<i\> \[x\]\(y\)"
    assert as_text("2 processes x 1 thread, 1.41.0") == "2 processes x 1 thread, 1.41.0"


PAGES = {"speed.jsonl": "how_fast", "scaling.jsonl": "beyond_one_machine"}


@pytest.mark.parametrize("name", PAGES)
def test_sentences_with_stored_text_say_it_plainly(name):
    """A sentence is Markdown: every text field in one goes through `as_text`."""
    lines = [json.loads(v) for v in (ROOT / "results" / name).read_text().splitlines()]
    texts = {k for each in lines for k, v in each.items() if isinstance(v, str)}
    cells = json.loads((ROOT / "notebooks" / f"{PAGES[name]}.ipynb").read_text())
    sources = ["".join(c["source"]) for c in cells["cells"] if c["cell_type"] == "code"]
    said = [s for s in sources if "say(" in s]
    assert said
    for shown in said:
        for field in texts:
            for way in (f".{field}}}", f"['{field}']}}", f'["{field}"]}}'):
                bare = shown.count(way)
                assert not bare, f"{field} stands bare in a sentence of {PAGES[name]}"


def test_what_is_folded_says_what_it_is_and_is_whole():
    frame = pd.DataFrame({"a": [1]})
    plain, folded = (str(table(frame, "C", fold=f).data) for f in ("", "a < b"))
    summary = '<details class="fl-aside"><summary>a &lt; b</summary>'
    assert folded == f"{summary}{plain}</details>"
    plain, folded = (str(source(safe, fold=f).data) for f in ("", "its <lines>"))
    summary = '<details class="fl-aside"><summary>its &lt;lines&gt;</summary>'
    assert folded == f"{summary}\n\n{plain}\n\n</details>"

"""Text that was stored by anyone, in any field, reaches no page as markup."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from IPython.display import HTML

import fedlab_book.ledger as pages_of_the_ledger
from fedlab_book.ledger.claimed import card
from fedlab_book.pages import as_text, source, table
from fedlab_core.errors import InputError
from fedlab_ledger import Store
from fedlab_ledger.papers import HEADLINES
from fedlab_ledger.report.book import Book
from tests.book.test_pages import CELLS, CLAIMS, TABLES, line

BAD = "\"'><script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:b)"
ROOT = Path(__file__).parents[2]


class Markup(HTMLParser):
    """The names of tags and of attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names |= {tag, *(name for name, _ in attrs)}


def safe(text: str) -> None:
    assert not {"script", "img", "onerror"} & Markup(text).names, text


def test_what_is_looked_for_is_found():
    with pytest.raises(AssertionError):
        safe(f"<p>{BAD}</p>")


def builders() -> Iterator:
    """What draws a part of a page from the ledger, found by its arguments."""
    for module in pkgutil.iter_modules(pages_of_the_ledger.__path__):
        room = importlib.import_module(f"fedlab_book.ledger.{module.name}")
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


def test_a_tables_caption_and_cells_are_text():
    frame = pd.DataFrame({f"{BAD}2": [BAD]}, index=pd.Index([BAD], name=BAD))
    text = str(table(frame, BAD).data)
    safe(text)
    assert "alert(1)" in text  # it is there, as text


def test_plain_text_is_no_markdown():
    """What a browser and Markdown would make something of has a backslash before it."""
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

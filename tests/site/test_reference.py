"""The reference as a reader finds it: every name has its place, and is found."""

import json

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import BrowserContext, expect

from tools import reference, surface
from tools.visit import opened


@pytest.fixture(scope="module")
def places(site) -> dict[str, str]:
    """The text at each anchor of the reference's pages."""
    found: dict[str, str] = {}
    for name in reference.PAGES:
        html = (site / "book" / f"{name}.html").read_text()
        for head in BeautifulSoup(html, "html.parser").select("dl.py > dt[id]"):
            body = head.find_next_sibling("dd")
            assert str(head["id"]) not in found, head["id"]
            found[str(head["id"])] = body.text.strip() if body else ""
    return found


def test_every_name_has_an_anchor_and_a_text(places):
    for name in surface.public():
        assert places.get(name.full), name.full
    assert all(places.values()), [at for at, text in places.items() if not text]


def test_sources_are_there_to_be_read(site):
    for name in surface.public():
        if name.kind != "data":
            file, _ = surface.source_of(name.thing)
            text = (site / reference.SOURCES / f"{file}.txt").read_text()
            assert text == (reference.paths.ROOT / file).read_text()


def test_other_books_can_link_to_it(site):
    index = (site / "searchindex.js").read_text()
    known = json.loads(index[index.index("{") : index.rindex("}") + 1])
    assert "fedlab_core" in known["objects"]
    assert (site / "objects.inv").stat().st_size > 1000


@pytest.mark.browser
@pytest.mark.parametrize(
    "words, page",
    [
        ("API", "API reference"),
        ("custom dataset", "Your own data"),
        ("custom model", "Your own model"),
        ("custom algorithm", "Your own method"),
        ("dirichlet", "fedlab_core.dirichlet"),
    ],
)
def test_it_is_found_by_those_who_search(
    context: BrowserContext, address: str, words: str, page: str
) -> None:
    with opened(context, f"{address}/search.html?q={words}") as visit:
        expect(visit.page.locator("#search-results")).to_contain_text(page)

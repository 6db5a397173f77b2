"""The headline table on a paper's page and in its chapters."""

import re
from dataclasses import replace
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from IPython.display import HTML
from matplotlib.text import Text

from fedlab_book.ledger import curves
from fedlab_book.ledger.curves import banded
from fedlab_book.ledger.dots import dots, seed
from fedlab_book.ledger.headline import headline, quote
from fedlab_book.ledger.markup import RULE
from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import CLAIMS, HEADLINES, TABLES
from fedlab_ledger.report.book import Book
from tests.once import the_book

pytestmark = pytest.mark.slow  # whole tables are drawn


@pytest.fixture(scope="module")
def stored() -> Book:
    return the_book()


@pytest.fixture(scope="module")
def disco(stored: Book) -> Book:
    """The stored lines of three numbers of FedDisco's; one has a single seed."""
    rows, kept = {"FedAvg": 3, "FedAvg + Disco": 1}, {}
    for one in HEADLINES["feddisco"].cells:
        lines = stored.found.of(one.key(SCALE))
        if one.row in rows:
            few = [*lines.items()][: rows[one.row]]
            kept[one.key(SCALE)] = dict(few)
    return replace(stored, found=Found(kept))


EMPTY = Book(TABLES, Found(), CLAIMS, HEADLINES)


def page(shown: HTML) -> BeautifulSoup:
    assert isinstance(shown.data, str)
    return BeautifulSoup(shown.data, "html.parser")


def attribute(element: Tag | None, name: str) -> str:
    assert element is not None
    return str(element[name])


def text(element) -> str:
    return " ".join(element.get_text(" ").split())


@pytest.mark.parametrize("paper", HEADLINES)
@pytest.mark.parametrize("whole", [headline, lambda b, p: quote(p, b)])
def test_every_number_of_the_paper_is_there_run_or_not(paper, whole, stored):
    for book in (stored, EMPTY):
        shown = page(whole(book, paper))
        rows = shown.select("table")[0].select("tr:has(> td.fl-paper)")
        assert len(rows) == len(HEADLINES[paper].cells)
        for row, q in zip(rows, book.headline(paper), strict=True):
            value = q.cell.paper_value
            assert value is None or f"{value:g}" in text(row)
            assert ("not run yet" in text(row)) == (not q.lines)
            if q.lines:
                assert text(row.select_one(".fl-ours a")) == q.shown.ours
                assert text(row.select_one(".fl-ran"))
                words = row.select_one(f'.fl-verdict a[href="{RULE}"]')
                alone = q.cell.paper_value is None
                assert alone or text(words) == q.shown.verdict.word
                for value in q.seeds.values():
                    assert seed(value, q.cell.unit) in text(row)


def test_the_picture_says_what_the_table_says(disco):
    quotes = disco.headline("feddisco")
    shown = page(dots(quotes, "Table 3"))
    said = attribute(shown.select_one("svg"), "aria-label")
    first, second = quotes[0], quotes[1]
    values = ", ".join(seed(v, "%") for v in first.seeds.values())
    assert f"FedAvg, paper 54.27, ours {first.shown.ours} (seeds {values})" in said
    assert f"ours {second.shown.ours} (seeds " in said and "±" not in second.shown.ours
    assert "SCAFFOLD, paper 60.43, not run yet" in said
    assert "CIFAR-10" in attribute(shown.figure, "data-ran")


def test_a_stored_run_of_the_authors_is_not_called_the_papers(stored):
    """FedCollab's numbers are of its authors' run of one seed: head, mark and why."""
    run, shown = "authors' stored run of seed 0", page(headline(stored, "fedcollab"))
    assert text(shown.select("table")[0].select("th")[0]) == run
    assert f"Diamond: the {run}." in text(shown.select_one("figcaption"))
    assert f"Local, {run} 0.858" in attribute(shown.svg, "aria-label")
    assert f"the gain is of the {run}" in text(shown.select_one(".fl-claims"))
    whys = [text(e) for e in shown.select(".fl-trace > li")]
    assert any(f"of the {run}'s 0.858" in why for why in whys)
    assert not any("of the paper's 0" in why for why in whys)
    assert text(page(headline(stored, "feddisco")).select("th")[0]) == "paper"


def test_without_runs_no_data_are_ours_and_nothing_is_said_of_them():
    for paper, about in HEADLINES.items():
        shown = page(headline(EMPTY, paper))
        assert shown.select("figure") and not shown.select("figure[data-ran]")
        assert shown.select(".fl-offs") == [] == shown.select("td.fl-verdict")
        assert "Nothing of" in text(shown.p) and about.name in text(shown.p)


def test_what_it_costs_stands_where_a_number_is_missing():
    key = HEADLINES["fedimpro"].cells[0].key(SCALE)
    tried = {key: {"seconds": 9000.0, "device": "cpu", "threads": 1}}
    shown = page(headline(replace(EMPTY, costs=tried), "fedimpro"))
    assert "FedAvg about 2.5 h a seed on one thread of a CPU" in text(shown.p)
    first, second = shown.select("tr:has(> td.fl-paper)")[:2]
    assert "about 2.5 h a seed" in text(first)
    assert "what it takes was not tried" in text(second)


def test_each_number_that_is_off_says_what_was_checked(disco):
    quotes = disco.headline("feddisco")
    off = [q for q in quotes if q.off is not None]
    shown = page(headline(disco, "feddisco"))
    items = shown.select(".fl-offs > li")
    of_all = text(shown.select_one(".fl-offs-all"))
    assert len(items) == len(off) > 1
    for q, item in zip(off, items, strict=True):
        assert text(item).startswith(f"{q.cell.row} | {q.cell.column}")
        assert f"where {q.cell.tolerance:g} is allowed" in text(item)
        curve = q.cell.metric == "mean-10"
        assert ("as the best round" in text(item)) is curve
        told = f"{text(item)} {of_all}"
        assert told.count("augmentation (images cropped and mirrored)") == 1


def test_what_is_so_of_every_number_that_is_off_is_said_once(stored):
    seen = False
    for paper in HEADLINES:
        shown = page(headline(stored, paper))
        items = [text(item) for item in shown.select(".fl-offs > li")]
        for of_all in map(text, shown.select(".fl-offs-all")):
            said = of_all.removeprefix(f"Of all {len(items)}: ").rstrip(".")
            parts = said.split(". ")
            assert not any(part in item for part in parts for item in items)
            seen = True
    assert seen


def test_the_numbers_lead_to_how_they_were_made(stored):
    shown = page(headline(stored, "feddisco"))
    ids = [attribute(e, "id") for e in shown.select("[id]")]
    assert len(set(ids)) == len(ids)
    ours = shown.select('td.fl-ours > a[href^="#"]')
    links = [attribute(a, "href")[1:] for a in ours]
    assert links and {*links} <= {*ids}
    chapter = page(quote("feddisco", stored))
    there = [attribute(a, "href") for a in chapter.select("td.fl-ours > a")]
    assert there and {h.partition("#")[2] for h in there} <= {*ids}
    assert all(h.startswith("ledger_feddisco.html#") for h in there)
    assert chapter.select("[id]") == []


def test_claims_are_judged_at_the_papers_scale(stored):
    shown = page(headline(stored, "feddisco"))
    assert "on a stand-in" not in text(shown)
    assert {j.scale for j in stored.headline_claims("feddisco")} == {SCALE}


def test_curves_have_a_band_where_the_paper_draws_them(stored):
    law = HEADLINES["fedlaw"]
    shown = banded(stored, law, stored.headline("fedlaw"))
    assert shown is not None and law.curves in str(shown.data)
    assert "lowest seed to the highest" in str(shown.data)
    disco_ = HEADLINES["feddisco"]
    assert disco_.curves == ""
    assert banded(stored, disco_, stored.headline("feddisco")) is None
    assert banded(EMPTY, law, EMPTY.headline("fedlaw")) is None


def test_titles_of_curves_are_no_wider_than_their_panels(stored, monkeypatch):
    monkeypatch.setattr(curves, "show", lambda fig, *_: fig)
    fig: Any = banded(stored, HEADLINES["fedlaw"], stored.headline("fedlaw"))
    fig.draw_without_rendering()
    titles = [t for ax in fig.axes for t in ax.findobj(Text) if ":" in t.get_text()]
    assert any("\n" in t.get_text() for t in titles)
    for t in titles:
        assert t.get_window_extent().x1 <= t.axes.bbox.x1 + 5


def test_a_word_of_a_verdict_is_one_of_the_rules(stored):
    for paper in HEADLINES:
        said = text(page(headline(stored, paper)))
        assert not re.search(r"reproduced", said)

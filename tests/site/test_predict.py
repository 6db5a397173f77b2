"""A question on a page: what follows opens with the reader's choice."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.site.checks import AXE
from tools.visit import PHONE, not_accessible, opened

pytestmark = pytest.mark.browser

# A call of `predict`, or a box with a list of answers.
ASKED = re.compile(r'"predict\(\\n|Predict first((?!:::).|\n)*"1\. ')
ASKING = sorted(
    path.stem
    for path in Path("notebooks").glob("*.ipynb")
    if re.search(ASKED, path.read_text())
)
PAINTED = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"
BOX = ".fl-predict, .admonition[role=radiogroup]"
# What is read, of that which is closed; a browser lays out none of it.
_SEEN = """() => [...document.querySelectorAll("[data-closed] :is(p, table, svg, img)")]
    .filter(one => one.checkVisibility()).length"""

asking = pytest.mark.parametrize("place", ASKING)


def test_the_chapters_ask():
    assert len(ASKING) >= 8


@asking
@pytest.mark.parametrize("way", ["click", "key"])
def test_what_follows_opens_with_a_choice(context: BrowserContext, address, place, way):
    with opened(context, f"{address}/notebooks/{place}.html") as visit:
        page = visit.page
        boxes = page.locator(BOX)
        assert boxes.count() > 0
        assert page.locator("[data-closed]").count() > 0
        assert page.evaluate(_SEEN) == 0
        for box in boxes.all():
            if not box.is_visible():
                continue  # below another question
            first = box.get_by_role("radio").first
            if way == "click":
                box.locator("label").first.click()
            else:
                first.focus()
                page.keyboard.press("Space")
            expect(first).to_be_checked()
            expect(box.locator(".fl-hint")).to_have_count(0)
            assert len(box.get_by_role("radio").all()) >= 3
        assert page.evaluate(_SEEN) > 0
        page.set_viewport_size(PHONE)
        page.evaluate(PAINTED)  # only then does the page know what scrolls
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        if way == "click":
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(300)
            assert not_accessible(visit, AXE, "light") == []
        assert visit.problems == []


def test_each_answer_has_a_line_of_its_own(page_of):
    page = page_of("05_shrinking_the_average")
    box = page.locator(".fl-predict").first
    told, lines = box.get_by_role("status"), []
    expect(told).to_be_empty()
    box.locator("label").first.click()
    for option in box.get_by_role("radio").all():
        expect(option).to_be_checked()
        expect(told).to_have_text(re.compile(r"(Yes|No)\. \S"))
        lines.append(told.inner_text())
        page.keyboard.press("ArrowDown")
    assert len(set(lines)) == len(lines) >= 3
    assert len([line for line in lines if line.startswith("Yes.")]) == 1


@pytest.fixture
def page_of(browser: Browser, address: str):
    """A page of the book, in a browser that remembers nothing of other tests."""
    own = browser.new_context()
    page = own.new_page()

    def at(place: str, after: str = "") -> Page:
        page.goto(f"{address}/notebooks/{place}.html{after}")
        return page

    yield at
    own.close()


def test_who_only_wants_to_read_says_so_once(page_of):
    page = page_of(ASKING[0])
    page.get_by_role("button", name="I only want to read").first.click()
    assert page.locator("[data-closed][hidden]").count() == 0
    page = page_of(ASKING[1])
    assert page.locator(".fl-predict").count() > 0
    for box in page.locator(".fl-predict").all():
        expect(box.locator("input[data-right]")).to_be_checked()
        expect(box.get_by_role("status")).to_have_text(re.compile(r"Yes\. \S"))
    assert page.locator("[data-closed]").count() > 0
    assert page.locator("[data-closed][hidden]").count() == 0


@pytest.mark.parametrize("way", ["reveal", "print", "link"])
def test_what_else_opens_it(page_of, way):
    page = page_of(ASKING[0], "?reveal" if way == "reveal" else "")
    if way == "print":
        assert page.locator("[data-closed][hidden]").count() > 0
        page.emulate_media(media="print")
    if way == "link":
        name = page.locator("[data-closed] [id], [data-closed][id]").first
        page.evaluate("name => { location.hash = name; }", name.get_attribute("id"))
        page.reload()
        expect(name).to_be_visible()
    assert page.evaluate(_SEEN) > 0


def test_on_paper_all_is_open_but_answers_of_exercises(page_of):
    page, within = page_of("04_who_should_train_together"), "section[id^=exercises]"
    answers = page.locator(f"{within} .admonition.toggle-hidden")
    others = page.locator(f".admonition.toggle-hidden:not({within} *)")
    before = answers.count(), others.count()
    assert min(before) > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(others).to_have_count(0)
    expect(page.locator(".fl-aside:not([open])")).to_have_count(0)
    expect(answers).to_have_count(before[0])
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(others).to_have_count(before[1])


@asking
def test_without_scripts_everything_is_open(browser: Browser, address, place):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/notebooks/{place}.html")
    assert page.locator("[data-closed]").count() == 0
    lines = page.locator(".fl-predict small")
    if page.locator(".fl-predict").count():
        assert lines.count() >= 3 and lines.first.is_visible()
    else:
        assert page.get_by_text("Predict first").first.is_visible()
    context.close()

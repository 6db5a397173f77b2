"""A question on a page: what follows opens with the reader's choice."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.site.checks import AXE
from tools.visit import PHONE, not_accessible, opened

pytestmark = pytest.mark.browser

ASKING = (
    "02_is_size_the_right_weight",
    "04_shrinking_the_average",
    "07_who_should_train_together",
)
PAINTED = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"
BOX, CLOSED = ".fl-predict", "div.cell.tag_answer"

asking = pytest.mark.parametrize("place", ASKING)


@asking
@pytest.mark.parametrize("way", ["click", "key"])
def test_the_figure_opens_with_a_choice(context: BrowserContext, address, place, way):
    with opened(context, f"{address}/notebooks/{place}.html") as visit:
        page = visit.page
        box, cells = page.locator(BOX).first, page.locator(CLOSED)
        assert cells.count() > 0
        assert not [k for k in range(cells.count()) if cells.nth(k).is_visible()]
        told, first = box.get_by_role("status"), box.get_by_role("radio").first
        expect(told).to_be_empty()
        if way == "click":
            box.locator("label").first.click()
        else:
            first.focus()
            page.keyboard.press("Space")
        expect(first).to_be_checked()
        expect(cells.first).to_be_visible()
        lines = []
        for option in box.get_by_role("radio").all():
            expect(option).to_be_checked()
            expect(told).to_have_text(re.compile(r"(Yes|No)\. \S"))
            lines.append(told.inner_text())
            page.keyboard.press("ArrowDown")
        assert len(set(lines)) == len(lines) >= 3
        assert len([line for line in lines if line.startswith("Yes.")]) == 1
        page.set_viewport_size(PHONE)
        page.evaluate(PAINTED)  # only then does the page know what scrolls
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for scheme in ("light", "dark"):
            assert not_accessible(visit, AXE, scheme) == []
        assert visit.problems == []


@asking
def test_without_scripts_everything_is_open(browser: Browser, address, place):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/notebooks/{place}.html")
    assert page.locator(CLOSED).first.is_visible()
    lines = page.locator(f"{BOX} small")
    assert lines.count() >= 3 and lines.first.is_visible()
    context.close()

"""Every page in a browser: nothing fails, everything moves, everybody can read it.

A page is opened once; each check on it is a test with a name of its own.
"""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.site.checks import NAMES
from tools.visit import opened

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("check", NAMES)
def test_page(findings, page_name: str, check: str) -> None:
    assert findings(page_name)[check] == []


def test_the_front_leads_to_the_first_page(context, address: str) -> None:
    page = context.new_page()
    page.goto(f"{address}/index.html")
    page.wait_for_url("**/notebooks/index.html")
    assert page.locator("h1").first.inner_text().startswith("Who counts?")
    page.close()


@pytest.mark.parametrize("words", ["FedDisco", "SCAFFOLD", "gamma", "rFedAvg"])
def test_search_finds(context: BrowserContext, address: str, words: str) -> None:
    with opened(context, f"{address}/search.html?q={words}") as visit:
        visit.page.locator("#search-results li a").first.wait_for()
        assert visit.problems == []


def test_nothing_waits_for_the_scripts_of_widgets_and_formulas(
    browser: Browser, address: str
) -> None:
    """The page is painted while those scripts are held back."""
    context = browser.new_context()
    page, held = context.new_page(), []
    late = re.compile(r"/vendor/(widgets|mathjax|fontawesome)/.*\.js")
    page.route(late, lambda route: held.append(route))
    page.goto(f"{address}/notebooks/index.html", wait_until="commit")
    while len(held) < 2:  # at least the widgets' and the icons'
        page.wait_for_timeout(50)
    page.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length"
    )
    stand_in = page.locator(".fl-first svg").first
    assert stand_in.is_visible()
    assert page.locator(".fl-frames").count() == 0
    for route in held:
        route.continue_()
    page.locator(".fl-frames .fl-stage svg").first.wait_for()
    page.locator(".fl-first").first.wait_for(state="detached")
    context.close()


def test_the_first_page_moves_by_itself_and_can_be_stopped(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html")
    stage = page.locator(".fl-auto .fl-stage")
    playing = page.locator(".fl-auto .widget-play .fa-pause")
    playing.wait_for()
    expect(stage).to_have_attribute("aria-live", "off")
    page.locator(".fl-auto .noUi-handle").focus()
    page.keyboard.press("Home")
    playing.wait_for(state="detached")
    expect(stage).to_have_attribute("aria-live", "polite")
    context.close()

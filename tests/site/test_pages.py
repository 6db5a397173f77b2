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


def test_nothing_waits_for_a_script(browser: Browser, address: str) -> None:
    """The page is painted, its first picture in place, while scripts are held back."""
    context = browser.new_context()
    page, held, let_go = context.new_page(), [], []
    late = re.compile(r"^(?!.*documentation_options).*\.js\b")
    page.route(late, lambda r: r.continue_() if let_go else held.append(r))
    page.goto(f"{address}/notebooks/01_averaging.html", wait_until="commit")
    while len(held) < 5:
        page.wait_for_timeout(50)
    page.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length"
    )
    picture = page.locator(".fl-frames .fl-stage svg").first
    assert picture.is_visible()
    let_go.append(True)
    for route in held:
        route.continue_()
    button = page.locator(".fl-buttons button[aria-pressed=false]").first
    before = picture.get_attribute("aria-label")
    button.click()
    expect(picture).not_to_have_attribute("aria-label", str(before))
    context.close()


def test_the_first_page_moves_by_itself_and_can_be_stopped(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html")
    stage = page.locator(".fl-auto .fl-stage")
    play = page.locator(".fl-auto .fl-play")
    expect(play).to_have_attribute("aria-label", "Pause")
    expect(stage).to_have_attribute("aria-live", "off")
    page.locator(".fl-auto input").focus()
    page.keyboard.press("ArrowRight")
    expect(play).to_have_attribute("aria-label", "Play")
    expect(stage).to_have_attribute("aria-live", "polite")
    context.close()


def test_a_tour_of_the_first_page_ends_where_it_began(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html")
    picture = page.locator(".fl-auto .fl-stage svg")
    home = str(picture.get_attribute("aria-label"))
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    expect(picture).not_to_have_attribute("aria-label", home)
    play = page.locator(".fl-auto .fl-play")
    expect(play).to_have_attribute("aria-label", "Play", timeout=15_000)
    expect(picture).to_have_attribute("aria-label", home)
    context.close()

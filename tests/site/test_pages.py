"""Every page in a browser: nothing fails, nothing overflows, everybody can read it."""

from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

from tests.site.conftest import Visit
from tools import paths

pytestmark = pytest.mark.browser

AXE = paths.assets(paths.ROOT) / "axe" / "axe.min.js"
LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
OPTIONS = {"runOnly": LEVELS, "preload": False}
PHONE: ViewportSize = {"width": 390, "height": 844}


def test_opens_without_any_problem(visit: Visit, page_name: str) -> None:
    visit.open(page_name)
    assert visit.problems == []


def test_fits_a_phone(visit: Visit, page_name: str) -> None:
    visit.page.set_viewport_size(PHONE)
    page = visit.open(page_name)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_accessible(visit: Visit, page_name: str, scheme) -> None:
    visit.page.emulate_media(color_scheme=scheme)
    page = visit.open(page_name)
    page.add_script_tag(path=AXE)
    report = page.evaluate("options => axe.run(document, options)", OPTIONS)
    found = [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in report["violations"]
        for node in violation["nodes"]
    ]
    assert found == []


def test_pictures_follow_the_theme(visit: Visit, page_name: str) -> None:
    page = visit.open(page_name)
    switch = page.locator("button.theme-switch-button").first
    assert switch.count(), f"{page_name} has no button that changes the theme"
    ink = "getComputedStyle(document.querySelector('.fl-figure svg, main')).color"
    seen = set()
    for _ in range(3):  # auto, light, dark
        seen.add(
            (
                page.evaluate("document.documentElement.dataset.theme"),
                page.evaluate(ink),
            )
        )
        switch.click()
    assert len({theme for theme, _ in seen}) == 2
    assert len({color for _, color in seen}) == 2


def test_text_in_pictures_can_be_read_on_a_phone(visit: Visit, page_name: str) -> None:
    visit.page.set_viewport_size(PHONE)
    page = visit.open(page_name)
    squeezed = page.evaluate(
        """() => [...document.querySelectorAll('.fl-scroll svg')]
            .filter(svg => svg.getClientRects().length)
            .filter(svg => svg.getBoundingClientRect().width
                           < parseFloat(svg.style.minWidth) - 1)
            .map(svg => svg.getAttribute('aria-label'))"""
    )
    assert squeezed == []


def test_search_finds_a_method(visit: Visit, site: Path) -> None:
    page = visit.open("search.html?q=FedDisco")
    page.locator("#search-results li a").first.wait_for()
    assert visit.problems == []

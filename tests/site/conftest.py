"""The built site, served on this machine to a browser that can reach nothing else.

FEDLAB_SITE points the tests at another folder than `_build/html`.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.site.checks import Findings, every_check
from tests.site.playing import PLACE
from tools import paths
from tools.browser import chromium, find_chromium, pages, served
from tools.publish import NOT_FOUND
from tools.visit import DESK, Visit, opened

PATIENCE_MS = 120_000  # for what takes a moment: a machine may have much else to do
expect.set_options(timeout=PATIENCE_MS)
SITE = Path(os.environ.get("FEDLAB_SITE", paths.site(paths.ROOT)))


def page_names() -> list[str]:
    """The pages of the site, but for the one that only leads to the first.

    That for what is not there is only looked at where the site begins at `/`, as here.
    """
    names = [name for name in pages(SITE) if name != "index.html"]
    lost = SITE / NOT_FOUND
    if lost.is_file() and 'data-content_root="/"' not in lost.read_text():
        names.remove(NOT_FOUND)
    return names or ["no page"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `page_name` once for every page of the site."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names())


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.skip("no built site; run `make book`")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("no Chromium on PATH; install it to run the browser tests")
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One reader, who keeps what was loaded for the next page."""
    context = browser.new_context(
        viewport=DESK, reduced_motion="reduce", color_scheme="light"
    )
    yield context
    context.close()


@pytest.fixture(scope="session")
def findings(
    context: BrowserContext, address: str, site: Path
) -> Callable[[str], Findings]:
    """The findings of every check on a page, from a single visit."""
    return cache(lambda name: every_check(context, address, site, name))


@pytest.fixture
def visit(context: BrowserContext, address: str) -> Iterator[Visit]:
    """The playground's page, as it opens."""
    with opened(context, f"{address}/{PLACE}") as visit:
        visit.page.set_default_timeout(120_000)
        visit.page.locator(".pg-play").wait_for()
        yield visit
        assert visit.problems == []


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page

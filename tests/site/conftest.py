"""The built site, served on this machine to a browser that can reach nothing else."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tools import paths
from tools.browser import chromium, find_chromium, is_local, pages, served

SITE = paths.site(paths.ROOT)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `page_name` once for every page of the site."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", pages(SITE) or ["no page"])


def _missing(reason: str) -> None:
    """Skip, except in continuous integration, where nothing may be left out."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        _missing("no built site; run `make book`")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        _missing("no Chromium on PATH; install it to run the browser tests")
    with chromium() as browser:
        yield browser


@dataclass
class Visit:
    """One page as a reader opens it, and everything that went wrong on it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        said = self.problems.append
        self.page.on(
            "console",
            lambda message: (
                said(f"console: {message.text}") if message.type == "error" else None
            ),
        )
        self.page.on("pageerror", lambda error: said(f"error: {error}"))
        self.page.on(
            "response",
            lambda answer: (
                said(f"{answer.status}: {answer.url}") if answer.status >= 400 else None
            ),
        )
        self.page.route("**/*", self._stay_local)

    def _stay_local(self, route) -> None:
        if is_local(route.request.url):
            route.continue_()
        else:
            self.problems.append(f"foreign request: {route.request.url}")
            route.abort()

    def open(self, name: str) -> Page:
        self.page.goto(f"{self.address}/{name}", wait_until="networkidle")
        if self.page.locator("script[type='application/vnd.jupyter.widget-view+json']"):
            self.page.wait_for_function(
                "() => document.querySelectorAll('.fl-stage svg, .fl-stage img').length"
                " >= document.querySelectorAll('.fl-frames').length"
            )
        return self.page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext, address: str) -> Visit:
    return Visit(context.new_page(), address)

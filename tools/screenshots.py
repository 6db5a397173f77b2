"""Picture every page, wide and narrow, light and dark, for people to look at."""

import argparse
import sys
from pathlib import Path

from playwright.sync_api import Browser

from tools import paths
from tools.browser import chromium, is_local, pages, served

WIDTHS = (1280, 390)
THEMES = ("light", "dark")
SKIPPED = ("genindex.html", "search.html", "index.html")


def picture(browser: Browser, address: str, page: str, folder: Path) -> None:
    for width in WIDTHS:
        for theme in THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme
            )
            context.route(
                "**/*",
                lambda route: (
                    route.continue_() if is_local(route.request.url) else route.abort()
                ),
            )
            tab = context.new_page()
            tab.goto(f"{address}/{page}", wait_until="networkidle")
            tab.wait_for_timeout(300)
            name = page.removesuffix(".html").replace("/", "-")
            path = folder / f"{name}-{width}-{theme}.png"
            tab.screenshot(path=path, full_page=True)
            context.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots")
    parser.add_argument("--root", type=Path, default=paths.ROOT)
    parser.add_argument("pages", nargs="*", help="parts of their names; all by default")
    given = parser.parse_args(arguments)
    site = paths.site(given.root)
    if not site.is_dir():
        print(f"error: {site} is not there; run `make book` first", file=sys.stderr)
        return 2
    folder = given.root / "_build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    parts = given.pages or [""]
    with served(site) as address, chromium() as browser:
        for page in pages(site):
            if page not in SKIPPED and any(part in page for part in parts):
                picture(browser, address, page, folder)
                print(f"  {page}", flush=True)
    print(f"pictures are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks of the site as files: links, texts of pictures, files from other hosts.

Each check takes the pages of a site and returns its faults, one line each.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from tools.browser import pages
from tools.cells import shows_code
from tools.publish import NOT_FOUND

# The theme and sphinx-proof write these more than once; neither breaks anything.
REPEATED_UPSTREAM = {"proof-content", "search-input"}

Documents = Mapping[Path, BeautifulSoup]


def documents(site: Path) -> Documents:
    """Every page of a site, parsed, by its path."""
    names = (name for name in pages(site) if name != NOT_FOUND)  # its links begin at /
    found = ((site / name).resolve() for name in names)
    return {p: BeautifulSoup(p.read_bytes(), "html.parser") for p in found}


def broken_links(site: Documents) -> list[str]:
    """Links to files or places in files that are not there."""
    anchors = {path: set(_ids(page)) for path, page in site.items()}
    broken = []
    for path, page in site.items():
        for _, target in _references(page):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not to.exists():
                broken.append(f"{path.name}: {target}")
            elif fragment and to in anchors and fragment not in anchors[to]:
                broken.append(f"{path.name}: no anchor {target}")
    return broken


def foreign_assets(site: Documents) -> list[str]:
    """Files that a page would load from another host."""
    return [
        f"{path.name}: {target}"
        for path, page in site.items()
        for tag, target in _references(page)
        if tag.name not in ("a", "use")
        and urlsplit(target).netloc
        and tag.get("rel") != ["canonical"]
    ]


def mute_pictures(site: Documents) -> list[str]:
    """Pictures without a text for readers who do not see them."""
    return [
        f"{path.name}: {str(tag)[:100]}"
        for path, page in site.items()
        for tag in [*page.find_all("img"), *page.select("svg[role=img]")]
        if not tag.get("alt", tag.get("aria-label"))
    ]


def repeated_ids(site: Documents) -> list[str]:
    """Names that two elements of a page have."""
    return [
        f"{path.name}: {name}"
        for path, page in site.items()
        for name, times in Counter(_ids(page)).items()
        if times > 1 and name not in REPEATED_UPSTREAM
    ]


def unexplained(site: Documents) -> list[str]:
    """Results without their source on the page, or without the command that ran it."""
    found = []
    for path, page in site.items():
        results = page.select(".cell_output")
        run = page.select_one(".fl-strip code")
        if results and not (run and run.text.endswith(f"notebooks/{path.stem}.ipynb")):
            found.append(f"{path.name}: no command")
        if path.stem == "index" or not shows_code(path.stem):
            continue  # its notebook is a click away
        for result in results:
            cell = result.find_parent(class_="cell")
            source = cell.select_one(".cell_input pre") if cell else None
            if source is None or not source.text.strip():
                found.append(f"{path.name}: no source for {result.text.strip()[:60]!r}")
    return found


def outward_links(site: Documents) -> dict[str, set[str]]:
    """Addresses on other hosts, with the pages that link to them."""
    found: dict[str, set[str]] = {}
    for path, page in site.items():
        for tag, target in _references(page):
            if tag.name == "a" and urlsplit(target).scheme in ("http", "https"):
                found.setdefault(target.split("#")[0], set()).add(path.name)
    return found


def _references(page: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    for name in ("href", "src"):
        for tag in page.select(f"[{name}]"):
            yield tag, str(tag[name])


def _ids(page: BeautifulSoup) -> Iterator[str]:
    return (str(tag["id"]) for tag in page.select("[id]"))

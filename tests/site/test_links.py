"""The site as files: every link leads somewhere, every picture has a text."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from tools.browser import pages

# The theme and sphinx-proof write these more than once; neither breaks anything.
REPEATED_UPSTREAM = {"proof-content", "search-input"}


@pytest.fixture(scope="session")
def documents(site: Path) -> dict[Path, BeautifulSoup]:
    found = (site / name for name in pages(site))
    return {
        path.resolve(): BeautifulSoup(path.read_bytes(), "html.parser")
        for path in found
    }


def _references(document: BeautifulSoup) -> Iterator[tuple[Tag, str]]:
    for name in ("href", "src"):
        for tag in document.select(f"[{name}]"):
            yield tag, str(tag[name])


def _ids(document: BeautifulSoup) -> Iterator[str]:
    return (str(tag["id"]) for tag in document.select("[id]"))


def test_links_and_anchors_resolve(documents: dict[Path, BeautifulSoup]) -> None:
    anchors = {path: set(_ids(document)) for path, document in documents.items()}
    broken = []
    for path, document in documents.items():
        for _, target in _references(document):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not to.exists():
                broken.append(f"{path.name}: {target}")
            elif fragment and to in anchors and fragment not in anchors[to]:
                broken.append(f"{path.name}: no anchor {target}")
    assert broken == []


def test_nothing_is_loaded_from_another_host(
    documents: dict[Path, BeautifulSoup],
) -> None:
    foreign = [
        f"{path.name}: {target}"
        for path, document in documents.items()
        for tag, target in _references(document)
        if tag.name not in ("a", "use") and urlsplit(target).netloc
    ]
    assert foreign == []


def test_every_picture_has_a_text(documents: dict[Path, BeautifulSoup]) -> None:
    mute = [
        f"{path.name}: {str(tag)[:100]}"
        for path, document in documents.items()
        for tag in [*document.find_all("img"), *document.select("svg[role=img]")]
        if not tag.get("alt", tag.get("aria-label"))
    ]
    assert mute == []


def test_ids_are_unique(documents: dict[Path, BeautifulSoup]) -> None:
    repeated = [
        f"{path.name}: {name}"
        for path, document in documents.items()
        for name, times in Counter(_ids(document)).items()
        if times > 1 and name not in REPEATED_UPSTREAM
    ]
    assert repeated == []

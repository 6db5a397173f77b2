"""The site as files: links lead somewhere, pictures have a text, results a source."""

from pathlib import Path

import pytest

from tools import site_files
from tools.site_files import Documents, documents


@pytest.fixture(scope="module")
def every_page(site: Path) -> Documents:
    return documents(site)


@pytest.mark.parametrize(
    "check",
    [
        site_files.broken_links,
        site_files.foreign_assets,
        site_files.mute_pictures,
        site_files.repeated_ids,
        site_files.unexplained,
    ],
    ids=lambda check: check.__name__,
)
def test_no(every_page: Documents, check) -> None:
    assert check(every_page) == []


def test_those_who_link_here_get_a_picture_and_a_sentence(
    every_page: Documents, site: Path
) -> None:
    for path, page in every_page.items():
        if path.name in ("genindex.html", "search.html"):
            continue
        said = {
            str(tag["property"]): str(tag["content"])
            for tag in page.select("meta[property^='og:']")
        }
        assert len(said["og:description"]) > 20, path.name
        card = path.parent / said["og:image"]
        assert card.resolve() == (site / "_static" / "card.png").resolve()
        assert card.stat().st_size < 300_000


def test_every_page_has_the_icon(every_page: Documents) -> None:
    for path, page in every_page.items():
        icon = page.select_one("link[rel=icon]")
        assert icon is not None, path.name
        assert (path.parent / str(icon["href"])).is_file(), path.name


def test_chapters_say_what_they_took_and_can_be_downloaded(
    every_page: Documents,
) -> None:
    chapters = [p for p in every_page if p.parent.name == "notebooks"]
    chapters = [p for p in chapters if p.name != "index.html"]
    assert chapters
    for path in chapters:
        line = every_page[path].select_one(".fl-strip")
        assert line is not None and "Computed in" in line.text, path.name
        link = line.select_one("a[download]")
        assert link is not None and str(link["href"]).endswith(f"{path.stem}.ipynb")

"""The site as files: links lead somewhere, pictures have a text, results a source."""

import re
from html import unescape
from pathlib import Path

import pytest

from tools import paths, site_files
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
        if path.name in ("search.html",):
            continue
        said = {
            str(tag["property"]): str(tag["content"])
            for tag in page.select("meta[property^='og:']")
        }
        assert len(said["og:description"]) > 20, path.name
        base = said.get("og:url", "").removesuffix(path.relative_to(site).as_posix())
        assert said.get("og:image") == (f"{base}_static/card.png" if base else None)
    assert (site / "_static" / "card.png").stat().st_size < 300_000


def test_what_hosts_and_crawlers_ask_for_is_there(site: Path) -> None:
    assert "There is no such page" in (site / "404.html").read_text()
    assert (site / "robots.txt").read_text().startswith("User-agent: *\nAllow: /\n")
    assert not (site / "genindex.html").exists()


def test_every_link_of_the_page_for_what_is_not_there_leads_somewhere(
    site: Path,
) -> None:
    page = (site / "404.html").read_text()
    root = re.findall(r'data-content_root="([^"]*)"', page)[0]
    links = re.findall(r'(?:href|src|action)="(/[^"?#]*)', page)
    assert len(links) > 30
    for link in links:
        assert (site / link.removeprefix(root)).is_file(), link


def test_every_page_leads_to_the_licence_and_how_to_cite(
    every_page: Documents, site: Path
) -> None:
    for path, page in every_page.items():
        links = [str(a["href"]) for a in page.select("footer a")]
        to = {(path.parent / link).resolve() for link in links if ":" not in link}
        if path.parent.name == "slides":  # they lead to their chapter, which has it
            leads = {(path.parent / str(a["href"])).resolve() for a in page.select("a")}
            assert site.resolve() / "notebooks" / path.name in leads, path.name
        elif path.name not in ("index.html", "search.html") or path.parent != site:
            assert (site / "book" / "cite.html").resolve() in to, path.name
    said = (site / "book" / "cite.html").read_text()
    for line in (paths.ROOT / "LICENSE").read_text().split("\n\n"):
        assert line.split("\n")[0] in unescape(said)


FIVE = ("FedDisco", "Weighted Aggregation", "Regularized", "FedImpro", "Cross-Silo")


@pytest.mark.parametrize("words", FIVE)
def test_the_five_papers_are_a_click_away(every_page: Documents, words: str) -> None:
    (references,) = [p for path, p in every_page.items() if path.stem == "references"]
    entries = references.find_all(class_="citation") or references.select("dd")
    (entry,) = [e for e in entries if words.lower() in e.text.lower()]
    assert entry.select("a[href^=https]"), words


def test_a_page_of_the_ledger_shows_no_code(every_page: Documents) -> None:
    for path, page in every_page.items():
        if path.stem.startswith("ledger"):
            assert page.select(".cell_output") and not page.select(".cell_input")


def test_folds_are_named_after_what_they_hide(every_page: Documents) -> None:
    for path, page in every_page.items():
        for cell in page.select(".tag_solution"):
            assert "Show the solution" in cell.text, path.name
        for fold in page.select("summary"):
            own, given = bool(fold.text.strip()), bool(fold.get("aria-label"))
            assert own != given, path.name  # an arrow has a name, a word is one


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

"""Files that a published site has besides its pages, on small sites and pages."""

from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools import build, cells, cite, page, paths, publish

SEARCH = """<!DOCTYPE html>
<html lang="en" data-content_root="./">
<head><title>Search</title>
<link href="_static/a.css" />
<script defer src="_static/scorer.js"></script>
<script defer src="_static/searchtools.js"></script>
<script defer src="_static/page.js"></script>
</head>
<body><a href="#main">skip</a><a href="https://example.org/">out</a>
<img src="data:,"><form action="#"></form>
<div class="bd-search-container">
<h1>Search</h1><div id="search-results"></div>
</div>
<script>focus()</script>
<a href="notebooks/index.html">first</a></body></html>"""
ADDRESS = "https://example.org/book"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "search.html").write_text(SEARCH)
    (tmp_path / "index.html").write_text("to the first page")
    (tmp_path / "notebooks" / "a&b.html").write_text("a page")
    return tmp_path


@pytest.mark.parametrize("root", ["/", "/book/"])
def test_a_page_for_what_is_not_there_works_at_any_depth(root: str):
    said = publish.not_found(SEARCH, root)
    assert "There is no such page" in said and "<h1>Search</h1>" not in said
    assert f'href="{root}notebooks/index.html"' in said
    assert f'href="{root}_static/a.css"' in said
    assert f'src="{root}_static/page.js"' in said
    assert f'data-content_root="{root}"' in said
    for as_it_was in ('href="#main"', 'href="https://example.org/"', 'src="data:,"'):
        assert as_it_was in said
    assert "searchtools" not in said and "scorer" not in said
    assert "focus()" not in said and said.count("</script>") == 1
    assert '<meta name="robots" content="noindex" />' in said


def test_without_an_address_nothing_names_one(site: Path):
    publish.publish(site, "")
    assert (site / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert not (site / "sitemap.xml").exists()
    assert 'href="/notebooks/index.html"' in (site / "404.html").read_text()


def test_with_an_address_crawlers_learn_what_there_is(site: Path):
    publish.publish(site, f"{ADDRESS}/")
    robots = (site / "robots.txt").read_text()
    assert robots.endswith(f"\nSitemap: {ADDRESS}/sitemap.xml\n")
    listed = (site / "sitemap.xml").read_text()
    assert listed.count("<loc>") == 1
    assert f"<loc>{ADDRESS}/notebooks/a&amp;b.html</loc>" in listed
    assert 'href="/book/notebooks/index.html"' in (site / "404.html").read_text()


def test_the_licence_and_the_citation_are_those_of_the_files(tmp_path: Path):
    (tmp_path / "LICENSE").write_text("Do as you like.\n")
    (tmp_path / "CITATION.cff").write_text(
        "title: 'Who? A book'\nversion: 1.2\nlicense: MIT\nauthors:\n"
        "- {given-names: Ada, family-names: Lovelace}\n- {name: The others}\n"
        "url: https://example.org/\ndate-released: 2026-02-03\n"
    )
    cite.write(tmp_path, tmp_path / "said")
    said = {path.name: path.read_text() for path in (tmp_path / "said").iterdir()}
    assert said["LICENSE"] == "Do as you like.\n"
    assert said["citation.txt"] == (
        "Ada Lovelace, The others. Who? A book. Version 1.2. https://example.org/\n"
    )
    assert said["citation.bib"].splitlines() == [
        "@software{who,",
        "  title   = {Who? A book},",
        "  author  = {Lovelace, Ada and {The others}},",
        "  version = {1.2},",
        "  year    = {2026},",
        "  license = {MIT},",
        "  url     = {https://example.org/},",
        "}",
    ]


def test_a_picture_for_links_is_absolute_or_left_out():
    bare = page.tags("Title", "What it is about", "", "")
    assert "og:image" not in bare and "og:url" not in bare and "twitter" not in bare
    full = page.tags("Title", "What it is about", f"{ADDRESS}/a.html", f"{ADDRESS}/c")
    assert f'<meta property="og:url" content="{ADDRESS}/a.html" />' in full
    assert f'<meta property="og:image" content="{ADDRESS}/c" />' in full


def test_a_drawing_with_a_narrow_layout_shows_it_on_narrow_screens(tmp_path: Path):
    (tmp_path / "map_narrow.svg").write_text("<svg/>")
    one = '<img alt="A map" src="../_images/map.svg" />'
    other = '<img alt="A plan" src="../_images/plan.svg" />'
    body = page.with_narrow(one + other, tmp_path, "../_static")
    assert body == (
        '<picture><source media="(max-width: 40rem)" '
        f'srcset="../_static/map_narrow.svg">{one}</picture>{other}'
    )


def cell(*tags: str, output: bool = True) -> nodes.container:
    """A cell of code as myst-nb reads it."""
    code = nodes.container(nb_element="cell_code_source")
    shown = [nodes.container(nb_element="cell_code_output")] if output else []
    return nodes.container(
        "",
        code,
        *shown,
        nb_element="cell_code",
        classes=["cell", *tags],
        hide_mode="input",
        prompt_show="Show {type}",
        prompt_hide="Hide {type}",
    )


def arranged(name: str, *those: nodes.container) -> list[Any]:
    document = new_document(name)
    document.extend(those)
    cells.arrange(document, name)
    return document.children


def test_a_fold_says_that_it_hides_a_solution():
    those = (cell(), cell("tag_solution"), cell("tag_runs"))
    plain, solution, runs = arranged("notebooks/01", *those)
    assert plain["prompt_show"] == "Show {type}"
    assert solution["prompt_show"] == "Show the solution"
    assert solution["prompt_hide"] == "Hide the solution"
    assert runs["prompt_show"] == "Show how this is run"


def test_a_page_of_the_ledger_shows_its_tables_and_no_code():
    those = (cell("tag_parameters"), cell(output=False), cell())
    (table,) = arranged("notebooks/ledger_feddisco", *those)
    assert [c["nb_element"] for c in table.children] == ["cell_code_output"]
    assert table["hide_mode"] is None


def test_a_chapter_keeps_its_code():
    those = arranged("notebooks/01", cell("tag_parameters"), cell(output=False))
    assert [len(c.children) for c in those] == [2, 1]


def test_a_page_does_not_wait_for_scripts_or_ask_for_fonts_of_icons():
    said = build.light(
        '<link rel="preload" as="font" href="v/fontawesome/a.woff2" />\n'
        '<script src="v/fontawesome/all.js"></script>\n'
        '<script src="documentation_options.js"></script>'
        '<script defer="defer" src="a.js"></script><script src="b.js"></script>'
        "<script>let here = 1</script>"
    )
    assert said == (
        '<script src="documentation_options.js"></script>'
        '<script defer="defer" src="a.js"></script><script defer src="b.js"></script>'
        "<script>let here = 1</script>"
    )


def test_the_book_says_its_licence():
    known = (paths.ROOT / "CITATION.cff").read_text()
    licence = (paths.ROOT / "LICENSE").read_text().splitlines()[0]
    assert f"license: {licence.split()[0]}\n" in known

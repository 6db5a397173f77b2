"""The checks themselves: each fault, planted in a page that is sound, is found."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from ipywidgets.embed import embed_data
from playwright.sync_api import BrowserContext

from fedlab_book.figures import canvas
from fedlab_book.widgets import Axis, frames
from tests.site.checks import AXE
from tools import moving, paths, site_files, visit
from tools.browser import served

STATIC = paths.ROOT / "book" / "_static"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<script defer src="frames.js"></script><script defer src="page.js"></script></head>
<body><main><h1 id="top">A page</h1>
<p><a href="page.html#top">Up</a> <img src="dot.svg" alt="A dot"></p>
<p class="fl-strip"><code>python -m tools.execute notebooks/page.ipynb</code></p>
<div class="cell"><div class="cell_input"><pre>1 + 1</pre></div>
<div class="cell_output">2</div></div>
<div>{widget}</div>
</main></body></html>"""
DOT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>'


def drawing(height: int):
    fig, ax = canvas(200, 150)
    ax.bar([0], [height])
    return fig, f"One bar of a height that the reader chooses; it is {height} high now."


@pytest.fixture(scope="module")
def sound() -> str:
    """A page with a link, a picture, a result and a widget."""
    widget = frames(drawing, Axis("height", [1, 2, 3]), play=True)
    data: Any = embed_data(views=[widget])
    plt.close("all")
    models, views = data["manager_state"]["state"], data["view_specs"]
    kind = "application/vnd.jupyter.widget-view+json"
    view = f'<script type="{kind}">{json.dumps(views[0])}</script>'
    return PAGE.format(widget=moving.still(view, models))


@pytest.fixture
def write(sound: str, tmp_path: Path):
    """A site of one page, with one thing in it replaced."""
    for script in STATIC.glob("*.js"):
        (tmp_path / script.name).symlink_to(script)
    (tmp_path / "dot.svg").write_text(DOT)

    def write(old: str = "", new: str = "") -> Path:
        assert old in sound
        (tmp_path / "page.html").write_text(sound.replace(old, new) if old else sound)
        return tmp_path

    return write


@contextmanager
def opened(context: BrowserContext, site: Path) -> Iterator[visit.Visit]:
    with (
        served(site) as address,
        visit.opened(context, f"{address}/page.html", patience_s=3) as seen,
    ):
        yield seen


FILES = {
    "a dead link": ("page.html#top", "gone.html", site_files.broken_links),
    "a dead anchor": ("#top", "#gone", site_files.broken_links),
    "a picture without a text": (' alt="A dot"', "", site_files.mute_pictures),
    "a foreign script": (
        "<body>",
        '<body><script src="https://example.org/x.js"></script>',
        site_files.foreign_assets,
    ),
    "a result without a command": ("page.ipynb", "x.ipynb", site_files.unexplained),
    "a result without its source": ("1 + 1", "", site_files.unexplained),
    "two of one name": ("<div>", '<div id="top">', site_files.repeated_ids),
}


@pytest.mark.parametrize("old, new, check", FILES.values(), ids=FILES)
def test_found_in_the_files(write, old: str, new: str, check):
    assert check(site_files.documents(write())) == []
    assert len(check(site_files.documents(write(old, new)))) == 1


def script(text: str) -> tuple[str, str]:
    return "</main>", f"<script>{text}</script></main>"


SEEN = {
    "a console error": (*script("console.error('oops')"), "console: oops"),
    "an exception": (*script("nobody.there()"), "error: nobody is not defined"),
    "a missing file": ("dot.svg", "gone.svg", "404"),
    "a foreign script": (
        "<body>",
        '<body><script src="https://example.org/x.js"></script>',
        "foreign request: https://example.org/x.js",
    ),
    "a foreign request": (
        *script("fetch('https://example.org/').catch(() => 0)"),
        "foreign request: https://example.org/",
    ),
    "a widget without its pictures": ('id="fl-1"', "", "a widget was not drawn"),
    "formulas that never come": (
        *script(
            "document.body.className = 'math';"
            "MathJax = {startup: {promise: new Promise(() => {})}}"
        ),
        "its formulas were not set",
    ),
}


@pytest.mark.browser
@pytest.mark.parametrize("old, new, said", SEEN.values(), ids=SEEN)
def test_found_when_opened(context, write, old: str, new: str, said: str):
    with opened(context, write(old, new)) as seen:
        assert any(said in problem for problem in seen.problems), seen.problems


def _unmarked(seen: visit.Visit) -> list[str]:
    """Parts too wide for a phone, if nobody marks the frames that scroll."""
    page = seen.page
    page.evaluate("() => { markScrollers = () => {} }")
    return visit.not_for_phones(seen)


LOOKED_AT = {
    "a control that is cut off": ("frames.js", "page.js", visit.dead_controls),
    "a player that is cut off": ("frames.js", "page.js", visit.dead_players),
    "a frame that scrolls unseen": (
        "<div><",
        f'<div style="overflow: auto"><p style="width: 900px">{"wide " * 99}</p><',
        _unmarked,
    ),
    "a page too wide": ("<div>", '<div style="width: 900px">', visit.not_for_phones),
    "a picture without a text": (
        ' alt="A dot"',
        "",
        lambda seen: visit.not_accessible(seen, AXE, "light"),
    ),
    "pale text": (
        "<h1",
        '<h1 style="color: #ccc; background: #fff"',
        lambda seen: visit.not_accessible(seen, AXE, "light"),
    ),
    "pale text in the dark, of many alike": (
        "<h1",
        "<style>@media (prefers-color-scheme: dark) { p.one { color: #eee } }</style>"
        '<p>One.</p><p>Two.</p><p class="one">Three.</p><p>Four.</p><h1',
        lambda seen: visit.not_accessible(seen, AXE, "dark"),
    ),
    "a theme that stays": ("<h1", "<h1", visit.stuck_theme),
}


@pytest.mark.browser
@pytest.mark.parametrize("old, new, check", LOOKED_AT.values(), ids=LOOKED_AT)
def test_found_by_looking(context, write, old: str, new: str, check):
    with opened(context, write(old, new)) as seen:
        assert check(seen) != []


@pytest.mark.browser
def test_nothing_is_found_in_a_sound_page(context, write, monkeypatch):
    site = write()
    with opened(context, site) as seen:
        assert seen.problems == []
        assert visit.not_accessible(seen, AXE, "light") == []
        assert visit.not_for_phones(seen) == []
        assert visit.dead_controls(seen) == []
        assert visit.dead_players(seen) == []
        assert visit.too_heavy(seen, site) == []
        monkeypatch.setattr(visit, "MOST_BYTES", 3_000)
        assert visit.too_heavy(seen, site) != []


@pytest.mark.browser
def test_a_fade_that_never_ends_is_not_waited_for(context, write):
    """Chromium now and then leaves a promise of a fade's end without an answer."""
    fade = "document.body.animate([{color: '#000'}, {color: '#111'}], 500)"
    never = (
        f"Object.defineProperty({fade}, 'finished', {{value: new Promise(() => 0)}})"
    )
    with opened(context, write(*script(f"window.kept = {never}"))) as seen:
        for scheme in ("light", "dark"):
            assert not visit.not_accessible(seen, AXE, scheme)
        seen.page.evaluate("requestAnimationFrame = () => 0")
        assert not visit.not_accessible(seen, AXE, "light")

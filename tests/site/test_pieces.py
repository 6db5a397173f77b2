"""The playground away from its page: in chapters, and with a method of one's own."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import fedlab_core as fl
from fedlab_browser.playground import export, own
from fedlab_browser.playground import state as can
from tests.playground.states import BySizeRoot, halved
from tests.site.checks import AXE
from tools.visit import PHONE, not_accessible, opened

pytestmark = pytest.mark.browser

FOLDER = "_static/playground"
CHAPTERS = sorted(p.stem for p in Path("notebooks").glob("0*.ipynb"))
PIECES = {
    "notebooks/01_averaging.html": (["alpha", "epochs"], [], 2),
    "notebooks/02_is_size_the_right_weight.html": (["epochs", "disco.a"], ["weigh"], 2),
}
_ROWS = "document.querySelector('[data-playground]').playground.run.rows"


@pytest.mark.parametrize("place", PIECES)
def test_a_piece_trains_once_it_is_seen(context: BrowserContext, address, place):
    sliders, rows, pictures = PIECES[place]
    with opened(context, f"{address}/{place}") as visit:
        page, root = visit.page, visit.page.locator("[data-playground]")
        expect(root.locator("svg[role=img]")).to_have_count(1)  # the picture
        assert not [url for url in visit.loaded if f"{FOLDER}/" in url]
        root.scroll_into_view_if_needed()
        play = root.get_by_role("button", name="Play", exact=True)
        play.wait_for(timeout=120_000)
        shown = root.locator(".pg-sliders label:visible")
        assert shown.evaluate_all("all => all.map(e => e.dataset.of)") == sliders
        fields = root.locator("fieldset")
        assert fields.evaluate_all("all => all.map(e => e.dataset.of)") == rows
        assert root.locator("figure").count() == pictures
        address_before = page.url
        play.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"{_ROWS}.length >= 2")
        page.keyboard.press("Enter")
        assert page.url == address_before
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for scheme in ("light", "dark"):
            assert not_accessible(visit, AXE, scheme) == []
        assert visit.problems == []


@pytest.mark.parametrize("place", PIECES)
def test_without_scripts_there_is_a_picture(browser: Browser, address, place):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{place}")
    picture = page.locator("[data-playground] svg[role=img]")
    expect(picture).to_be_visible()
    assert len(picture.get_attribute("aria-label") or "") > 40
    context.close()


def test_a_piece_that_cannot_train_leaves_its_picture(browser: Browser, address):
    page = browser.new_page()
    page.route("**/data/rules.json", lambda route: route.abort())
    page.goto(f"{address}/notebooks/01_averaging.html")
    root = page.locator("[data-playground]")
    root.scroll_into_view_if_needed()
    expect(root.get_by_role("alert")).to_contain_text("had to stop", timeout=120_000)
    expect(root.locator("svg[role=img]")).to_be_visible()
    page.close()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_leads_to_a_state_of_the_playground(site: Path, chapter):
    text = (site / "notebooks" / f"{chapter}.html").read_text()
    found = re.findall(r'href="\.\./book/playground\.html\??([^"]*)"', text)
    own_line = [s.replace("&amp;", "&") for s in found]
    assert own_line
    for state in own_line:
        assert can.said(can.parsed(state)) == state


# -- a method of the reader's own --------------------------------------------------


TRAINING = fl.Training(lr=0.1, epochs=5, batch_size=can.BATCH)
HEAVY = fl.Training(
    lr=0.1, epochs=5, batch_size=can.BATCH, momentum=0.5, weight_decay=1e-3
)
OWN = {
    "weigh": fl.fedavg(TRAINING, weigh=BySizeRoot(), name="Root"),
    "server": fl.fedavg(TRAINING, server=fl.Server("half", halved), name="Half"),
    "rule": fl.fedprox(HEAVY, mu=0.2),
}


@pytest.fixture
def data(site: Path, monkeypatch) -> None:
    """The site's own files, so that nothing is traced twice."""
    folder = site / FOLDER / "data"
    kept = {n: (folder / n).read_bytes() for n in export.names()}
    monkeypatch.setattr(own, "kept", lambda: dict(kept))


def played(page: Page, rounds: int) -> list[float]:
    frame = page.main_frame if page.locator("iframe").count() == 0 else page.frames[1]
    frame.get_by_role("button", name="Play", exact=True).wait_for(timeout=120_000)
    for t in range(rounds):
        frame.get_by_role("button", name="One round", exact=True).click()
        frame.wait_for_function(f"{_ROWS}.length > {t}")
    return frame.evaluate(f"{_ROWS}.map(row => row.accuracy)")


@pytest.mark.parametrize("row", OWN)
def test_ones_own_method_has_the_cores_numbers(
    row, data, browser: Browser, address, tmp_path
):
    """In a file that is opened as it is, and in a notebook's frame."""
    method = OWN[row]
    made = fl.playground(method)
    world = can.world_of(can.USUAL)
    core = fl.federate(world, method, 3, progress=False)
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(made.save(tmp_path / "own.html").as_uri())
    mine = played(page, 3)
    assert mine == pytest.approx([r["accuracy"] for r in core.rows], abs=0.0021)
    label = page.locator(f"fieldset[data-of={row}] input:checked").locator("..")
    named = {"rule": "FedProx, yours", "weigh": "root of size", "server": "half"}
    expect(label).to_have_text(named[row])
    page.goto(f"{address}/robots.txt")
    page.set_content(made._repr_html_())
    assert played(page, 1) == mine[:1]
    high = page.locator("iframe").evaluate("frame => frame.clientHeight")
    assert high > 600  # it fits what is in it
    assert problems == []
    foreign = [
        u for u in asked if not u.startswith(("file:", "blob:", "data:", address))
    ]
    assert foreign == []
    page.close()

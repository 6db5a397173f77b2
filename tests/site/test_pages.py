"""Every page in a browser: nothing fails, everything moves, everybody can read it.

A page is opened once; each check on it is a test with a name of its own.
"""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.site.checks import NAMES
from tools.visit import PHONE, opened

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("check", NAMES)
def test_page(findings, page_name: str, check: str) -> None:
    assert findings(page_name)[check] == []


def test_the_front_leads_to_the_first_page(context, address: str) -> None:
    page = context.new_page()
    page.goto(f"{address}/index.html")
    page.wait_for_url("**/notebooks/index.html")
    assert page.locator("h1").first.inner_text().startswith("Who counts?")
    page.close()


def found(context: BrowserContext, address: str, words: str) -> list[tuple[str, str]]:
    """Results of a search, best first: the link and the text of each."""
    with opened(context, f"{address}/search.html?q={words}") as visit:
        results = visit.page.locator("#search-results li")
        expect(results.first.locator("p.context")).to_be_visible()
        assert visit.problems == []
        return [
            (str(result.locator("a").first.get_attribute("href")), result.inner_text())
            for result in results.all()
        ]


@pytest.mark.parametrize("words", ["FedDisco", "SCAFFOLD", "gamma", "rFedAvg"])
def test_search_finds_chapters_first(context, address: str, words: str) -> None:
    (first, _), *_ = found(context, address, words)
    assert re.search(r"notebooks/\d\d_", first)


@pytest.mark.parametrize(
    "words, page",
    [
        ("FedDisco table 1", "ledger_feddisco"),
        ("rFedAvg table 2", "ledger_rfedavg"),
        ("FedLAW claim", "ledger_fedlaw"),
    ],
)
def test_search_for_a_table_finds_the_ledger(context, address, words, page) -> None:
    leads = [where for where, _ in found(context, address, words)[:2]]
    assert any(page in where for where in leads), leads


@pytest.mark.parametrize(
    "words, page",
    [
        ("your own data", "your_own_data"),
        ("glossary", "glossary"),
        ("feddisco", "is_size_the_right_weight"),
        ("GPU", "beyond_one_machine"),
        ("seed", "glossary"),
        ("what is not here", "what_is_not_here"),
        ("TensorBoard", "keep_and_continue"),
        ("regression", "your_own_training"),
        ("callback", "keep_and_continue"),
        ("save model", "keep_and_continue"),
        ("DataLoader", "what_is_not_here"),
        ("Hugging Face", "what_is_not_here"),
        ("HuggingFace", "what_is_not_here"),
        ("Windows", "what_is_not_here"),
    ],
)
def test_a_page_that_is_asked_for_is_found_first(context, address, words, page) -> None:
    (first, _), *_ = found(context, address, words)
    assert re.search(rf"/(\d\d_)?{page}\.html", first), first


def test_what_the_search_shows_can_be_read(context, address: str) -> None:
    results = found(context, address, "FedDisco")
    assert len(results) > 5
    for where, said in results:
        assert "import " not in said and "Show source" not in said, where


MOST_SHEETS = 45  # A4; the longest took 110 once


@pytest.mark.parametrize("paper", ["feddisco", "fedlaw", "rfedavg"])
def test_a_page_of_the_ledger_prints_on_few_sheets(context, address, paper) -> None:
    with opened(context, f"{address}/notebooks/ledger_{paper}.html") as visit:
        folds = "document.querySelectorAll('main details:not([open])').length"
        closed = visit.page.evaluate(folds)
        printed = visit.page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= MOST_SHEETS
        assert closed and visit.page.evaluate(folds) == closed


_OVER = """thing => {
    const frame = thing.closest('.fl-scroll, .pst-scrollable-table-container') ?? thing;
    return frame.scrollWidth - frame.clientWidth;
}"""


@pytest.mark.parametrize(
    "name, what",
    [
        ("notebooks/index.html", "figure picture img"),
        ("notebooks/08_everyone_on_one_field.html", "svg[aria-label^='A table of']"),
        ("book/glossary.html", "table.fl-stack"),
    ],
)
def test_fits_a_phone_whole(browser: Browser, address, name: str, what: str) -> None:
    """Without scrolling sideways: the map, the field of chapter 8, the glossary."""
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(f"{address}/{name}?reveal")  # what stands in an answer, too
    for thing in page.locator(what).all():
        thing.scroll_into_view_if_needed()
        box = thing.bounding_box()
        assert box is not None and box["width"] <= PHONE["width"] - 32
        assert thing.evaluate(_OVER) <= 2
    assert page.locator(what).count()
    context.close()


def test_nothing_waits_for_a_script(browser: Browser, address: str) -> None:
    """The page is painted, its first picture in place, while scripts are held back;
    what the reader has moved by then is not lost."""
    context = browser.new_context(reduced_motion="reduce")
    page, held, let_go = context.new_page(), [], []
    late = re.compile(r"^(?!.*documentation_options).*\.js\b")
    page.route(late, lambda r: r.continue_() if let_go else held.append(r))
    page.goto(f"{address}/notebooks/index.html", wait_until="commit")
    for _ in range(2400):
        if len(held) >= 5:
            break
        page.wait_for_timeout(50)
    assert len(held) >= 5
    page.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length"
    )
    picture = page.locator(".fl-frames .fl-stage svg").first
    assert picture.is_visible()
    before = str(picture.get_attribute("aria-label"))
    page.locator(".fl-control input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("aria-label", before)
    let_go.append(True)
    for route in held:
        route.continue_()
    expect(picture).not_to_have_attribute("aria-label", before)
    context.close()


def test_the_first_page_moves_by_itself_and_can_be_stopped(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html")
    stage = page.locator(".fl-auto .fl-stage")
    play = page.locator(".fl-auto .fl-play")
    expect(play).to_have_attribute("aria-label", "Pause")
    expect(stage).to_have_attribute("aria-live", "off")
    page.locator(".fl-auto input").focus()
    page.keyboard.press("ArrowRight")
    expect(play).to_have_attribute("aria-label", "Play")
    expect(stage).to_have_attribute("aria-live", "polite")
    context.close()


def test_a_tour_of_the_first_page_ends_where_it_began(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html")
    picture = page.locator(".fl-auto .fl-stage svg")
    home = str(picture.get_attribute("aria-label"))
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    expect(picture).not_to_have_attribute("aria-label", home)
    play = page.locator(".fl-auto .fl-play")
    expect(play).to_have_attribute("aria-label", "Play", timeout=120_000)
    expect(picture).to_have_attribute("aria-label", home)
    context.close()

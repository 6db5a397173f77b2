"""A thin chapter as its reader has it: few words, few pictures, controls with names."""

import pytest
from playwright.sync_api import BrowserContext, Page

from fedlab_book.findings import Row, finding
from tests.thin_cases import MOST, THIN
from tools import paths
from tools.visit import PHONE, answered, opened

pytestmark = pytest.mark.browser

CONTROLS = range(2, 7)  # sliders, pieces that train, and questions
ARTICLE = "article.bd-article"

# Words that are painted, without numbers, code, formulas and what is in pictures.
WORDS = """article => {
    const apart = 'pre, svg, script, style, .math, mjx-container, .headerlink';
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    let said = '';
    while (texts.nextNode()) {
        const around = texts.currentNode.parentElement;
        const fold = around.closest('details:not([open])');
        const folded = fold && !around.closest('summary');
        const painted = around.checkVisibility({ visibilityProperty: true });
        if (!folded && painted && !around.closest(apart))
            said += ' ' + texts.currentNode.textContent;
    }
    return said.match(/[^\\s]*\\p{L}[^\\s]*/gu)?.length ?? 0;
}"""

thin = pytest.mark.parametrize("name", THIN)


def words(page: Page) -> int:
    return page.locator(ARTICLE).evaluate(WORDS)


def names(page: Page, role: str) -> list[str]:
    """Names that a screen reader is told, of everything with that role."""
    session = page.context.new_cdp_session(page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        node.get("name", {}).get("value", "").strip()
        for node in tree
        if node.get("role", {}).get("value") == role and not node["ignored"]
    ]


@thin
def test_words_on_view_are_few(context: BrowserContext, address, name) -> None:
    """With every question answered; what is folded away is not on view."""
    with opened(context, f"{address}/notebooks/{name}.html") as visit:
        closed = words(visit.page)
        answered(visit)
        assert 500 < closed < words(visit.page) <= MOST["words on view"]


def test_words_are_counted_where_they_are_seen(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content(
        "<article class=bd-article><p>One <b>two</b> it's 3.5</p><pre>code</pre>"
        "<details><summary>five</summary>folded words</details>"
        "<p style='display: none'>hidden</p> – <svg><text>label</text></svg>"
        "<p style='visibility: hidden'>as in a fold of the theme's</p></article>"
    )
    assert words(page) == 4
    page.close()


@thin
def test_figures_are_few(context: BrowserContext, address, name) -> None:
    """Each piece counts as one, whether it is live by now or still a picture."""
    inside, outside = "[data-playground]", "figure:not([data-playground] figure)"
    with opened(context, f"{address}/notebooks/{name}.html") as visit:
        seen = visit.page.locator(ARTICLE).locator(f"{inside}, {outside}")
        still = seen.count()
        answered(visit)
        for piece in visit.page.locator(inside).all():
            piece.scroll_into_view_if_needed()
        visit.page.locator(f"{inside} .pg-all").first.wait_for()
        assert 1 < seen.count() == still <= MOST["figures"]


# Pictures and tables that are wider than the frame that they stand in.
CUT = """article => [...article.querySelectorAll('.fl-scroll')]
    .filter(frame => frame.scrollWidth > frame.clientWidth + 2)
    .map(frame => frame.outerHTML.slice(0, 120))"""


@thin
def test_nothing_has_to_be_scrolled_sideways_on_a_phone(context, address, name) -> None:
    """But for code. Answered, so that every picture is there."""
    with opened(context, f"{address}/notebooks/{name}.html") as visit:
        answered(visit)
        visit.page.set_viewport_size(PHONE)
        assert visit.page.locator(ARTICLE).evaluate(CUT) == []
        visit.page.set_viewport_size({"width": 200, "height": 844})
        assert visit.page.locator(ARTICLE).evaluate(CUT) != []


def test_intervals_fit_a_phone_whatever_their_digits(context: BrowserContext) -> None:
    """A table's numbers are the run's: one of more digits takes another line."""
    css = (paths.ROOT / "book" / "_static" / "book.css").read_text()
    values = [-1234.56, -1034.56, -834.56]
    row = Row("only less sure minus smaller steps, uneven", values, (-36.94, 2.06))
    shown = finding("So.", [row], holds=True, digits=2)
    page = context.new_page()
    page.set_viewport_size(PHONE)
    body = f"<article class='bd-article bd-content'>{shown.data}</article>"
    page.set_content(f"<style>{css}</style>{body}")
    assert page.locator(ARTICLE).evaluate(CUT) == []
    plain = css.replace("white-space: normal", "white-space: nowrap")
    page.set_content(f"<style>{plain}</style>{body}")
    assert page.locator(ARTICLE).evaluate(CUT) != []
    page.close()


def own(found: list[str]) -> bool:
    """Whether there are some, and each has a name that no other has."""
    return bool(found) and all(found) and len(set(found)) == len(found)


WITHOUT_PIECES = (
    "document.querySelectorAll('[data-playground]').forEach(p => p.remove())"
)


@thin
def test_every_control_has_a_name_of_its_own(
    context: BrowserContext, address, name
) -> None:
    with opened(context, f"{address}/notebooks/{name}.html") as visit:
        page = visit.page
        answered(visit)  # what waits for an answer is open
        pieces = page.locator("[data-playground]").count()
        page.evaluate(WITHOUT_PIECES)  # the playground's own tests have their names
        sliders, boxes = names(page, "slider"), page.locator(f"{ARTICLE} .fl-predict")
        questions = boxes.locator("> p:first-of-type").all_inner_texts()
        assert own(questions) and own(names(page, "radio"))
        assert own(sliders) or not sliders
        assert set(questions) <= set(names(page, "group"))
        buttons = page.locator(f"{ARTICLE} .fl-control > [role=group]").count()
        controls = page.locator(f"{ARTICLE} .fl-control").count()
        assert controls == len(sliders) + buttons
        assert len(sliders) + pieces + len(questions) in CONTROLS


def test_names_are_those_that_the_browser_has(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content(
        "<label for=a>γ</label><input id=a type=range><input type=range>"
        "<p id=b>Why?</p><fieldset aria-labelledby=b><legend>First</legend></fieldset>"
    )
    assert names(page, "slider") == ["γ", ""] and names(page, "group") == ["Why?"]
    assert not own(["γ", ""]) and not own(["γ", "γ"]) and not own([])
    page.close()

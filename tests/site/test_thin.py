"""A thin chapter as its reader has it: few words, few pictures, controls with names."""

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.thin_cases import THIN
from tools.visit import answered, opened

pytestmark = pytest.mark.browser

MAX_WORDS, MAX_FIGURES, CONTROLS = 3000, 8, range(2, 5)
ARTICLE = "article.bd-article"

# Text that is painted, without code, formulas and what stands inside pictures.
WORDS = """article => {
    const apart = 'pre, svg, script, style, .math, mjx-container, .headerlink';
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    let said = '';
    while (texts.nextNode()) {
        const around = texts.currentNode.parentElement;
        if (!around.closest(apart) && around.checkVisibility())
            said += ' ' + texts.currentNode.textContent;
    }
    return said.match(/[\\p{L}\\p{N}][^\\s]*/gu)?.length ?? 0;
}"""
FIGURES = ".fl-frames, figure:not(.fl-frames figure)"
MOVED = "input:not([type=radio]), select, fieldset:not(.fl-predict)"

thin = pytest.mark.parametrize("name", THIN)


def words(page: Page) -> int:
    return page.locator(ARTICLE).evaluate(WORDS)


def names(page: Page, role: str) -> list[str]:
    """What a screen reader calls each control of that role, as the browser has it."""
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
        assert 500 < closed < words(visit.page) <= MAX_WORDS


def test_words_are_counted_where_they_are_seen(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content(
        "<article class=bd-article><p>One <b>two</b> it's 3.5</p><pre>code</pre>"
        "<details><summary>five</summary>folded words</details>"
        "<p style='display: none'>hidden</p> – <svg><text>label</text></svg></article>"
    )
    assert words(page) == 5
    page.close()

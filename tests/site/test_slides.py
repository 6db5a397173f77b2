"""A chapter's six slides: on a projector, on a screen, on paper, without a script."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.site.checks import AXE
from tools import course, paths
from tools.visit import not_accessible, opened

pytestmark = pytest.mark.browser

CHAPTERS = [path.stem for path in course.chapters(paths.ROOT)]
SCREENS: list[ViewportSize] = [
    {"width": 1280, "height": 720},
    {"width": 1920, "height": 1080},
]
LEAST = 14  # pixels of a letter on the smaller screen
every = pytest.mark.parametrize("name", CHAPTERS)

# What does not fit the slide that is shown, and its smallest letters.
_OVER = """() => {
    const body = document.querySelector('.now .fl-slide-body');
    const page = document.documentElement, inside = body.getBoundingClientRect();
    return [
        body.scrollHeight - body.clientHeight, body.scrollWidth - body.clientWidth,
        page.scrollHeight - innerHeight, page.scrollWidth - innerWidth,
        inside.bottom - innerHeight, inside.right - innerWidth,
    ].filter((over) => over > 0);
}"""
_SMALLEST = """() => {
    const texts = document.createTreeWalker(
        document.querySelector('.now .fl-slide-fit'), NodeFilter.SHOW_TEXT);
    let least = Infinity;
    while (texts.nextNode()) {
        const { currentNode: text } = texts, around = text.parentElement;
        if (!text.data.trim() || around.closest('svg, mjx-container, .pg')) continue;
        if (!around.checkVisibility({ visibilityProperty: true })) continue;
        const line = document.createRange();
        line.selectNodeContents(text);
        const [{ height }] = line.getClientRects();
        least = Math.min(least, height / 1.2);
    }
    return least;
}"""


@contextmanager
def deck(context: BrowserContext, address: str, name: str, at="") -> Iterator[Page]:
    with opened(context, f"{address}/slides/{name}.html{at}") as visit:
        yield visit.page
        assert visit.problems == []


@every
@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: str(s["width"]))
def test_six_slides_fit_the_screen(browser: Browser, address, name, screen) -> None:
    context = browser.new_context(viewport=screen, reduced_motion="reduce")
    with deck(context, address, name, "?slide=1") as page:
        assert page.locator(".fl-slide").count() == 6
        for i in range(1, 7):
            slide = page.locator(f"#slide-{i}.now")
            expect(slide).to_be_visible()
            piece = slide.locator("[data-playground], .fl-frames")
            if slide.locator(".fl-frames").count():
                picture = piece.locator("svg[role=img]").first
                before = str(picture.get_attribute("aria-label"))
                slide.get_by_role("slider").first.press("ArrowRight")
                expect(picture).to_be_visible()
                expect(picture).not_to_have_attribute("aria-label", before)
            elif piece.count():
                piece.get_by_role("button", name="Play", exact=True).wait_for()
                expect(piece.locator("svg[role=img]").first).to_be_visible()
            else:
                assert len(slide.locator(".fl-slide-fit").inner_text()) > 40
                assert page.evaluate(_SMALLEST) >= LEAST * screen["height"] / 720
            if (answers := slide.get_by_role("radio")).count() and not piece.count():
                answers.first.check()  # its reason is told
                expect(slide.locator(".fl-told")).not_to_be_empty()
            page.wait_for_function(f"!({_OVER})().length")
            page.keyboard.press("PageDown")
    context.close()


def test_a_slide_that_is_too_full_is_seen(context: BrowserContext, address) -> None:
    with deck(context, address, CHAPTERS[0], "?slide=1") as page:
        page.locator("#slide-1 .fl-slide-fit").evaluate(
            "fit => { fit.textContent = 'word '.repeat(9000); }"
        )
        page.wait_for_timeout(500)
        assert page.evaluate(_OVER) or page.evaluate(_SMALLEST) < LEAST


def test_keys_turn_the_slides_and_lead_back(context: BrowserContext, address) -> None:
    with deck(context, address, CHAPTERS[0]) as page:
        shown = page.locator(".fl-slide:visible")
        assert shown.count() == 6
        page.keyboard.press("ArrowRight")
        for keys, at in (
            (["ArrowRight"], 2),
            (["ArrowDown", " "], 4),
            (["ArrowLeft"], 3),
            (["End", "ArrowRight"], 6),
            (["Home", "ArrowLeft"], 1),
        ):
            for key in keys:
                page.keyboard.press(key)
            expect(shown).to_have_attribute("id", f"slide-{at}")
            assert page.url.endswith(f"?slide={at}")
        expect(page.locator(".fl-deck-tools [role=status]")).to_have_text("1 of 6")
        page.keyboard.press("Escape")
        expect(shown).to_have_count(6)
        assert "slide=" not in page.url
        page.get_by_role("button", name="Show one at a time").click()
        page.get_by_role("button", name="Next").click()
        expect(shown).to_have_attribute("id", "slide-2")


def test_an_answer_is_chosen_and_hands_are_counted(context, address) -> None:
    with deck(context, address, CHAPTERS[0], "?slide=3") as page:
        hands = page.get_by_role("spinbutton")
        assert hands.count() == page.locator("#slide-3").get_by_role("radio").count()
        hands.first.fill("7")
        page.keyboard.press("ArrowUp")  # a number's own key
        expect(hands.first).to_have_value("8")
        expect(page.locator("#slide-3.now")).to_be_visible()
        page.locator("#slide-3").get_by_role("radio").last.check()
        expect(page.locator(".fl-told")).to_contain_text("Yes.")


def test_a_piece_trains_on_its_slide(context: BrowserContext, address) -> None:
    with deck(context, address, CHAPTERS[0], "?slide=2") as page:
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_function(
            "document.querySelector('[data-playground]').playground.run.rows.length > 1"
        )
        page.wait_for_function(f"!({_OVER})().length")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_a_slide(context: BrowserContext, address, scheme) -> None:
    for i in range(1, 7):
        at = f"{address}/slides/{CHAPTERS[3]}.html?slide={i}"
        with opened(context, at) as visit:
            if i == 2:
                visit.page.get_by_role("button", name="Play", exact=True).wait_for()
            assert not_accessible(visit, AXE, scheme) == []


def test_it_is_a_page_without_script_and_on_paper(browser: Browser, address) -> None:
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(f"{address}/slides/{CHAPTERS[0]}.html?slide=2")
    assert page.locator(".fl-slide:visible").count() == 6
    assert page.locator(".fl-predict label:visible").count() > 2
    plain.close()
    page = browser.new_page()
    page.goto(f"{address}/slides/{CHAPTERS[0]}.html?slide=2")
    page.locator("#slide-2.now").wait_for()
    page.emulate_media(media="print")
    assert page.locator(".fl-slide:visible").count() == 6
    page.close()

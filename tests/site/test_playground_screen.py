"""The playground's page on a screen: what is in view, and what is drawn."""

import pytest
from playwright.sync_api import Page, expect

from fedlab_browser.playground import state as can
from tests.site.hands import CHOSEN, PICTURED, ROWS, more, press, rounds_played, row_of
from tests.site.playing import PLACE
from tools.visit import PHONE

pytestmark = pytest.mark.browser

HELD = ".pg figure[data-of=clients] > svg"


def in_full_view(page: Page, *places: str) -> list[str]:
    """Places that are not on the screen as a whole."""
    return page.evaluate(
        """places => places.filter(place => {
            const box = document.querySelector(place).getBoundingClientRect();
            return box.top < -1 || box.bottom > innerHeight + 1 || !box.height;
        })""",
        list(places),
    )


@pytest.mark.parametrize("size", [(1366, 768), (1280, 720)])
def test_a_laptops_screen_has_all_of_it(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.locator(".pg-story")).to_be_hidden()  # nothing was asked for yet
    for played in (False, True):
        if played:
            press(page, "One round")
            rounds_played(page, 1)
        every = [".pg-play", HELD, *PICTURED, *CHOSEN, ".pg-seen", ".pg-goal"]
        assert in_full_view(page, *every) == []
        assert page.evaluate("scrollY") == 0


def test_on_a_phone_the_pictures_stay_while_a_choice_is_made(page):
    page.set_viewport_size(PHONE)
    assert in_full_view(page, ".pg-play", *PICTURED) == []
    page.locator(CHOSEN[-1]).evaluate("e => e.scrollIntoView({block: 'end'})")
    assert page.evaluate("scrollY") > 100
    assert in_full_view(page, ".pg-play", *PICTURED, CHOSEN[-1]) == []


def test_it_fits_a_phone_while_it_plays(page):
    page.set_viewport_size(PHONE)
    press(page, "One round")
    rounds_played(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    small = page.locator(".pg button:visible, .pg-options label:visible")
    heights = small.evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 24


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pictures_cover_nothing_that_stands_below(page, width):
    page.set_viewport_size({"width": width, "height": 720})
    press(page, "One round")
    rounds_played(page, 1)
    page.locator(".pg-code").evaluate("e => e.scrollIntoView({block: 'end'})")
    apart = page.evaluate(
        """() => {
            const [below, stage] = [".pg-below", ".pg-stage"].map(
                place => document.querySelector(place).getBoundingClientRect());
            return below.top - stage.bottom;
        }"""
    )
    assert apart >= 0


def test_all_in_one_place_is_drawn_beside(page):
    page.get_by_label("all in one place").check()
    line = page.locator("path.pooled")
    expect(line).to_have_count(1)
    told = page.locator(f"{PICTURED[1]}").get_attribute("aria-label")
    assert told and "All letters in one place" in told
    page.get_by_label("all in one place").uncheck()
    expect(line).to_have_count(0)


def test_letters_by_rounds_are_a_picture_instead_of_the_curve(page, address):
    page.goto(f"{address}/{PLACE}?present=0.2&alpha=0.05")
    page.locator(".pg-play").wait_for()
    page.get_by_label("Curve of").select_option("letters")
    for t in (1, 2):
        press(page, "One round")
        rounds_played(page, t)
    picture = page.locator(PICTURED[1])
    expect(picture.locator("rect")).to_have_count(20)
    absent = page.evaluate(  # of a letter, those who take part hold under a twentieth
        f"""(() => {{
            const {{ held }} = document.querySelector("[data-playground]").playground;
            const of = (counts, c) => counts.reduce((sum, n) => sum + n[c], 0);
            return {ROWS}.flatMap(({{ clients }}) => {{
                const there = held.counts.filter(
                    (_, k) => clients[k].weight !== undefined);
                return held.counts[0].map((_, c) =>
                    of(there, c) < of(held.counts, c) / 20);
            }}).filter(gone => gone).length;
        }})()"""
    )
    assert absent > 0
    expect(picture.locator("circle")).to_have_count(absent)
    page.get_by_label("Curve of").select_option("accuracy")
    expect(picture.locator("path.run")).to_have_count(1)


def test_the_same_choices_are_one_curve_and_one_colour(page):
    for name in ("size", "equal", "size"):
        row_of(page, "weigh").get_by_text(name, exact=True).click()
        press(page, "One round")
        rounds_played(page, 1)
    expect(page.locator(".pg-runs li")).to_have_count(2)
    colours = page.locator("path.run").evaluate_all(
        "all => all.map(e => e.getAttribute('stroke'))"
    )
    assert len(set(colours)) == 2


def test_earlier_runs_are_kept_beside_and_can_be_forgotten(page):
    press(page, "One round")
    rounds_played(page, 1)
    row_of(page, "weigh").get_by_text("equal").click()
    press(page, "One round")
    rounds_played(page, 1)
    expect(page.locator(".pg-runs li")).to_have_count(2)
    assert page.locator("path.run").count() == 2
    page.get_by_role("button", name="Forget").press("Enter")
    expect(page.locator(".pg-runs li")).to_have_count(1)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()


def test_a_run_that_has_no_room_any_more_is_told(page):
    more(page)
    for name in list(can.CHOICES["rule"])[:7]:
        row_of(page, "rule").locator(f"[value='{name}']").check(force=True)
        press(page, "One round")
        rounds_played(page, 1)
    runs = page.locator(".pg-runs li")
    expect(runs).to_have_count(7)
    expect(runs.last).to_contain_text("the oldest is gone, FedAvg")


def test_learnt_weights_are_marked_and_gamma_is_said(page):
    press(page, "One round")
    rounds_played(page, 1)
    clients = page.locator(".pg figure[data-of=clients]")
    expect(clients.locator("rect.learnt")).to_have_count(0)
    more(page)
    row_of(page, "server").get_by_text("FedLAW").click()
    expect(page.get_by_label("Server’s epochs")).to_be_visible()
    press(page, "One round")
    rounds_played(page, 1)
    expect(clients.locator("rect.learnt")).to_have_count(10)
    (learnt,) = page.evaluate(f"{ROWS}[0].learnt")
    expect(page.locator(".pg-stage")).to_contain_text(f"γ = {learnt['gamma']:.3f}")
    told = clients.get_by_role("img").get_attribute("aria-label")
    assert told and "learnt weight" in told and "γ = " in told

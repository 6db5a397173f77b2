"""The playground's stories, as a reader plays them."""

import pytest
from playwright.sync_api import expect

from fedlab_browser.playground import state as can
from fedlab_browser.playground.presets import PRESETS
from tests.site.hands import ROWS, fast, press, rounds_played
from tests.site.playing import PLACE

pytestmark = pytest.mark.browser

_ENDS = """what => {
    const {run, until} = document.querySelector('[data-playground]').playground;
    const last = run.rows.slice(until - 5, until);
    return last.reduce((sum, row) => sum + (row[what] ?? row.plane[what]) / 5, 0);
}"""


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.title)
def test_a_story_is_so_on_the_readers_screen(page, preset):
    """Both halves, by the page's seed and division, as far as Play goes by itself."""
    fast(page)
    page.get_by_role("link", name=preset.title, exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()
    now = page.evaluate("document.querySelector('[data-playground]').playground.state")
    assert now == can.parsed(preset.state)
    story, means = page.locator(".pg-story"), []
    expect(story).to_contain_text(preset.look)
    expect(page.get_by_label("Curve of")).to_have_value(preset.what)
    for half in ("state", "beside"):
        press(page, "Play")
        rounds_played(page, preset.rounds)
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        assert page.evaluate(f"{ROWS}.length") == preset.rounds
        means.append({what: page.evaluate(_ENDS, what) for what in preset.promised})
        expect(page.locator("path.mean-of")).to_have_count(len(means))
        if half == "state":
            story.get_by_role("link").click()
    now = page.evaluate("document.querySelector('[data-playground]').playground.state")
    assert now == can.parsed(preset.beside)
    for what, above in preset.promised.items():
        assert (means[0][what] > means[1][what]) == above, (what, means)
    said = f"Rounds {preset.rounds - 4} to {preset.rounds}, mean: {preset.named} "
    expect(story).to_contain_text(said)
    expect(page.locator(".pg-goal")).to_be_hidden()  # that is of other clients
    expect(story.get_by_role("link")).to_contain_text(f"Back to: {preset.title}")


def test_the_way_back_from_a_story(page):
    page.get_by_role("link", name=PRESETS[0].title, exact=True).click()
    page.locator(".pg-story").get_by_role("link").click()
    page.go_back()
    press(page, "One round")
    rounds_played(page, 1)
    page.go_back()
    expect(page.locator(".pg-now")).to_contain_text("Round 0")
    assert page.url.endswith(PLACE)
    expect(page.locator(".pg-story")).to_be_hidden()

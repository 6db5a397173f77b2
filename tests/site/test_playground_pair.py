"""Two federations side by side: one seed, one division, in step; five seeds of both."""

import json
import re
from collections.abc import Iterator
from html import escape

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from fedlab_browser.playground import state as can
from fedlab_core.metrics import mean_interval
from tests.site.checks import AXE
from tests.site.hands import PICTURED, ROWS, fast, press, rounds_played, row_of
from tests.site.playing import FOLDER, in_the_core, in_the_page
from tests.site.test_playground_screen import in_full_view
from tools.visit import PHONE, not_accessible

pytestmark = pytest.mark.browser

_GAME = "document.querySelector('[data-playground]').playground"
_BOTH = f"{_GAME}.pair.map(run => run.rows.map(row => row.accuracy))"
# Rounds of two states in turn, as the worker plays them, with the models of each.
_TWO = """async ([place, states, rounds]) => {
    const { Federation, load } = await import(`${place}/federation.js`);
    const worlds = globalThis.worlds ??= {}, world = worlds.true ??= await load();
    const begin = (s, at) => Federation.begin(world, s, at);
    const games = await Promise.all(states.map(begin));
    for (let t = 0; t < rounds; t++) for (const game of games) game.round();
    const numbers = (model) => Object.entries(model).map(([n, v]) => [n, [...v]]);
    return games.map(game => ({
        first: Object.values(game.first).flatMap(v => [...v]), held: game.held,
        model: Object.fromEntries(numbers(game.model[0])),
    }));
}"""


@pytest.fixture
def piece(browser: Browser, address: str) -> Iterator[Page]:
    """A page with a piece that has a second federation and five seeds."""
    options = {"state": "split=big&weigh=equal", "rows": [], "sliders": ["epochs"]}
    options |= {"pictures": ["plane", "curve"], "until": 20, "seeds": True}
    told = escape(json.dumps(options | {"beside": {"weigh": "size"}}), quote=True)
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/robots.txt")
    page.set_content(
        f"<link rel=stylesheet href='/{FOLDER}/playground.css'>"
        f"<main><div data-playground='{told}'></div></main>"
    )
    page.evaluate(
        f"import('/{FOLDER}/playground.js').then("
        "({ begin }) => begin(document.querySelector('[data-playground]')))"
    )
    page.locator(".pg-play").wait_for()
    yield page
    page.close()


def compare(page: Page) -> None:
    press(page, "Compare")
    row_of(page, "weigh").get_by_text("equal", exact=True).click()


def turned(page: Page, slider: str) -> None:
    page.locator(f".pg-slider[data-of={slider}] input").press("ArrowRight")


def test_two_that_take_turns_have_each_its_own_numbers(page):
    """As if each played alone, and from one first model on one division."""
    states = [can.parsed(t) for t in ("split=wrong", "split=wrong&rule=fedimpro")]
    two = page.evaluate(_TWO, [f"/{FOLDER}", states, 3])
    assert two[0]["first"] == two[1]["first"] and two[0]["held"] == two[1]["held"]
    for state, mine in zip(states, two, strict=True):
        alone = in_the_page(page, state, 3)["models"][0]
        core = in_the_core(state, 3).states
        for name, values in mine["model"].items():
            assert values == alone[name]
            found, want = np.array(values), core[name][0].numpy().ravel()
            assert np.linalg.norm(found - want) <= 1e-5 * np.linalg.norm(want)


def test_both_play_in_step_and_are_named_by_their_difference(page):
    compare(page)
    for t in (1, 2):
        press(page, "One round")
        rounds_played(page, t)
    both, states = (
        page.evaluate(_BOTH),
        page.evaluate(f"{_GAME}.pair.map(r => r.state)"),
    )
    assert [len(rows) for rows in both] == [2, 2]
    for mine, state in zip(both, states, strict=True):
        core = [row["accuracy"] for row in in_the_core(state, 2).rows]
        assert mine == pytest.approx(core, abs=0.0021)
    assert states == [{**can.USUAL, "weigh": "equal"}, can.USUAL]
    tags = page.locator("figure[data-of=curve] .pg-tag span")
    assert tags.all_inner_texts() == ["counts equally", "counts by size"]
    expect(page.locator("path.run.now")).to_have_count(2)
    expect(page.locator("figure[data-of=plane] > svg:visible")).to_have_count(2)
    press(page, "Restart")
    assert page.evaluate(_BOTH) == [[], []]


def test_a_change_acts_on_the_first_or_on_both(page):
    compare(page)
    turned(page, "epochs")
    turned(page, "alpha")
    states = page.evaluate(f"{_GAME}.pair.map(r => [r.state.epochs, r.state.alpha])")
    assert states == [[8, 0.2], [5, 0.2]]  # the division is of both
    page.get_by_label("a change acts on both").check()
    turned(page, "epochs")
    assert page.evaluate(f"{_GAME}.pair.map(r => r.state.epochs)") == [12, 12]
    weighs = page.evaluate(f"{_GAME}.pair.map(r => r.state.weigh)")
    assert weighs == ["equal", "size"]
    press(page, "Compare")
    assert page.evaluate(f"{_GAME}.pair.length") == 1


def test_two_are_compared_with_keys_alone(page):
    page.get_by_role("button", name="Compare", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_label("a change acts on both")).to_be_checked()
    page.locator(".pg-play").focus()
    page.keyboard.press("Enter")
    rounds_played(page, 1)
    page.keyboard.press("Enter")
    expect(page.locator(".pg-said")).to_contain_text("by this seed")


@pytest.mark.parametrize("size", [(1366, 768), (1280, 720), tuple(PHONE.values())])
def test_two_are_in_view_together(visit, size):
    page = visit.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    compare(page)
    press(page, "One round")
    rounds_played(page, 1)
    weigh = ".pg-controls [data-of=weigh]"
    page.locator(weigh).evaluate("e => e.scrollIntoView({block: 'end'})")
    assert in_full_view(page, ".pg-play", *PICTURED, weigh) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for scheme in ("light", "dark"):
        assert not_accessible(visit, AXE, scheme) == []


def test_five_seeds_of_a_piece_are_five_single_runs(piece, browser, address):
    press(piece, "Five seeds")
    said = piece.locator(".pg-seen").first
    expect(said).to_contain_text("paired by seed")
    expect(piece.locator("path.band")).to_have_count(2)
    expect(piece.locator("path.middle")).to_have_count(2)
    ends = piece.evaluate(f"{_GAME}.pair.map(r => r.band.map(b => b.at(-1).accuracy))")
    engine = browser.new_page()
    engine.goto(f"{address}/robots.txt")
    for text, mine in zip(("equal", "size"), ends, strict=True):
        state = can.parsed(f"split=big&weigh={text}")
        alone = [
            in_the_page(engine, {**state, "seed": s}, 20)["rows"][-1]["accuracy"]
            for s in can.SLIDERS["seed"].stops
        ]
        assert mine == alone
    engine.close()
    mean, half = mean_interval(np.subtract(*ends))
    ((more, by, within),) = _SAID.findall(said.inner_text())
    assert float(more) == pytest.approx(100 * abs(mean), abs=0.051)
    assert by == ("more" if mean > 0 else "less")
    assert float(within) == pytest.approx(100 * half, abs=0.051)


_SAID = re.compile(r"([\d.]+) points (more|less), ± ([\d.]+)")


def test_a_piece_turns_both_and_fits_a_phone(piece):
    piece.set_viewport_size(PHONE)
    turned(piece, "epochs")
    states = piece.evaluate(f"{_GAME}.pair.map(r => [r.state.epochs, r.state.weigh])")
    assert states == [[8, "equal"], [8, "size"]]
    fast(piece)
    press(piece, "One round")
    piece.wait_for_function(f"{ROWS}.length >= 1")
    wide = piece.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]

"""The playground's page: by hand and by keys."""

import pytest
from playwright.sync_api import expect

from fedlab_browser.playground import state as can
from tests.playground.states import drawn
from tests.site.checks import AXE
from tests.site.hands import CHOSEN, ROWS, fast, more, press, rounds_played, row_of
from tests.site.playing import FOLDER, PLACE, in_the_core
from tools.browser import compressed
from tools.visit import not_accessible, opened

pytestmark = pytest.mark.browser

# Whether no round was added for most of a second.
_STILL = f"""() => {{
    const many = {ROWS}.length, now = performance.now();
    if (window.many !== many) [window.many, window.since] = [many, now];
    return now - window.since > 700;
}}"""


def test_play_and_pause(page):
    press(page, "Play")
    rounds_played(page, 3)
    press(page, "Pause")
    page.wait_for_function(_STILL)
    many = page.evaluate(f"{ROWS}.length")
    press(page, "One round")
    rounds_played(page, many + 1)
    press(page, "Restart")
    expect(page.locator(".pg-now")).to_contain_text("Round 0")


def test_play_is_watched_and_pauses_where_it_is_told_to(page):
    press(page, "Play")
    rounds_played(page, 3)
    apart = page.evaluate(
        f"""new Promise(done => {{
            const times = [], rows = {ROWS};
            let many = rows.length;
            const look = () => {{
                if (rows.length > many) times.push(performance.now());
                many = rows.length;
                if (times.length > 2) done(times[2] - times[0]);
                else requestAnimationFrame(look);
            }};
            look();
        }})"""
    )
    assert apart >= 1200  # two rounds: not more than some 1.5 a second
    fast(page)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert page.evaluate(f"{ROWS}.length") == 20
    press(page, "Play")
    rounds_played(page, 40)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert page.evaluate(f"{ROWS}.length") == 40


def test_fast_is_ten_rounds_a_second(page):
    """The fastest stretch of ten rounds, of as many as a busy machine may need.

    An idle one has more than twenty.
    """
    fast(page)
    page.get_by_label("Pause at").select_option("60")
    best = 0.0
    for _ in range(30):
        press(page, "Restart")
        press(page, "Play")
        rounds_played(page, 60)
        at = page.evaluate(f"{ROWS}.map(row => row.at)")
        apart = [end - begin for begin, end in zip(at, at[10:], strict=False)]
        best = max(best, 10_000 / min(apart))
        if best >= 10:
            return
    raise AssertionError(f"{best:.1f} rounds a second")


def test_a_goal_is_recognised_once_it_is_reached(page, address):
    goal = page.locator(".pg-goal")
    expect(goal).to_contain_text("To try: Get above 55 %")
    press(page, "One round")
    rounds_played(page, 1)
    expect(goal).to_contain_text("So far")
    page.goto(f"{address}/{PLACE}?rule=scaffold&weigh=equal")
    page.locator(".pg-play").wait_for()
    fast(page)
    press(page, "Play")
    expect(goal).to_contain_text("Done. Get above 55 %")
    expect(goal).to_contain_text("SCAFFOLD, counts equally")


def test_a_coalition_is_ticked(page):
    more(page)
    row_of(page, "groups").get_by_text("as I tick").click()
    expect(page.get_by_role("checkbox", name="1", exact=True)).to_be_checked()
    page.get_by_role("checkbox", name="4", exact=True).check()
    assert "chosen.who=11" in page.url
    press(page, "One round")
    rounds_played(page, 1)
    homes = page.evaluate(
        "document.querySelector('[data-playground]').playground.run.homes"
    )
    assert homes == can.group_of(can.parsed(page.url))
    assert homes == [0, 0, 1, 0, *[1] * 6]


def test_it_is_played_with_keys_alone(page):
    """From a row of choices to a slider to the button, and on."""
    row_of(page, "weigh").locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(row_of(page, "weigh").get_by_label("equal")).to_be_checked()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "range":
            break
    page.keyboard.press("ArrowRight")
    assert "alpha=0.2" in page.url and "weigh=equal" in page.url
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "Play":
            break
    page.keyboard.press("Enter")
    rounds_played(page, 2)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()
    expect(page.locator(".pg-said")).to_contain_text("on own letters")


def test_the_address_is_the_state_and_leads_back(page, address):
    row_of(page, "split").get_by_text("four kinds").click()
    more(page)
    row_of(page, "groups").get_by_text("FedCollab").click()
    state = page.url.rpartition("?")[2]
    assert can.said(can.parsed(state)) == state == "groups=fedcollab&split=kinds"
    page.goto(f"{address}/{PLACE}?{state}")
    page.locator(".pg-play").wait_for()
    expect(row_of(page, "split").get_by_label("four kinds")).to_be_checked()
    expect(row_of(page, "groups").get_by_label("FedCollab’s")).to_be_checked()


def test_what_does_not_go_together_cannot_be_chosen(page):
    more(page)
    row_of(page, "server").get_by_text("FedNova").click()
    off = row_of(page, "rule").locator("input:disabled")
    values = off.evaluate_all("all => all.map(input => input.value)")
    assert values == [
        name
        for name in can.CHOICES["rule"]
        if can.refused({**can.USUAL, "rule": name, "server": "fednova"})
    ]
    assert values
    said = off.first.locator("..").get_attribute("title")
    assert said == can.refused({**can.USUAL, "rule": values[0], "server": "fednova"})
    expect(row_of(page, "rule")).to_contain_text("“FedNova” does not go with")


def test_a_keyboard_is_at_the_first_choice_in_a_few_steps(page):
    """By the link at the top of every page that skips its menus."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#main-content"
    page.keyboard.press("Enter")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.pg input')"):
            return
    raise AssertionError(page.evaluate("document.activeElement.outerHTML"))


def test_five_seeds_make_a_band_of_the_cores_numbers(page):
    press(page, "Five seeds")
    said = page.locator(".pg-said")
    expect(said).to_contain_text("Five seeds, round 20", timeout=120_000)
    seeds = can.SLIDERS["seed"].stops
    ends = [in_the_core({**can.USUAL, "seed": s}, 20).rows[-1] for s in seeds]
    found = [row["accuracy"] for row in ends]
    text = said.inner_text()
    mean, low, high = (float(part.split()[0]) / 100 for part in _percents(text))
    assert mean == pytest.approx(sum(found) / len(found), abs=0.003)
    assert (low, high) == pytest.approx((min(found), max(found)), abs=0.005)
    expect(page.locator("path.band")).to_have_count(1)


def _percents(text: str) -> list[str]:
    words = text.replace("from", "accuracy").replace("to", "accuracy")
    return [w for w in words.split("accuracy ")[1:] if "%" in w]


def test_five_seeds_of_a_run_that_was_not_begun_are_kept(page):
    press(page, "Five seeds")
    expect(page.locator(".pg-said")).to_contain_text("Five seeds, round 20")
    row_of(page, "weigh").get_by_text("equal").click()
    expect(page.locator("path.band")).to_have_count(1)
    expect(page.locator(".pg-runs li")).to_have_count(2)


def test_a_slider_has_more_skew_at_its_right(page):
    skew = page.locator(f"{CHOSEN[2]} input")
    skew.press("End")
    assert "alpha=0.05" in page.url
    expect(skew).to_have_attribute("aria-valuetext", "strong, α 0.05")


@pytest.mark.parametrize("state", drawn(10, seed=1), ids=can.said)
def test_the_command_repeats_the_page(page, address, state, capsys):
    """The command below the pictures, once typed, prints the page's numbers."""
    from fedlab_core import __main__

    page.goto(f"{address}/{PLACE}?{can.said(state)}")
    page.locator(".pg-play").wait_for()
    many = min(2, can.rounds_of(state))
    for t in range(1, many + 1):
        press(page, "One round")
        rounds_played(page, t)
    code = page.locator(".pg-code code")
    expect(code).to_contain_text(f"--rounds {many}")  # on a busy machine, later
    words = code.inner_text().split()
    assert words[:4] == ["python", "-m", "fedlab_core", "play"]
    assert __main__.main([word.strip('"') for word in words[3:]]) == 0
    said = capsys.readouterr().out.splitlines()
    shown = page.evaluate(f"{ROWS}.map(row => 100 * row.accuracy)")
    for line, mine in zip(said, shown, strict=True):
        assert float(line.split()[-2]) == pytest.approx(mine, abs=0.011)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_played_page_is_accessible(visit, scheme):
    press(visit.page, "One round")
    rounds_played(visit.page, 1)
    more(visit.page)
    row_of(visit.page, "server").get_by_text("FedNova").click()
    press(visit.page, "One round")
    rounds_played(visit.page, 1)
    assert not_accessible(visit, AXE, scheme) == []


def test_it_weighs_little_and_only_here(visit, site, browser, address):
    page = visit.page
    press(page, "One round")
    rounds_played(page, 1)
    fetched = page.evaluate(
        "performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert any("task.json" in name or "playground" in name for name in fetched)
    files = [f for f in (site / FOLDER).rglob("*") if f.is_file()]
    all_of_it = sum(len(compressed(f)) for f in [*files, site / PLACE])
    assert all_of_it <= 500_000, f"{all_of_it / 1e3:.0f} kB"
    assert {f.suffix for f in files} == {".js", ".css", ".json", ".bin", ".wasm"}


@pytest.mark.parametrize("other", ["notebooks/index.html", "book/methods.html"])
def test_nothing_of_it_is_loaded_elsewhere(context, address, other):
    with opened(context, f"{address}/{other}") as visit:
        assert not [url for url in visit.loaded if f"{FOLDER}/" in url]


def test_a_script_that_cannot_be_fetched_is_said(browser, address):
    page = browser.new_page()
    page.route("**/data/rules.json", lambda route: route.abort())
    page.goto(f"{address}/{PLACE}")
    expect(page.get_by_role("alert")).to_contain_text("had to stop")
    page.close()


def test_five_seeds_can_be_left_alone(page):
    """Something else is chosen before they are over: they can be asked for again."""
    press(page, "Five seeds")
    row_of(page, "weigh").get_by_text("equal").click()
    expect(page.get_by_role("button", name="Five seeds", exact=True)).to_be_enabled()


def test_what_an_address_asks_for_and_is_not_there_is_said(page, address):
    page.goto(f"{address}/{PLACE}?alpha=0.07&rule=fedprox&foo=bar")
    said = page.locator(".pg-story")
    expect(said).to_contain_text("Not known, and left as usual: alpha=0.07, foo=bar.")
    expect(row_of(page, "rule").get_by_label("FedProx")).to_be_checked()


def test_names_that_every_object_has_are_not_choices(page, address):
    asked = ["__proto__=1", "constructor=1", "hasOwnProperty=x", "split=constructor"]
    asked += ["rule=toString", "weigh=__proto__", "server=valueOf", "alpha="]
    page.goto(f"{address}/{PLACE}?{'&'.join(asked)}")
    said = page.locator(".pg-story")
    expect(said).to_contain_text(f"left as usual: {', '.join(asked)}.")
    more(page)
    for choice in ("rule", "weigh", "server", "split"):
        chosen = row_of(page, choice).locator("input:checked")
        expect(chosen).to_have_value(str(can.USUAL[choice]))
    press(page, "One round")
    rounds_played(page, 1)


def test_every_click_is_a_round(page):
    """Also while one is being played; but not after another choice."""
    once = page.get_by_role("button", name="One round", exact=True)
    once.evaluate("b => { for (let i = 0; i < 5; i += 1) b.click(); }")
    rounds_played(page, 5)
    page.wait_for_function(_STILL)
    assert page.evaluate(f"{ROWS}.length") == 5
    equal = row_of(page, "weigh").locator("input[value=equal]").element_handle()
    once.evaluate(
        "(b, other) => { for (let i = 0; i < 5; i += 1) b.click();"
        " other.click(); b.click(); }",  # while a round of the run before is played
        equal,
    )
    rounds_played(page, 1)
    page.wait_for_function(_STILL)
    assert page.evaluate(f"{ROWS}.length") == 1


def test_nothing_is_wider_than_a_page_at_400_percent(page):
    """As wide as 1,280 pixels are then."""
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    heads = page.locator("main h1, main h2, main h3")
    wide = heads.evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)")
    assert wide and max(wide) <= 0

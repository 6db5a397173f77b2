"""The playground's page: by hand and by keys."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from fedlab_browser.playground import state as can
from fedlab_browser.playground.presets import PRESETS
from tests.playground.states import drawn
from tests.site.checks import AXE
from tests.site.playing import FOLDER, PLACE, in_the_core
from tools.browser import compressed
from tools.visit import PHONE, Visit, not_accessible, opened

pytestmark = pytest.mark.browser

_ROWS = "document.querySelector('[data-playground]').playground.run.rows"
# Whether no round was added for most of a second.
_STILL = f"""() => {{
    const many = {_ROWS}.length, now = performance.now();
    if (window.many !== many) [window.many, window.since] = [many, now];
    return now - window.since > 700;
}}"""


@pytest.fixture
def visit(context: BrowserContext, address: str) -> Iterator[Visit]:
    with opened(context, f"{address}/{PLACE}") as visit:
        visit.page.set_default_timeout(120_000)
        visit.page.locator(".pg-play").wait_for()
        yield visit
        assert visit.problems == []


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def rounds_played(page: Page, many: int) -> None:
    page.wait_for_function(f"many => {_ROWS}.length >= many", arg=many)


def in_full_view(page: Page, *places: str) -> list[str]:
    """Places that are not on the screen as a whole."""
    return page.evaluate(
        """places => places.filter(place => {
            const box = document.querySelector(place).getBoundingClientRect();
            return box.top < -1 || box.bottom > innerHeight + 1 || !box.height;
        })""",
        list(places),
    )


def more(page: Page) -> None:
    page.locator(".pg-controls details").evaluate("e => { e.open = true; }")


def fast(page: Page) -> None:
    page.locator(".pg-speeds").get_by_text("fast", exact=True).click()


def row_of(page: Page, choice: str) -> Locator:
    return page.locator(f"fieldset[data-of={choice}]")


def test_play_and_pause(page):
    press(page, "Play")
    rounds_played(page, 3)
    press(page, "Pause")
    page.wait_for_function(_STILL)
    many = page.evaluate(f"{_ROWS}.length")
    press(page, "One round")
    rounds_played(page, many + 1)
    press(page, "Restart")
    expect(page.locator(".pg-now")).to_contain_text("Round 0")


PICTURED = [f".pg figure[data-of={name}] > svg" for name in ("plane", "curve")]
CHOSEN = [f".pg-controls [data-of={n}]" for n in ("split", "weigh", "alpha", "epochs")]
HELD = ".pg figure[data-of=clients] > svg"


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


def test_play_is_watched_and_pauses_where_it_is_told_to(page):
    press(page, "Play")
    rounds_played(page, 3)
    apart = page.evaluate(
        f"""new Promise(done => {{
            const times = [], rows = {_ROWS};
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
    assert page.evaluate(f"{_ROWS}.length") == 20
    press(page, "Play")
    rounds_played(page, 40)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert page.evaluate(f"{_ROWS}.length") == 40


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
        at = page.evaluate(f"{_ROWS}.map(row => row.at)")
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
    expect(goal).to_contain_text("SCAFFOLD + equal")


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
    absent = page.evaluate(
        f"""(() => {{
            const {{ held }} = document.querySelector("[data-playground]").playground;
            return {_ROWS}.flatMap(({{ clients }}) => held.counts[0].map((_, c) =>
                held.counts.every((n, k) => !n[c] || clients[k].weight === undefined)
            )).filter(gone => gone).length;
        }})()"""
    )
    assert absent > 0
    expect(picture.locator("circle")).to_have_count(absent)
    page.get_by_label("Curve of").select_option("accuracy")
    expect(picture.locator("path.run")).to_have_count(1)


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
    expect(row_of(page, "rule")).to_contain_text("does not go with FedNova")


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
    (learnt,) = page.evaluate(f"{_ROWS}[0].learnt")
    expect(page.locator(".pg-stage")).to_contain_text(f"γ = {learnt['gamma']:.3f}")
    told = clients.get_by_role("img").get_attribute("aria-label")
    assert told and "learnt weight" in told and "γ = " in told


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
    expect(runs.last).to_contain_text("the oldest is gone, SGD")


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
        assert page.evaluate(f"{_ROWS}.length") == preset.rounds
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
    words = page.locator(".pg-code code").inner_text().split()
    assert words[:4] == ["python", "-m", "fedlab_core", "play"]
    assert __main__.main([word.strip('"') for word in words[3:]]) == 0
    said = capsys.readouterr().out.splitlines()
    shown = page.evaluate(f"{_ROWS}.map(row => 100 * row.accuracy)")
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


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pictures_cover_nothing_that_stands_below(page, width):
    page.set_viewport_size({"width": width, "height": 720})
    press(page, "One round")
    rounds_played(page, 1)
    page.locator(".pg-code").evaluate("e => e.scrollIntoView({block: 'end'})")
    apart = page.evaluate(
        """() => {
            const box = (place) => document.querySelector(place).getBoundingClientRect();
            return box(".pg-below").top - box(".pg-stage").bottom;
        }"""
    )
    assert apart >= 0

"""The playground in the browser: the core's numbers, by hand and by keys."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import fedlab_core as fl
from fedlab_book.playground import state as can
from fedlab_book.playground.presets import PRESETS, counted, left, own_accuracy
from tests.playground.states import drawn, one_by_one
from tests.site.checks import AXE
from tools.browser import compressed
from tools.visit import PHONE, Visit, not_accessible, opened

pytestmark = pytest.mark.browser

PLACE = "book/playground.html"
FOLDER = "_static/playground"
ROUNDS = 5
# Steps within steps: a unit of the network at its edge tips, and the runs part.
ONE_EPOCH = {"epochs": 1.0}
CLOSE = 1e-5
LETTER = 0.0021  # of 500 letters one that is read otherwise
# Rounds of a state in the page's engine, with the first models and the last.
_PLAY = """async ([place, state, rounds, fast]) => {
    const { Federation, load } = await import(`${place}/federation.js`);
    const worlds = globalThis.worlds ??= {};
    worlds[fast] ??= await load({ fast });
    const game = await Federation.begin(worlds[fast], state);
    const rows = [], from = performance.now();
    while (rows.length < rounds) rows.push(game.round());
    const numbers = (model) => Object.entries(model).map(([n, v]) => [n, [...v]]);
    return {
        rows, seconds: (performance.now() - from) / 1000,
        models: game.model.map((model) => Object.fromEntries(numbers(model))),
    };
}"""
_ROWS = "document.querySelector('[data-playground]').playground.run.rows"


@pytest.fixture(scope="module")
def engine(browser: Browser, address: str) -> Iterator[Page]:
    """A bare page of the site in which the playground's engine can be asked."""
    page = browser.new_page()
    page.goto(f"{address}/robots.txt")
    page.set_default_timeout(60_000)
    yield page
    page.close()


def in_the_page(engine: Page, state: can.State, rounds: int = ROUNDS, fast=True) -> Any:
    return engine.evaluate(_PLAY, [f"/{FOLDER}", state, rounds, fast])


def in_the_core(
    state: can.State, rounds: int = ROUNDS, nudge: int | None = None, **how: Any
) -> fl.History:
    """The state's run; nudged, every pixel is the next float32 up or down."""
    world = can.world_of(state)
    if nudge is not None:
        sides = torch.randn(
            world.x.shape, generator=torch.Generator().manual_seed(nudge)
        )
        world = replace(world, x=world.x.nextafter(sides * torch.inf))
    return fl.federate(
        world,
        can.method_of(state, can.group_of(state)),
        rounds,
        seed=int(state["seed"]),
        participants=can.present(state),
        progress=False,
        **how,
    )


def apart(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """How far two models are from each other, as a part of the second's length."""
    return max(
        float((a[n] - v).norm() / v.norm().clamp(min=1e-9)) for n, v in b.items()
    )


def models_of(played: Any, like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The page's models, stacked as the core's are."""
    rows = {n: [torch.tensor(m[n]) for m in played["models"]] for n in like}
    return {n: torch.stack(rows[n]).view_as(v) for n, v in like.items()}


def one_unit_tips(engine: Page, state: can.State) -> bool:
    """In the first round that ends apart, nearly all units of the network are equal.

    A unit that stands at zero is on in one run and off in the other; from then on its
    weights differ, and, rounds later, those of all.
    """
    for rounds in range(1, ROUNDS + 1):
        core = in_the_core(state, rounds).states
        page = models_of(in_the_page(engine, state, rounds), core)
        if apart(page, core) > CLOSE:
            name = next(iter(core))
            unit = (page[name] - core[name]).norm(dim=-1) / core[name].norm(dim=-1)
            return bool((unit <= CLOSE).float().mean() > 0.9)
    return True


def check_equal(engine: Page, state: can.State, fast: bool = True) -> None:
    played = in_the_page(engine, state, fast=fast)
    core = in_the_core(state)
    gap = apart(models_of(played, core.states), core.states)
    rows = list(zip(played["rows"], core.rows, strict=True))
    off = max(abs(mine["accuracy"] - theirs["accuracy"]) for mine, theirs in rows)
    assert all(
        mine["loss"] == pytest.approx(theirs["train_loss"], rel=1e-3)
        for mine, theirs in rows
    )
    if (gap <= CLOSE and off <= LETTER) or (
        gap > CLOSE and one_unit_tips(engine, state)
    ):
        return
    others = [in_the_core(state, nudge=n) for n in range(4)]
    both = [(a, b) for o in others for a, b in zip(o.rows, core.rows, strict=True)]
    parted = max(abs(a["accuracy"] - b["accuracy"]) for a, b in both)
    assert gap <= max(CLOSE, 3 * max(apart(o.states, core.states) for o in others))
    assert off <= max(LETTER, 3 * parted)


@pytest.mark.parametrize("state", one_by_one("rule"), ids=can.said)
def test_every_rule_has_the_cores_numbers(engine, state):
    tips = {"rule": state["rule"], **ONE_EPOCH} if state["rule"] == "pfedme" else {}
    check_equal(engine, state | tips)


@pytest.mark.parametrize(
    "state", one_by_one("weigh", "server", "groups", "personal", "split"), ids=can.said
)
def test_every_other_choice_has_the_cores_numbers(engine, state):
    check_equal(engine, state)


@pytest.mark.parametrize("knob", can.KNOBS)
def test_every_number_reaches_the_page(engine, knob):
    """At its smallest and its largest."""
    ((choice, (name,)),) = can.KNOBS[knob].of.items()
    for stop in (can.KNOBS[knob].stops[0], can.KNOBS[knob].stops[-1]):
        tips = ONE_EPOCH if name == "pfedme" else {}
        check_equal(engine, {**can.USUAL, choice: name, knob: stop, **tips})


@pytest.mark.parametrize("personal", ["finetune", "ditto"])
@pytest.mark.parametrize("rule", can.CHOICES["rule"])
def test_own_models_train_as_their_rule_does(engine, rule, personal):
    """Some rules bring a decay or a bound of their own, own models go by it, too."""
    state = {**can.USUAL, "rule": rule, "personal": personal, **ONE_EPOCH}
    if can.refused(state):
        return
    rows = in_the_page(engine, state, 2)["rows"]
    core = in_the_core(state, 2, observe=lambda now: {"own": own_accuracy(now)})
    assert rows[-1]["own"] == pytest.approx(core.rows[-1]["own"], abs=0.003)


def calm(state: can.State) -> can.State:
    """With steps that are neither so large nor so many that a rounding parts two runs.

    Beyond them the core's two engines part as far from each other as from the page.
    """
    most = {"lr": 0.1, "epochs": 5}
    return state | {n: min(float(state[n]), v) for n, v in most.items()}


@pytest.mark.parametrize("state", [*map(calm, drawn(20))], ids=can.said)
def test_mixes_have_the_cores_numbers(engine, state):
    check_equal(engine, state)


def test_without_fast_loops_the_numbers_are_the_same(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/robots.txt")
    for state in one_by_one("rule")[:3]:
        check_equal(page, state, fast=False)
    page.close()


def test_the_pictures_show_the_cores_numbers(engine):
    """Accuracy on own letters, and how much of the ways is left."""
    learnt = "server=fedlaw&split=wrong&groups=two"
    kinds = "split=kinds&clients=8&groups=fedcollab"
    for text in ("alpha=0.1", kinds, "present=0.5", learnt):
        state = can.parsed(text)
        rows = in_the_page(engine, state)["rows"]
        core = in_the_core(
            state, observe=lambda now: {"own": own_accuracy(now), "left": left(now)}
        ).rows
        for mine, theirs in zip(rows, core, strict=True):
            assert mine["own"] == pytest.approx(theirs["own"], abs=0.003)
            assert mine["plane"]["left"] == pytest.approx(theirs["left"], abs=1e-4)


@pytest.mark.parametrize("text", ["split=wrong", "groups=two&present=0.5&alpha=0.1"])
def test_what_a_server_learns_is_what_the_core_learns(engine, text):
    """Its weights, which are drawn as those that count, and its gamma."""
    state = can.parsed(f"server=fedlaw&{text}")

    def observe(now) -> dict[str, Any]:
        pairs = zip(now.ids, (now.group_of[k] for k in now.ids), strict=True)
        rows, gamma = [list(map(float, w)) for w in counted(now)], {}
        weights = {k: rows[g].pop(0) for k, g in pairs}
        for g in {now.group_of[k] for k in now.ids}:
            gamma[g] = now.servers[g].metrics["gamma"]
        return {"weights": weights, "gammas": gamma}

    rows = in_the_page(engine, state)["rows"]
    for mine, theirs in zip(
        rows, in_the_core(state, observe=observe).rows, strict=True
    ):
        drawn_ = {
            k: c["weight"] for k, c in enumerate(mine["clients"]) if "weight" in c
        }
        assert drawn_ == pytest.approx(theirs["weights"], abs=1e-5)
        learnt = {found["g"]: found["gamma"] for found in mine["learnt"]}
        assert learnt == pytest.approx(theirs["gammas"], abs=1e-5)


def test_a_server_that_only_averages_has_learnt_nothing(engine):
    (row,) = in_the_page(engine, can.USUAL, 1)["rows"]
    assert row["learnt"] == []


def test_ten_rounds_a_second(engine):
    """FedAvg with ten clients of five epochs; the fastest of some stretches."""
    in_the_page(engine, can.USUAL, 3)
    best = min(in_the_page(engine, can.USUAL, 10)["seconds"] for _ in range(5))
    assert 10 / best >= 10, f"{10 / best:.1f} rounds a second"


# -- the page ---------------------------------------------------------------------


@pytest.fixture
def visit(context: BrowserContext, address: str) -> Iterator[Visit]:
    with opened(context, f"{address}/{PLACE}") as visit:
        visit.page.set_default_timeout(20_000)
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


def row_of(page: Page, choice: str) -> Locator:
    return page.locator(f"fieldset[data-of={choice}]")


def test_play_and_pause(page):
    press(page, "Play")
    rounds_played(page, 3)
    press(page, "Pause")
    page.wait_for_timeout(300)
    many = page.evaluate(f"{_ROWS}.length")
    page.wait_for_timeout(400)
    assert page.evaluate(f"{_ROWS}.length") == many
    press(page, "One round")
    rounds_played(page, many + 1)
    press(page, "Begin again")
    expect(page.locator(".pg-now")).to_contain_text("Round 0")


def test_it_is_played_with_keys_alone(page):
    """From a row of choices to a slider to the button, and on."""
    row_of(page, "rule").locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(row_of(page, "rule").get_by_label("FedProx")).to_be_checked()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "range":
            break
    page.keyboard.press("ArrowLeft")
    assert "alpha=0.2" in page.url and "rule=fedprox" in page.url
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Play":
            break
    page.keyboard.press("Enter")
    rounds_played(page, 2)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()
    expect(page.locator(".pg-said")).to_contain_text("on own letters")


def test_the_address_is_the_state_and_leads_back(page, address):
    row_of(page, "split").get_by_text("four kinds").click()
    row_of(page, "groups").get_by_text("FedCollab").click()
    state = page.url.rpartition("?")[2]
    assert can.said(can.parsed(state)) == state == "groups=fedcollab&split=kinds"
    page.goto(f"{address}/{PLACE}?{state}")
    page.locator(".pg-play").wait_for()
    expect(row_of(page, "split").get_by_label("four kinds")).to_be_checked()
    expect(row_of(page, "groups").get_by_label("FedCollab’s")).to_be_checked()


def test_what_does_not_go_together_cannot_be_chosen(page):
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


def test_learnt_weights_are_marked_and_gamma_is_said(page):
    press(page, "One round")
    rounds_played(page, 1)
    clients = page.locator(".pg-pictures figure").first
    expect(clients.locator("rect.learnt")).to_have_count(0)
    row_of(page, "server").get_by_text("FedLAW").click()
    expect(page.get_by_label("Server’s epochs")).to_be_visible()
    press(page, "One round")
    rounds_played(page, 1)
    expect(clients.locator("rect.learnt")).to_have_count(10)
    (learnt,) = page.evaluate(f"{_ROWS}[0].learnt")
    expect(clients).to_contain_text(f"γ = {learnt['gamma']:.3f}")
    told = clients.get_by_role("img").get_attribute("aria-label")
    assert told and "learnt weight" in told and "γ = " in told


def test_earlier_runs_are_kept_beside_and_can_be_forgotten(page):
    press(page, "One round")
    rounds_played(page, 1)
    row_of(page, "rule").get_by_text("FedProx").click()
    press(page, "One round")
    rounds_played(page, 1)
    expect(page.locator(".pg-runs li")).to_have_count(2)
    assert page.locator("path.run").count() == 2
    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".pg-runs li")).to_have_count(1)


def test_five_seeds_make_a_band_of_the_cores_numbers(page):
    press(page, "Five seeds")
    said = page.locator(".pg-said")
    expect(said).to_contain_text("Five seeds, round 20", timeout=60_000)
    seeds = can.SLIDERS["seed"].stops
    ends = [in_the_core({**can.USUAL, "seed": s}, 20).rows[-1] for s in seeds]
    found = [row["accuracy"] for row in ends]
    text = said.inner_text()
    mean, low, high = (float(part.split()[0]) / 100 for part in _percents(text))
    assert mean == pytest.approx(sum(found) / len(found), abs=0.003)
    assert (low, high) == pytest.approx((min(found), max(found)), abs=0.005)
    expect(page.locator("polygon.band")).to_have_count(1)


def _percents(text: str) -> list[str]:
    words = text.replace("from", "accuracy").replace("to", "accuracy")
    return [w for w in words.split("accuracy ")[1:] if "%" in w]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.title)
def test_a_story_sets_everything(page, preset):
    page.get_by_role("link", name=preset.title, exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()
    now = page.evaluate("document.querySelector('[data-playground]').playground.state")
    assert now == can.parsed(preset.state)
    story = page.locator(".pg-story")
    expect(story).to_contain_text(preset.look)
    own = page.get_by_role("radio", name="own letters", exact=True)
    expect(own).to_be_checked(checked=preset.what == "own")
    story.get_by_role("link").click()
    now = page.evaluate("document.querySelector('[data-playground]').playground.state")
    assert now == can.parsed(preset.beside)
    expect(story.get_by_role("link")).to_contain_text(f"Back to: {preset.title}")
    page.go_back()
    press(page, "One round")
    rounds_played(page, 1)
    page.go_back()
    expect(page.locator(".pg-now")).to_contain_text("Round 0")
    assert page.url.endswith(PLACE)


@pytest.mark.parametrize("state", drawn(10, seed=1), ids=can.said)
def test_the_command_repeats_the_page(page, address, state, capsys):
    """What stands below the pictures is typed, and says what the page says."""
    from fedlab_core import __main__

    page.goto(f"{address}/{PLACE}?{can.said(state)}")
    page.locator(".pg-play").wait_for()
    for t in (1, 2):
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


def test_the_exported_rules_say_nothing_twice(site: Path):
    rules = json.loads((site / FOLDER / "data" / "rules.json").read_text())
    texts = [json.dumps(p, sort_keys=True) for p in rules["programs"]]
    assert len(set(texts)) == len(texts) > 50


def test_five_seeds_can_be_left_alone(page):
    """Something else is chosen before they are over: they can be asked for again."""
    press(page, "Five seeds")
    row_of(page, "rule").get_by_text("FedProx").click()
    expect(page.get_by_role("button", name="Five seeds", exact=True)).to_be_enabled()


def test_what_an_address_asks_for_and_is_not_there_is_said(page, address):
    page.goto(f"{address}/{PLACE}?alpha=0.07&rule=fedprox&foo=bar")
    said = page.locator(".pg-story")
    expect(said).to_contain_text("Not known, and left as usual: alpha=0.07, foo=bar.")
    expect(row_of(page, "rule").get_by_label("FedProx")).to_be_checked()


def test_numbers_that_are_none_are_read_as_pytorch_reads_them(engine):
    """A tie so strong that some clients' models are lost in the first round."""
    state = can.parsed("rule=pfedme&pfedme.lam=15&lr=0.5&epochs=12")
    (page,), (core,) = in_the_page(engine, state, 1)["rows"], in_the_core(state, 1).rows
    assert core["train_loss"] != core["train_loss"] and not page["finite"]
    assert page["accuracy"] == pytest.approx(core["accuracy"], abs=0.01)

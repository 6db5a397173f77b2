"""The playground away from its page: in chapters, and with a method of one's own."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import fedlab_core as fl
from fedlab_book.live import Goal
from fedlab_browser.playground import export, own
from fedlab_browser.playground import state as can
from tests.playground.states import BySizeRoot, halved
from tests.site.checks import AXE
from tools.visit import PHONE, not_accessible, opened

pytestmark = pytest.mark.browser

FOLDER = "_static/playground"
CHAPTERS = sorted(p.stem for p in Path("notebooks").glob("0*.ipynb"))
# Its first piece waits to be seen: another picture stands in the first screen.
BELOW = "notebooks/03_where_the_weights_come_from.html"
PIECES = {
    "notebooks/01_averaging.html": (["alpha", "steps"], [], 2),
    # Its slider is for FedDisco, which is not chosen at first.
    "notebooks/02_is_size_the_right_weight.html": ([], ["weigh"], 2),
    BELOW: (["steps"], ["weigh"], 1),
    # Letters alone: there is no curve whose measure could be chosen.
    "notebooks/07_features_from_a_shared_distribution.html": (["present"], [], 1),
    "notebooks/08_everyone_on_one_field.html": (["lr"], ["Method", "Deal"], 2),
}
_PIECE = "document.querySelector('[data-playground]').playground"
_ROWS = f"{_PIECE}.run.rows"


def goals() -> list[tuple[str, int, Goal]]:
    """The goals of every notebook's pieces: its name, which piece, and the goal."""
    found = []
    for path in sorted(Path("notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        code = [c.source for c in cells if c.cell_type == "code"]
        calls = [node for s in code if "live(" in s for node in ast.walk(ast.parse(s))]
        pieces = [n for n in calls if isinstance(n, ast.Call) and _named(n, "live")]
        for i, piece in enumerate(pieces):
            for goal in [k.value for k in piece.keywords if k.arg == "goal"]:
                assert isinstance(goal, ast.Call)
                given = {str(k.arg): ast.literal_eval(k.value) for k in goal.keywords}
                says = ast.literal_eval(goal.args[0])
                found.append((path.stem, i, Goal(says, **given)))
    return found


def _named(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


GOALS = goals()
# Choose a state, and play it as far as the goal looks.
_REACH = """async ([which, address, than, rounds]) => {
    const root = document.querySelectorAll("[data-playground]")[which];
    const page = root.playground, later = () => new Promise((r) => setTimeout(r, 5));
    const play = async (changed) => {
        page.take(address);
        Object.assign(page.state, changed);
        await page.fresh();
        const many = Math.min(rounds, page.most);
        while (page.run.rows.length < many) {
            const before = page.run.rows.length;
            page.ask();
            while (page.run.rows.length === before) await later();
        }
    };
    if (than) await play(than);
    await play({});
    page.show();
    return page.goals.textContent;
}"""


def printed(page: Page, there: Locator, gone: Locator) -> None:
    """Of a piece one part is there on paper, the other is not, and no button is."""
    page.emulate_media(media="print")
    expect(there).to_be_visible()
    expect(gone).to_be_hidden()
    expect(page.locator(".pg button:visible")).to_have_count(0)
    page.emulate_media(media="screen")


@pytest.mark.parametrize("place", PIECES)
def test_a_piece_trains_once_it_is_seen(context: BrowserContext, address, place):
    sliders, rows, pictures = PIECES[place]
    with opened(context, f"{address}/{place}?reveal") as visit:
        page, root = visit.page, visit.page.locator("[data-playground]").first
        below = root.evaluate("e => e.getBoundingClientRect().top >= innerHeight")
        assert below == (place == BELOW)  # others stand in the first screen
        if below:
            expect(root.locator("svg[role=img]")).to_have_count(1)  # the picture
            assert not [url for url in visit.loaded if f"{FOLDER}/" in url]
        root.scroll_into_view_if_needed()
        play = root.get_by_role("button", name="Play", exact=True)
        play.wait_for(timeout=120_000)
        shown = root.locator("label.pg-slider:visible")
        assert shown.evaluate_all("all => all.map(e => e.dataset.of)") == sliders
        fields = root.locator("fieldset:visible")
        assert fields.evaluate_all("all => all.map(e => e.dataset.of)") == rows
        assert root.locator("figure:visible").count() == pictures
        still, live = root.locator(":scope > .fl-figure"), root.locator(".pg-stage")
        printed(page, still, live)
        address_before = page.url
        play.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"{_ROWS}.length >= 2")
        page.keyboard.press("Enter")
        printed(page, live, still)
        assert page.url == address_before
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for scheme in ("light", "dark"):
            assert not_accessible(visit, AXE, scheme) == []
        assert visit.problems == []


@pytest.mark.parametrize(
    ("place", "which", "goal"), GOALS, ids=[f"{g[0]}-{g[1]}" for g in GOALS]
)
def test_a_goal_is_reached_by_its_solution_and_not_before(
    browser: Browser, address, place, which, goal
):
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/notebooks/{place}.html?reveal")
    root = page.locator("[data-playground]").nth(which)
    root.scroll_into_view_if_needed()
    root.get_by_role("button", name="Play", exact=True).wait_for()
    told = root.locator(".pg-goal")
    expect(told).to_contain_text(f"To try: {goal.says}.")
    options = json.loads(root.get_attribute("data-playground") or "{}")
    assert goal.solution not in json.dumps(options)
    rounds = 20 if goal.last or not goal.first else 1000
    than = goal.options.get("than")
    first = page.evaluate(_REACH, [which, options["state"], than, rounds])
    assert first.startswith("To try: ") and "So far" in first
    done = page.evaluate(_REACH, [which, goal.solution, than, rounds])
    assert done.startswith("Done. ") and "Reached: " in done
    page.close()


def test_a_name_stands_for_several_choices(context: BrowserContext, address):
    """Choices of another name of the row alone are as usual again."""
    place = f"{address}/notebooks/08_everyone_on_one_field.html?reveal"
    with opened(context, place) as visit:
        root = visit.page.locator("[data-playground]").first
        root.get_by_role("button", name="Play", exact=True).wait_for(timeout=120_000)

        def state_after(*names: str) -> dict[str, object]:
            for name in names:
                root.get_by_text(name, exact=True).click()
            chosen = root.locator("fieldset input:checked")
            assert chosen.evaluate_all("all => all.map(e => e.value)") == [*names]
            return visit.page.evaluate(f"{_PIECE}.state")

        dyn = state_after("FedDyn", "uneven, five of ten")
        assert (dyn["rule"], dyn["weigh"], dyn["present"]) == ("feddyn", "equal", 0.5)
        disco = state_after("FedDisco", "two big ones")
        assert (disco["rule"], disco["weigh"]) == ("fedavg", "disco")
        assert (disco["split"], disco["present"]) == ("big", 1)
        assert visit.problems == []


def test_three_chapters_have_a_goal():
    assert len({place for place, _, _ in GOALS}) >= 3


@pytest.mark.parametrize("place", PIECES)
def test_without_scripts_there_is_a_picture(browser: Browser, address, place):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{place}")
    picture = page.locator("[data-playground] svg[role=img]").first
    expect(picture).to_be_visible()
    assert len(picture.get_attribute("aria-label") or "") > 40
    context.close()


def test_a_piece_that_cannot_train_leaves_its_picture(browser: Browser, address):
    page = browser.new_page()
    page.route("**/data/rules.json", lambda route: route.abort())
    page.goto(f"{address}/notebooks/01_averaging.html")
    root = page.locator("[data-playground]").first
    root.scroll_into_view_if_needed()
    expect(root.get_by_role("alert")).to_contain_text("had to stop", timeout=120_000)
    expect(root.locator("svg[role=img]")).to_be_visible()
    page.close()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_leads_to_a_state_of_the_playground(site: Path, chapter):
    text = (site / "notebooks" / f"{chapter}.html").read_text()
    found = re.findall(r'href="\.\./book/playground\.html\??([^"]*)"', text)
    own_line = [s.replace("&amp;", "&") for s in found]
    assert own_line
    for state in own_line:
        assert can.said(can.parsed(state)) == state


# -- a method of the reader's own --------------------------------------------------


TRAINING = fl.Training(lr=0.1, epochs=5, batch_size=can.BATCH)
HEAVY = fl.Training(
    lr=0.1, epochs=5, batch_size=can.BATCH, momentum=0.5, weight_decay=1e-3
)
OWN = {
    "weigh": fl.fedavg(TRAINING, weigh=BySizeRoot(), name="Root"),
    "server": fl.fedavg(TRAINING, server=fl.Server("half", halved), name="Half"),
    "rule": fl.fedprox(HEAVY, mu=0.2),
}


@pytest.fixture
def data(site: Path, monkeypatch) -> None:
    """The site's own files, so that nothing is traced twice."""
    folder = site / FOLDER / "data"
    kept = {n: (folder / n).read_bytes() for n in export.names()}
    monkeypatch.setattr(own, "kept", lambda: dict(kept))


def played(page: Page, rounds: int) -> list[float]:
    frame = page.main_frame if page.locator("iframe").count() == 0 else page.frames[1]
    frame.get_by_role("button", name="Play", exact=True).wait_for(timeout=120_000)
    for t in range(rounds):
        frame.get_by_role("button", name="One round", exact=True).click()
        frame.wait_for_function(f"{_ROWS}.length > {t}")
    return frame.evaluate(f"{_ROWS}.map(row => row.accuracy)")


@pytest.mark.parametrize("row", OWN)
def test_ones_own_method_has_the_cores_numbers(
    row, data, browser: Browser, address, tmp_path
):
    """In a file that is opened as it is, and in a notebook's frame."""
    method = OWN[row]
    made = fl.playground(method)
    world = can.world_of(can.USUAL)
    core = fl.federate(world, method, 3, progress=False)
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(made.save(tmp_path / "own.html").as_uri())
    mine = played(page, 3)
    assert mine == pytest.approx([r["accuracy"] for r in core.rows], abs=0.0021)
    label = page.locator(f"fieldset[data-of={row}] input:checked").locator("..")
    named = {"rule": "FedProx, yours", "weigh": "root of size", "server": "half"}
    expect(label).to_have_text(named[row])
    page.goto(f"{address}/robots.txt")
    page.set_content(made._repr_html_())
    assert played(page, 1) == mine[:1]
    high = page.locator("iframe").evaluate("frame => frame.clientHeight")
    assert high > 600  # it fits what is in it
    assert problems == []
    foreign = [
        u for u in asked if not u.startswith(("file:", "blob:", "data:", address))
    ]
    assert foreign == []
    page.close()

"""The page with every claim: chosen, sorted, opened and taken away, by hand or keys."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from fedlab_ledger.report.book import NAMES
from tests.site.checks import AXE
from tests.site.test_truth import untrue
from tools.browser import is_local
from tools.visit import PHONE, not_accessible, opened

pytestmark = pytest.mark.browser

PLACE = "book/claims.html"
ROWS = ".fl-every > tbody > tr[id]:not(.fl-behind):not([hidden])"
STATUS = ".fl-taken [role=status]"


@pytest.fixture(scope="module")
def records(site: Path) -> list[dict[str, Any]]:
    return json.loads((site / "_static" / "claims.json").read_text())


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    with opened(context, f"{address}/{PLACE}") as visit:
        visit.page.set_default_timeout(120_000)
        yield visit.page
        assert visit.problems == []


def ids(page: Page) -> list[str]:
    return page.locator(ROWS).evaluate_all("rows => rows.map(row => row.id)")


def behind(page: Page, claim: str) -> Locator:
    return page.locator(f"#about-{claim}")


def toggle(page: Page, claim: str) -> Locator:
    return page.locator(f"#{claim} > th > button")


def judged(records: list[dict]) -> dict:
    """A claim with a picture, a number of the paper's and seeds that differ."""
    able = (r for r in records if r["paper_gain"] and r["half_width"] and r["stand_in"])
    return next(able)


def taken(page: Page, group: Locator, kind: str) -> tuple[str, str]:
    """The name and the text of what a button has downloaded."""
    with page.expect_download() as waiting:
        group.get_by_role("button", name=kind, exact=True).click()
    path = waiting.value.path()
    return waiting.value.suggested_filename, Path(path).read_text()


def test_a_choice_leaves_fewer_rows_and_is_kept_in_the_address(page, records) -> None:
    every = len(records)
    of_papers = [r["id"] for r in records if not r["again"]]
    expect(page.locator(STATUS)).to_have_text(f"{len(of_papers)} of {every} shown.")
    assert ids(page) == of_papers and "?" not in page.url
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(STATUS)).to_have_text(f"{every} of {every} shown.")
    page.get_by_label("Verdict", exact=True).select_option("opposite")
    page.get_by_label("Scale", exact=True).select_option("on a stand-in")
    wanted = [r["id"] for r in records if r["verdict"] == "opposite" and r["stand_in"]]
    assert ids(page) == wanted
    expect(page.locator(STATUS)).to_have_text(f"{len(wanted)} of {every} shown.")
    page.reload()
    expect(page.locator(STATUS)).to_have_text(f"{len(wanted)} of {every} shown.")
    assert ids(page) == wanted and "verdict=opposite" in page.url
    page.get_by_role("button", name="Show all").click()
    assert len(ids(page)) == len(records) and page.url.endswith("?kind=")


def test_each_choice_says_how_many_it_would_leave(page, records) -> None:
    page.get_by_role("button", name="Show all").click()
    of = {r["id"]: r for r in records}
    papers = [of[r["again"] or r["id"]]["paper"] for r in records]
    options = page.get_by_label("Paper", exact=True).locator("option").all_inner_texts()
    said = [int(n) for text in options for n in re.findall(r"\((\d+)\)", text)]
    assert said == [papers.count(p) for p in NAMES]
    page.get_by_label("Method", exact=True).select_option("SCAFFOLD")
    wanted = [r for r in records if "scaffold" in r["a"]["methods"] + r["b"]["methods"]]
    assert ids(page) == [r["id"] for r in wanted]


def test_words_choose_too(page, records) -> None:
    page.get_by_label("Words").fill("shift fmnist")
    said = [text.lower() for text in page.locator(ROWS).all_inner_texts()]
    assert 0 < len(said) < len(records)
    assert all("shift" in text and "fmnist" in text for text in said)


def test_the_gap_sorts_by_tolerances(page, records) -> None:
    known = {
        r["id"]: abs(r["gap"]) / r["tolerance"]
        for r in records
        if r["gap"] is not None and not r["stand_in"] and not r["again"]
    }
    assert len(known) > 3
    head = page.locator("th[data-sort=gap]")
    for turn, sign in (("descending", -1), ("ascending", 1)):
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", turn)
        order = [sign * known[name] for name in ids(page)[: len(known)]]
        assert order == sorted(order)
    assert "sort=-gap" in page.url
    page.reload()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert page.locator("[aria-sort]").count() == 1


def test_everything_by_keyboard(page, records) -> None:
    page.get_by_label("Verdict", exact=True).focus()
    page.keyboard.type("opp")
    expect(page.locator(STATUS)).not_to_have_text(re.compile(f"^{len(records)} "))
    first = ids(page)[0]
    head = page.locator("th[data-sort=ours] button")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
        if page.evaluate("document.activeElement.closest('tbody') !== null"):
            break
    assert {"CSV", "JSON", "LaTeX", "BibTeX", "our gain"} <= set(reached)
    seen = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(seen) == "solid"
    page.keyboard.press("Space")
    expect(behind(page, first)).to_be_visible()
    expect(toggle(page, first)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(behind(page, first)).to_have_count(0)
    head.focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[data-sort=ours]")).to_have_attribute(
        "aria-sort", "descending"
    )


def test_an_address_opens_its_claim_though_a_filter_hides_it(
    context, address, records
) -> None:
    claim = judged(records)
    other = "opposite" if claim["verdict"] != "opposite" else "undecided"
    where = f"{address}/{PLACE}?verdict={other}#{claim['id']}"
    with opened(context, where) as visit:
        expect(behind(visit.page, claim["id"])).to_be_visible()
        expect(visit.page.locator(f"#{claim['id']}")).to_be_in_viewport()
        expect(visit.page.locator(STATUS)).to_contain_text("the one that was asked for")
        assert visit.problems == []


def test_the_picture_has_the_record_s_numbers(page, records) -> None:
    claim = judged(records)
    toggle(page, claim["id"]).click()
    picture = behind(page, claim["id"]).locator("svg.fl-forest")
    a, b = claim["a"]["values"], claim["b"]["values"]
    gains = [a[seed] - b[seed] for seed in a]
    spots = picture.locator("circle").evaluate_all(
        "dots => dots.map(d => [Number(d.dataset.gain), d.cx.baseVal.value])"
    )
    assert [gain for gain, _ in spots] == pytest.approx(gains)
    mark = picture.locator("rect[data-mean]")
    at = mark.evaluate("m => m.x.baseVal.value + m.width.baseVal.value / 2")
    mean, half = claim["mean"], claim["half_width"]
    assert float(str(mark.get_attribute("data-mean"))) == mean
    # Where one seed and another are says where everything has to be.
    (g0, x0), (g1, x1) = min(spots), max(spots)
    per = (x1 - x0) / (g1 - g0)
    assert at == pytest.approx(x0 + (mean - g0) * per, abs=0.1)
    ends = picture.locator("line[data-half]").evaluate(
        "l => [l.x1.baseVal.value, l.x2.baseVal.value]"
    )
    wanted = [x0 + (mean + side * half - g0) * per for side in (-1, 1)]
    assert ends == pytest.approx(wanted, abs=0.1)
    zero = picture.locator(".fl-zero").evaluate("l => l.x1.baseVal.value")
    assert zero == pytest.approx(x0 - g0 * per, abs=0.1)
    box = picture.locator("[data-paper]").evaluate(
        "p => { const b = p.getBBox(); return b.x + b.width / 2; }"
    )
    assert box == pytest.approx(x0 + (claim["paper_gain"] - g0) * per, abs=0.1)
    said = str(picture.get_attribute("aria-label"))
    assert f"{mean:+.2f} ± {half:.2f}" in said and all(f"seed {s} " in said for s in a)


def test_a_command_is_copied(context, page, records) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    claim = judged(records)
    toggle(page, claim["id"]).click()
    button = behind(page, claim["id"]).get_by_role(
        "button", name="Copy the command of B"
    )
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == claim["b"]["command"]
    context.clear_permissions()


def test_one_claim_can_be_taken_away(page, records) -> None:
    claim = judged(records)
    toggle(page, claim["id"]).click()
    group = behind(page, claim["id"]).get_by_role("group", name="Download")
    name, text = taken(page, group, "CSV")
    assert name == f"claim-{claim['id']}.csv"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {r["seed"]: float(r["a"]) for r in rows} == claim["a"]["values"]
    for r in rows:
        assert float(r["gain"]) == pytest.approx(float(r["a"]) - float(r["b"]))
        assert r["ran_on"] == claim["ran_on"]
    _, text = taken(page, group, "JSON")
    assert json.loads(text) == [claim]
    _, text = taken(page, group, "BibTeX")
    assert [m[0] for m in re.findall(r"@(\w+)", text)] == ["i", "s"]


def test_what_is_shown_can_be_taken_away(page, records) -> None:
    page.get_by_label("Paper", exact=True).select_option("rFedAvg")
    shown, group = ids(page), page.get_by_role("group", name="Download what is shown")
    name, text = taken(page, group, "CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    of = {r["id"]: r for r in records}
    assert name == "claims.csv" and [r["id"] for r in rows] == shown
    for r in rows:
        known = of[r["id"]]
        assert r["verdict"] == known["verdict"] and r["ran_on"] == known["ran_on"]
        assert r["mean"] == "" or float(r["mean"]) == known["mean"]
    _, text = taken(page, group, "JSON")
    assert json.loads(text) == [of[name] for name in shown]
    _, text = taken(page, group, "LaTeX")
    lines = [line for line in text.splitlines() if line.endswith("\\\\")]
    assert len(lines) == len(shown) + 1  # and the head
    assert all(len(re.findall(r"(?<!\\)&", line)) == 5 for line in lines)
    body = re.sub(r"\$[_^]2\$|^%.*", "", text, flags=re.M)
    assert not re.search(r"(?<!\\)[%#_^~]", body) and body.isascii()


def test_nothing_that_opens_names_what_was_not_run(page) -> None:
    opened_ = page.locator(".fl-every > tbody > tr > th > button").evaluate_all(
        "buttons => buttons.map(button => button.click()).length"
    )
    boxes = page.locator(".fl-claim").evaluate_all("all => all.map(b => b.outerHTML)")
    assert len(boxes) == opened_
    assert not list(untrue(BeautifulSoup("".join(boxes), "html.parser")))


def test_it_works_from_a_folder_and_asks_for_nothing(
    browser: Browser, site: Path, records
) -> None:
    context = browser.new_context()
    page, asked, failed = context.new_page(), [], []
    page.set_default_timeout(120_000)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.goto((site / PLACE).as_uri())
    page.get_by_label("Verdict", exact=True).select_option("opposite")
    expect(page.locator(STATUS)).not_to_have_text(re.compile(f"^{len(records)} "))
    first = ids(page)[0]
    toggle(page, first).click()
    expect(behind(page, first).locator("svg.fl-forest")).to_be_visible()
    assert failed == []
    assert all(url.startswith("file:") or is_local(url) for url in asked)
    assert not [url for url in asked if url.endswith("claims.json")]
    context.close()


def test_without_a_script_it_is_a_table(browser: Browser, address, records) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{PLACE}")
    assert len(page.locator(ROWS).all()) == len(records)
    expect(page.locator(".fl-filters")).to_be_hidden()
    context.close()


def test_an_open_claim_fits_a_phone(browser: Browser, address, records) -> None:
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.goto(f"{address}/{PLACE}#{judged(records)['id']}")
    expect(page.locator("svg.fl-forest")).to_be_visible()
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= PHONE["width"]
    page.get_by_label("Sort by").select_option("gap")
    expect(page.locator("th[data-sort=gap]")).to_have_attribute(
        "aria-sort", "descending"
    )
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_claim_is_accessible(context, address, records, scheme) -> None:
    where = f"{address}/{PLACE}?verdict=opposite#{judged(records)['id']}"
    with opened(context, where) as visit:
        expect(visit.page.locator("svg.fl-forest")).to_be_visible()
        assert not_accessible(visit, AXE, scheme) == []


@pytest.mark.parametrize("end", ["#%", "#%zz", "#nothing"])
def test_an_address_that_names_no_claim_shows_all(context, address, records, end):
    with opened(context, f"{address}/{PLACE}{end}") as visit:
        rows = visit.page.locator(".fl-every tbody tr[id]:visible")
        expect(rows).to_have_count(sum(r["again"] == "" for r in records))
        assert visit.problems == []

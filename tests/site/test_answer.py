"""A stranger's minute: from the first page to the two answers, by one click each."""

import re

import pytest
from playwright.sync_api import Page, expect

from tools.visit import DESK, PHONE

pytestmark = pytest.mark.browser
FRONT = "notebooks/index.html"


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, address, request):
    context = browser.new_context(viewport=request.param, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/{FRONT}")
    yield page
    context.close()


def follow(page: Page, name: str) -> None:
    page.locator("article").get_by_role("link", name=name, exact=True).first.click()
    expect(page.locator("h1").first).to_contain_text(name)


def test_does_feddisco_help_whom_by_how_much_measured_on_what(page):
    follow(page, "What holds")
    row = page.locator("tr#feddisco")
    expect(row).to_be_visible()
    row.locator("summary").click()
    said = row.inner_text()
    assert re.search(r"helps|hurts|told|depends", said)  # whether
    assert re.search(r"It asks that .*\.", said)  # whom
    assert re.search(r"[+-]\d+\.\d ± \d+\.\d points", said)  # by how much
    assert re.search(r"On .*clients.*seeds", said)  # measured on what


def test_which_method_for_few_clients_a_round_with_skewed_labels(page):
    follow(page, "Which method should I use?")
    advice = page.locator(".fl-frames .fl-advice:visible")
    chosen = page.locator(".fl-control select option:checked")
    expect(chosen).to_have_text("few a round, labels very skewed")
    expect(advice).to_have_text(re.compile(r"^(Use|Stay with) .* ± .* points"))


def test_another_choice_changes_the_advice(page):
    follow(page, "Which method should I use?")
    advice = page.locator(".fl-frames .fl-advice:visible")
    before = advice.inner_text()
    page.get_by_role("button", name="a model for each client").click()
    page.locator(".fl-control select").select_option(label="four kinds of clients")
    expect(advice).not_to_have_text(before)
    assert advice.count() == 1

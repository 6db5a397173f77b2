"""The playground's page, as it is used: what is pressed, chosen and waited for."""

from playwright.sync_api import Locator, Page

ROWS = "document.querySelector('[data-playground]').playground.run.rows"
PICTURED = [f".pg figure[data-of={name}] > svg" for name in ("plane", "curve")]
CHOSEN = [f".pg-controls [data-of={n}]" for n in ("split", "weigh", "alpha", "epochs")]


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def rounds_played(page: Page, many: int) -> None:
    page.wait_for_function(f"many => {ROWS}.length >= many", arg=many)


def more(page: Page) -> None:
    page.locator(".pg-controls details").evaluate("e => { e.open = true; }")


def fast(page: Page) -> None:
    page.locator(".pg-speeds").get_by_text("fast", exact=True).click()


def row_of(page: Page, choice: str) -> Locator:
    return page.locator(f"fieldset[data-of={choice}]")

"""Everything that is looked at while a page is open, so that it is opened once."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Error

from tools import paths, visit
from tools.visit import Visit, opened

AXE = paths.assets(paths.ROOT) / "axe" / "axe.min.js"

Findings = dict[str, list[str]]

CHECKS: dict[str, Callable[[Visit], list[str]]] = {
    "accessible when light": lambda v: visit.not_accessible(v, AXE, "light"),
    "accessible when dark": lambda v: visit.not_accessible(v, AXE, "dark"),
    "fits a phone": visit.not_for_phones,
    "follows the theme": visit.stuck_theme,
    "controls move pictures": visit.dead_controls,
    "players play": visit.dead_players,
}
NAMES = ("no problem at all", "light enough", *CHECKS)


def every_check(
    context: BrowserContext, address: str, site: Path, name: str
) -> Findings:
    """The findings of each check on one page."""
    read = "?reveal" if name.startswith("notebooks/") else ""  # what a question closes
    with opened(context, f"{address}/{name}{read}") as seen:
        found = {"light enough": visit.too_heavy(seen, site)}
        visit.answered(seen)
        for what, check in CHECKS.items():
            try:
                found[what] = check(seen)
            except (AssertionError, Error) as error:
                found[what] = [str(error)]
        found["no problem at all"] = list(seen.problems)
    return found

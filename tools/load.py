"""Time and bytes until a page is there for a reader on a slow line.

The line is that of a phone on the train: 1.6 Mbit/s, 150 ms to the server and back.
"""

import time
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, TimeoutError

from tools.visit import DESK

BITS_PER_S = 1_600_000
ROUND_TRIP_MS = 150
PATIENCE_S = 60
FIRST_CONTROL = ".fl-control input, .fl-frames .noUi-handle"
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SHOWN = """() => [...document.querySelectorAll(
    '.fl-frames .fl-stage svg[aria-label], .fl-frames .fl-stage img[alt]')]
    .filter(picture => picture.getClientRects().length)
    .map(picture => picture.getAttribute('aria-label') ?? picture.alt)[0]"""


@dataclass(frozen=True)
class Load:
    """A page, from the click on the way to it until its first control moved."""

    first_content_s: float
    control_s: float
    control_bytes: int  # on the line, compressed as the server sends them


def load(browser: Browser, address: str) -> Load:
    """Open a page on the slow line with nothing kept from before; move a control."""
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    page = context.new_page()
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": ROUND_TRIP_MS,
            "downloadThroughput": BITS_PER_S / 8,
            "uploadThroughput": BITS_PER_S / 8,
        },
    )
    came: list[int] = []
    line.on("Network.dataReceived", lambda event: came.append(_size(event)))
    start = time.perf_counter()
    try:
        page.goto(address, wait_until="commit")
        moved = _until_it_moves(page, start)
        painted = page.evaluate(_PAINTED)
        return Load(painted / 1000, moved, sum(came))
    finally:
        context.close()


def _size(event: dict) -> int:
    return event["encodedDataLength"] or 0


def _until_it_moves(page: Page, start: float) -> float:
    """Seconds until a key on the first control changes the picture."""
    control, before = page.locator(FIRST_CONTROL).first, None
    while time.perf_counter() - start < PATIENCE_S:
        try:
            control.focus(timeout=1000)
        except TimeoutError:
            continue
        before = before or page.evaluate(_SHOWN)
        page.keyboard.press("ArrowRight")
        for _ in range(10):
            if before and page.evaluate(_SHOWN) != before:
                return time.perf_counter() - start
            page.wait_for_timeout(20)
    raise TimeoutError(f"no control moved within {PATIENCE_S} s")

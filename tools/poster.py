"""README's picture of the playground: ten clients train, and a choice is changed."""

import argparse
import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from tools import paths
from tools.browser import chromium, served

PLACE = "book/playground.html?split=big"
FILE = Path("book") / "_static" / "playground.gif"
CHOICES = ("size", "equal")  # what each client counts by, one after the other
ROUNDS, SHOWN = 12, 0.9  # of each; how large it is drawn
_WINDOW: ViewportSize = {"width": 1366, "height": 768}
_COLOURS, _EACH, _LAST = 64, 180, 2500  # how long a picture stands, in milliseconds


def pictures(page: Page) -> list[Image.Image]:
    """The drawings of the playground, round by round, with each of the choices."""
    taken = []
    for choice in CHOICES:
        page.locator("fieldset[data-of=weigh]").get_by_text(choice, exact=True).click()
        for n in range(1, ROUNDS + 1):
            page.get_by_role("button", name="One round", exact=True).click()
            page.locator(".pg-now", has_text=f"Round {n}:").wait_for()
            shot = page.locator(".pg-stage").screenshot(animations="disabled")
            taken.append(Image.open(io.BytesIO(shot)).convert("RGB"))
    wide, high = (min(side) for side in zip(*(t.size for t in taken), strict=True))
    size = round(SHOWN * wide), round(SHOWN * high)
    return [t.crop((0, 0, wide, high)).resize(size) for t in taken]


def write(path: Path, taken: list[Image.Image]) -> None:
    """An animated picture, in few colours, which rests on its last."""
    few = taken[-1].quantize(_COLOURS)  # for all: else every picture brings its own
    still = Image.Dither.NONE
    first, *rest = [t.quantize(palette=few, dither=still) for t in taken]
    times = [_EACH] * len(rest) + [_LAST]
    more = {"append_images": rest, "duration": times, "loop": 0, "optimize": True}
    first.save(path, save_all=True, **more)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.poster", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT)
    given = parser.parse_args(arguments)
    site = paths.site(given.root)
    if not site.is_dir():
        print(f"error: {site} is not there; run `make book` first", file=sys.stderr)
        return 2
    with served(site) as address, chromium() as browser:
        page = browser.new_page(viewport=_WINDOW, reduced_motion="reduce")
        page.goto(f"{address}/{PLACE}")
        page.locator(".pg-play").wait_for()
        taken = pictures(page)
    path = given.root / FILE
    write(path, taken)
    print(f"{path}: {len(taken)} pictures, {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

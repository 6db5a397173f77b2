"""A lab sheet on paper: one page of A4, with room to write on."""

import re

import pytest
from playwright.sync_api import BrowserContext

from tests.thin_cases import THIN
from tools import lab, lesson, paths

pytestmark = pytest.mark.browser

_SHEETS = rb"/Type\s*/Page\b"
# How much of the page its text does not need.
_LEFT = """() => {
    for (const room of document.querySelectorAll(".room")) room.style.flexGrow = 0;
    document.body.style.height = "auto";
    const needed = document.body.getBoundingClientRect().height;
    document.body.style.height = "";
    return document.body.getBoundingClientRect().height - needed;
}"""


@pytest.mark.parametrize("name", THIN)
def test_a_sheet_is_one_page(context: BrowserContext, name: str) -> None:
    about = lesson.lesson(paths.ROOT / "notebooks" / f"{name}.ipynb")
    page = context.new_page()
    page.set_content(lab.sheet(about))
    for margins in (True, False):  # as the sheet has them, and the browser's own
        printed = page.pdf(format="A4", prefer_css_page_size=margins)
        assert len(re.findall(_SHEETS, printed)) == 1
    page.emulate_media(media="print")
    assert page.evaluate(_LEFT) > 40  # pixels, for the pencil
    page.set_content(lab.sheet(about).replace("272mm", "290mm"))
    assert (
        len(re.findall(_SHEETS, page.pdf(format="A4", prefer_css_page_size=True))) == 2
    )
    page.close()

"""The book explains each field that a stored line has."""

import re
from pathlib import Path

from fedlab_ledger.model.lines import KNOWN

PAGE = Path(__file__).parents[2] / "book" / "how_this_book_is_made.md"


def test_every_field_of_a_line_is_explained_once():
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(told) == len(set(told))
    assert set(told) == KNOWN

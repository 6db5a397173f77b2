"""Pages that the search leads to by other words than their titles' are there."""

import re
from pathlib import Path

from tests.once import each

ROOT = Path(__file__).parents[1]
TABLE = re.search(
    r"const PAGES = \{(.*?)\n\};", (ROOT / "book/_static/scorer.js").read_text(), re.S
)
assert TABLE
PAGES = re.findall(r"^  (?:\"(.*?)\"|(\w+)): \"(\w+)\",$", TABLE[1], re.M)
FILES = re.findall(r"file: (\S+)", (ROOT / "book/_toc.yml").read_text())


def test_every_line_of_the_table_is_read():
    assert len(PAGES) == TABLE[1].strip().count("\n") + 1 >= 12  # type: ignore


@each(PAGES)
def test_each_word_leads_to_one_page(line):
    quoted, plain, name = line
    there = [f for f in FILES if re.search(rf"(^|/)(\d\d_)?{name}$", f)]
    assert len(there) == 1, (quoted or plain, there)
    re.compile(quoted or plain)

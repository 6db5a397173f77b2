"""How the ledger's pages write times, numbers and docstrings."""

import pytest

from fedlab_book.ledger.markup import number, written
from fedlab_ledger.model.provenance import took


@pytest.mark.parametrize(
    "seconds, said", [(0.31, "0.3 s"), (99.0, "99 s"), (600, "10 min"), (7200, "2.0 h")]
)
def test_times_are_written_in_a_unit_that_suits_them(seconds, said):
    assert took(seconds) == said


def test_numbers_have_as_many_digits_as_they_are_worth():
    assert number(62.345, "%") == "62.34" and number(0.5, "share", "+") == "+0.500"
    assert number(-53352.0, "bytes", "+") == "-53352"
    assert number(400.0, "bytes") == "400" and number(2.0, "rounds") == "2.0"
    assert number(0.0, "steps", like=-7600.0) == "0"


def test_docstrings_become_paragraphs_and_lists():
    said = written(
        "One.\nStill one.\n\nA list:\n1. a < b\n   goes on\n2. c\n\n- d\n- e"
    )
    assert said == (
        "<p>One. Still one.</p><p>A list:</p><ol><li>a &lt; b goes on</li><li>c</li>"
        "</ol><ul><li>d</li><li>e</li></ul>"
    )

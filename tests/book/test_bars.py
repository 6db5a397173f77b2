"""Bars as SVG: what is drawn is what was given."""

import xml.etree.ElementTree as ET

import pytest

from fedlab_book.bars import Bar, bars

ALT = "Two bars <of> one hundred, the second half as long as the first."


def test_lengths_are_shares_and_text_is_escaped():
    markup = bars([Bar("A & B", "50 %, x", 50.0, 25.0), Bar("C", "y", 25.0)], ALT)
    root = ET.fromstring(markup)
    assert root.get("aria-label") == ALT and root.get("role") == "img"
    full, half = (float(r.get("width", "nan")) for r in root.iter("rect"))
    assert full == pytest.approx(240) and half == pytest.approx(120)
    (mark,) = root.iter("path")  # of the first bar alone
    assert str(mark.get("d")).startswith("M130.0 ")
    assert [t.text for t in root.iter("text")] == ["A & B", "50 %, x", "C", "y"]


def test_without_a_share_there_are_only_lines():
    root = ET.fromstring(bars([Bar("Not offered", "because " * 20)], ALT))
    assert not list(root.iter("rect"))
    lines = [str(t.text) for t in root.iter("text")]
    assert lines[0] == "Not offered" and len(lines) > 2
    assert max(map(len, lines)) <= 54

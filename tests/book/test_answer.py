"""The page with the answer: a row a paper, with marks where the numbers are."""

import html
import re

import pytest

from fedlab_book.ledger.answer import EDGE, alt, answered, changed, strip
from fedlab_ledger.report.answers import QUESTIONS, answers
from fedlab_ledger.report.book import NAMES
from tests.once import the_book


@pytest.fixture(scope="module")
def found():
    return answers(the_book())


@pytest.mark.slow
def test_a_row_a_paper_with_claim_finding_effect_and_where_it_ran():
    shown = str(answered(the_book()).data)
    rows = re.findall(r'<tr id="(\w+)">(.*?)</tr>', shown, re.DOTALL)
    assert [paper for paper, _ in rows] == list(NAMES)
    for question, (_, row) in zip(QUESTIONS, rows, strict=True):
        assert question.claim in html.unescape(row)
        assert "<em>It asks that</em>" in row and "Large mark: " in row
        assert "rounds" in row
        assert row.count("<svg") == 1 and 'role="img"' in row


def test_marks_stand_where_the_gains_are(found):
    """From the drawing back to the numbers."""
    for a in found:
        picture = strip(a)
        (zero,) = re.findall(r'x1="([\d.]+)"[^>]*class="fl-zero"', picture)
        ticks = sorted(
            float(x) for x in re.findall(r'x1="([\d.]+)"[^>]*fl-tick', picture)
        )
        a_point = (ticks[1] - float(zero)) / 5
        drawn = sorted(
            (float(x) - float(zero)) / a_point
            for x in re.findall(r'cx="([\d.]+)"', picture)
        )
        inside = [e for e in a.effects if abs(e.mean) <= EDGE]
        assert drawn == pytest.approx(sorted(e.mean for e in inside), abs=0.02)
        beyond = [e for e in a.effects if abs(e.mean) > EDGE]
        assert picture.count('"fl-mark"') == len(beyond)
        for side in {e.mean > 0 for e in beyond}:
            far = max(abs(e.mean) for e in beyond if (e.mean > 0) == side)
            assert f"{'+' if side else '−'}{far:.0f}</text>" in picture
        hollow = len(re.findall("fl-hollow", picture))
        assert hollow == sum(e.judged.stand_in for e in a.effects)
        claimed = a.headline and not a.headline.judged.stand_in
        assert ("fl-claimed" in picture) == bool(claimed)


def test_the_words_say_what_the_marks_show(found):
    for a in found:
        if a.headline is not None:
            assert a.headline.text in alt(a)
            assert len(alt(a)) > 40


@pytest.mark.slow
def test_the_furthest_comparisons_are_named_by_their_settings(found):
    shown = str(answered(the_book()).data).replace("&#39;", "'")
    for a in found:
        for e in filter(None, (a.best, a.worst)):
            claim = e.judged.claim
            assert f"{claim.cell.row}, {claim.where}</span>" in shown
            assert claim.where in (claim.setting, claim.sentence)


def test_the_table_of_before_and_after_adds_up():
    shown = str(changed(the_book()).data)
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", shown)
    numbers = [
        [int(n) if n != "–" else 0 for n in re.findall(r"<td>(.*?)</td>", row)]
        for row in rows
    ]
    assert len(numbers) == 4
    assert [sum(c) for c in zip(*numbers[:3], strict=True)] == numbers[3]
    assert all(sum(row[:-1]) == row[-1] for row in numbers)

"""A sentence and its table; a question and its answers."""

import re

import numpy as np
import pytest

from fedlab_book.findings import Row, Unsupported, finding, told
from fedlab_book.predict import predict
from fedlab_core.errors import InputError
from tests.figure_cases import NONE, UP


def found(
    *rows: Row, sentence: str = "", holds: bool = True, built_in: bool = True
) -> str:
    return str(finding(sentence, rows, holds=holds, built_in=built_in).data)


def asked(answers: dict[str, str], right: str) -> str:
    return str(predict("Where?", answers, right).data)


CLEAR, NEAR = np.array([2.0, 2.2, 1.9, 2.1]), np.array([0.3, -0.2, 0.1, -0.3])


def test_a_finding_says_its_sentence_and_puts_numbers_in_the_table():
    shown = found(Row("A & B", CLEAR), Row("C", NEAR), sentence="It helps <here>.")
    assert "<strong>It helps &lt;here&gt;.</strong>" in shown
    assert "A &amp; B" in shown and "+2.0 ± 0.2" in shown
    assert "<td>gains</td>" in shown and "4 seeds, paired" in shown


def test_a_finding_says_what_its_values_are_and_which_rows_have_fewer():
    few = found(Row("A", CLEAR), Row("C", NEAR[:3]), Row("D", UP, aside=True))
    assert "<caption>4 seeds, paired (C: 3).</caption>" in few
    how = {"holds": True, "each": "draws, one seed", "note": "A note."}
    rows = [Row("A", CLEAR), Row("B", NEAR, aside=True)]
    drawn = str(finding("", rows, **how).data)
    assert "<caption>4 draws, one seed. A note.</caption>" in drawn
    assert "The same draws, on the same axis." in drawn


def test_what_is_undecided_is_grey_and_hollow():
    clear, near = (found(Row("x", v)) for v in (CLEAR, NEAR))
    assert 'class="fl-undecided"' in near and 'fill="none"' in near
    assert "fl-undecided" not in clear and 'fill="none"' not in clear
    assert "<td>cannot tell</td>" in near


def test_what_is_smaller_than_a_bound_is_said_to_be_and_is_not_grey():
    near = found(Row("x", NEAR, within=0.6))
    assert "<td>within 0.6</td>" in near and "fl-undecided" not in near
    assert 'fill="none"' in near  # zero is inside all the same
    for row in (Row("x", NEAR, within=0.3), Row("x", NEAR[:2], within=9.0)):
        assert "<td>cannot tell</td>" in found(row) and not row.near
    assert "<td>gains</td>" in found(Row("x", CLEAR, within=2.1))


def test_no_interval_looks_as_if_zero_were_in_it_or_as_if_it_had_no_width():
    """Six seeds, half of them on either side: ± is 1.15 times how far."""

    def around(mean: float, far: float) -> str:
        return found(Row("x", np.array([mean - far, mean + far] * 3)))

    assert "<td>+0.56 ± 0.55</td><td>gains" in around(0.56, 0.4818)
    assert "<td>+0.6 ± 0.3</td><td>gains" in around(0.56, 0.25)
    assert "<td>+0.5 ± 0.6</td><td>cannot tell" in around(0.53, 0.48)
    assert "<td>+0.01 ± 0.02</td><td>cannot tell" in around(0.01, 0.0174)
    assert "<td>+0.0 ± 0.0</td><td>cannot tell" in around(0.0, 0.0)


def test_a_sentence_that_the_runs_do_not_carry_stops_the_build_and_is_named():
    with pytest.raises(Unsupported, match="It helps everywhere"):
        found(Row("A", NEAR), sentence="It helps everywhere.", holds=False)


def test_on_other_data_it_gives_way_to_one_that_says_so():
    shown = found(Row("A", NEAR), sentence="It helps.", holds=False, built_in=False)
    assert "It helps." not in shown and "not carried by these runs" in shown
    shown = found(Row("A", NEAR), sentence="It helps.", holds=True, built_in=False)
    assert "It helps." in shown


def test_a_papers_number_has_a_column_and_a_claim_its_verdict():
    shown = found(Row("A", CLEAR, 1.5, 1), Row("B", CLEAR, claim=-1))
    assert "<td>same direction</td><td>+1.5</td>" in shown
    assert "<td>opposite</td><td></td>" in shown
    assert "paper" in shown and "paper" not in found(Row("A", CLEAR))
    three = found(Row("A", CLEAR, [4.6, -1.1, 1.3]))
    assert "<td>+4.6, -1.1, +1.3</td>" in three and three.count("<path") == 3


def test_a_note_stands_below_the_table():
    shown = str(finding("It helps.", [Row("A", CLEAR)], holds=True, note="B: 5 %").data)
    assert "paired. B: 5 %</caption>" in shown


def test_all_rows_share_an_axis_with_zero_on_it():
    shown = found(Row("A", CLEAR), Row("B", -CLEAR))
    zeros = [line for line in shown.split("<line ") if "dasharray" in line]
    assert len({z.split('y1="')[0] for z in zeros}) == 1 == len(zeros) - 1
    at = float(zeros[0].split('x1="')[1].split('"')[0])
    assert at == pytest.approx(100, abs=0.5)  # as far on either side


def test_one_seed_and_equal_numbers_are_drawn():
    for values in ([1.0], [0.0, 0.0, 0.0]):
        shown = found(Row("A", values))
        assert "undecided" in shown and "nan" not in shown.split("<td>")[1]


def test_a_finding_without_a_row_is_none():
    with pytest.raises(InputError, match="needs a row"):
        found()


ANSWERS = {"Up": "It is <b>up</b>.", "Down": "No gain is lost."}


def test_a_prediction_has_a_line_for_each_answer():
    shown = asked(ANSWERS, right="Down")
    assert shown.count('type="radio"') == 2 and 'role="status"' in shown
    assert "<b>No.</b> It is &lt;b&gt;up&lt;/b&gt;." in shown
    assert "<b>Yes.</b> No gain is lost." in shown


def test_two_predictions_are_chosen_apart():
    names = [asked(ANSWERS, "Up").split('name="')[1] for _ in "ab"]
    assert names[0].split('"')[0] != names[1].split('"')[0]


@pytest.mark.parametrize(
    ("answers", "right", "why"),
    [
        ({"Up": "x"}, "Up", "two answers"),
        (ANSWERS, "Left", "choose from Up, Down"),
        ({"Up": " ", "Down": "x"}, "Up", "no line is told to who chose Up"),
    ],
)
def test_a_prediction_without_a_choice_or_a_line_is_refused(answers, right, why):
    with pytest.raises(InputError, match=why):
        asked(answers, right)


def test_reasons_give_way_where_runs_answer_otherwise():
    answers = {"up": "it is pulled", "down": "it is pushed"}
    kept = str(predict("Where?", answers, right="up", written="up").data)
    assert "it is pulled" in kept and "it is pushed" in kept
    shown = str(predict("Where?", answers, right="down", written="up").data)
    assert "it is pu" not in shown and shown.count("written for others") == 2
    assert shown.index("No.") < shown.index("Yes.")
    with pytest.raises(InputError, match="written='left': choose from up, down"):
        predict("Where?", answers, right="up", written="left")


def signed(*signs: int | None) -> list[Row]:
    """A row above zero, one below it, one with zero inside, and what they need."""
    values = (UP, -UP, NONE)
    return [Row(n, v, sign=s) for n, v, s in zip("ABC", values, signs, strict=True)]


@pytest.mark.parametrize("signs", [(1, -1, 0), (1, None, None), (None, None, 0)])
def test_a_sentence_stands_on_the_side_of_every_row(signs):
    assert "It is so." in str(finding("It is so.", signed(*signs)).data)


@pytest.mark.parametrize("signs", [(-1, -1, 0), (1, 0, 0), (1, -1, 1)])
def test_a_planted_wrong_number_stops_the_build(signs):
    with pytest.raises(Unsupported, match="It is so"):
        finding("It is so.", signed(*signs))
    with pytest.raises(Unsupported):
        finding("It is so.", signed(1, -1, 0), holds=False)
    with pytest.raises(Unsupported):
        finding("It is so.", signed(*signs), holds=True)
    shown = finding("So.", signed(*signs), built_in=False)
    assert "read the table" in str(shown.data)


def test_a_sentence_needs_a_condition():
    with pytest.raises(InputError, match="a row's sign, or holds"):
        finding("It is so.", signed(None, None, None))


def test_rows_in_words_have_no_minus_before_zero():
    assert told([Row("A", UP)]) == "A +2.0 ± 0.4"
    assert "-0.0" not in told([Row("A", [-0.01, -0.02, 0.0])])


def test_what_stands_aside_is_folded_on_the_same_axis():
    rows = [Row("A", CLEAR), Row("B", [9.0, 9.1, 9.2], aside=True)]
    shown = str(finding("It helps.", rows, holds=True).data)
    before, fold = shown.split('<details class="fl-aside">')
    assert "<summary>1 more comparison</summary>" in fold
    assert "B" in fold and ">B<" not in before
    units = finding(
        "It helps.", rows, holds=True, unit="points over B", folded="points"
    )
    before, fold = str(units.data).split('<details class="fl-aside">')
    assert "points over B" in before and "points over B" not in fold
    alone = str(finding("It helps.", [Row("A", CLEAR)], holds=True).data)
    drawn = re.findall(r'<circle cx="([\d.]+)"', before)
    assert drawn != re.findall(r'<circle cx="([\d.]+)"', alone)
    folded = str(finding("It helps.", rows[1:], holds=True, note="Of us.").data)
    before, fold = folded.split('<details class="fl-aside">')
    assert "<table" not in before and "It helps." in before
    assert "<summary>1 comparison</summary>" in fold and "Of us." in fold

"""A sentence and its table; a question and its answers."""

import numpy as np
import pytest

from fedlab_book.findings import Row, Unsupported, finding
from fedlab_book.guesses import predict
from fedlab_core.errors import InputError


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
    assert "<td>a gain</td>" in shown and "4 seeds, paired" in shown


def test_what_is_undecided_is_grey_and_hollow():
    clear, near = (found(Row("x", v)) for v in (CLEAR, NEAR))
    assert 'class="fl-undecided"' in near and 'fill="none"' in near
    assert "fl-undecided" not in clear and 'fill="none"' not in clear
    assert "<td>undecided</td>" in near


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
    assert "<td>+1.5</td>" in shown and "<td></td><td>opposite</td>" in shown
    assert "<td>same direction</td>" in shown and "paper" in shown
    assert "paper" not in found(Row("A", CLEAR))


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

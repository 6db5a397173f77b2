"""The answers: what the sentences say is what the seeds say."""

from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import binom

from fedlab_ledger import Cell, Claim, Setting, judged
from fedlab_ledger.answers import QUESTIONS, Question, answers, repeats, stance
from fedlab_ledger.book import opened
from fedlab_ledger.earlier import FAILED, FEW, HELD, crossed, earlier
from fedlab_ledger.lines import Found
from fedlab_ledger.papers import CLAIMS
from fedlab_ledger.verdict import NONE, OPPOSITE, SAME, UNDECIDED

AHEAD, BEHIND, OPEN = [2, 2.1, 1.9], [-3, -3.1, -2.9], [1, -1, 0.5]


def claims_of(*many: list, scale: str = "small", unit: str = "%", question=None):
    """Judged claims of a question, each from the differences of its seeds."""
    question = question or QUESTIONS[0]
    lines, made = {}, []
    for i, gains in enumerate(many):
        sides = []
        for who in ("A", "B"):
            how = {scale: Setting("letters", who, i + 1, scenario={"clients": 4})}
            more: dict[str, Any] = {
                "unit": unit,
                "lacks": "one scale",
                "where": f"Table {i}; p. 1",
            }
            one = Cell(question.paper, f"t{i}", who, "c", how, None, **more)
            values = gains if who == "A" else [0.0] * len(gains)
            lines[one.key(scale)] = {
                k: {"value": v, "curve": [v], "diverged": None}
                for k, v in enumerate(values)
            }
            sides.append(one)
        sentence = f"it is {question.of}, place {i}"
        made.append(Claim(question.paper, str(i), sentence, *sides, said=1.0))
    return judged(made, Found(lines))


def answer(*many: list, **more):
    (found, *_) = answers(
        lambda paper: claims_of(*many, **more) if paper == "feddisco" else []
    )
    return found


def test_every_question_has_claims_of_its_paper():
    for question in QUESTIONS:
        mine = [c for c in CLAIMS[question.paper] if repeats(question, c)]
        assert len(mine) >= 3, question.paper
        assert all(c.cell.unit in ("%", "share") and c.sign == 1 for c in mine)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 60])
def test_a_side_counts_if_chance_would_seldom_give_it(n):
    for k in range(n + 1):
        rare = k > 0 and binom.sf(k - 1, n, 0.025) < 0.01
        assert ("helps" in stance(k, 0, n)) == rare
        assert ("hurts" in stance(0, k, n)) == rare
    assert "cannot" not in stance(n, 0, n)


def test_the_stance_tells_all_from_most_from_some():
    assert stance(0, 0, 0) == "Not run yet."
    assert stance(5, 0, 5) == "It helps wherever it was tried."
    assert stance(5, 0, 8) == "It helps in most settings tried."
    assert stance(5, 0, 20).startswith("It helps in some settings; in most, no gain")
    assert stance(0, 5, 20).startswith("It hurts in some settings; in most, no loss")
    assert stance(0, 5, 5) == "It hurts wherever it was tried."
    assert stance(4, 4, 20).startswith("It depends")
    assert stance(0, 0, 20) == stance(1, 1, 20) == "Neither gain nor loss can be told."


def test_an_answer_counts_what_came_out_how():
    found = answer(AHEAD, [4, 4.2, 3.8], BEHIND, OPEN, [5, 6])  # two seeds: not counted
    assert (found.ahead, found.behind, len(found.effects), found.waiting) == (
        2,
        1,
        4,
        1,
    )
    assert found.counted == "Ahead in 2 of 4 comparisons, behind in 1."
    assert found.best and found.best.mean == pytest.approx(4)
    assert found.worst and found.worst.mean == pytest.approx(-3)
    assert "None of them" in found.own_scale
    assert answer(OPEN).best is None and answer(OPEN).worst is None


def test_equal_runs_count_once_and_the_first_of_them_stays():
    found = answer(AHEAD, AHEAD, OPEN)
    assert [e.judged.claim.name for e in found.effects] == ["0", "2"]


def test_the_headline_is_at_the_largest_scale_with_most_seeds():
    rows = [*claims_of(AHEAD, [*OPEN, 0.2], OPEN), *claims_of([0, 1, 2], scale="paper")]
    (found, *_) = answers(lambda paper: rows if paper == "feddisco" else [])
    assert found.headline and not found.headline.judged.stand_in
    assert found.own_scale.startswith(
        "At the paper's own scale: +1.0 ± 2.5 points (the"
    )
    (found, *_) = answers(lambda paper: rows[:3] if paper == "feddisco" else [])
    assert found.headline and found.headline.judged.claim.name == "1"


def test_shares_become_points_and_other_units_do_not_count():
    found = answer([0.02, 0.021, 0.019], unit="share")
    assert found.headline and found.headline.text.startswith("+2.0 ± ")
    assert answer(AHEAD, unit="rounds").effects == ()


def test_the_reading_of_before_took_undecided_for_failed():
    even, few = [1, 1, 1, 1, -1, -1, -1, -1], [1, -1]
    rows = claims_of(AHEAD, OPEN, BEHIND, few, even, [1, 5, 9])
    assert [earlier(r) for r in rows] == [HELD, FAILED, FAILED, FEW, FAILED, HELD]
    counts = crossed(rows)
    assert counts[HELD][UNDECIDED] == 1 and counts[HELD][SAME] == 1
    assert counts[FAILED][UNDECIDED] == 2 and counts[FAILED][OPPOSITE] == 1
    tie = replace(rows[1], claim=replace(rows[1].claim, sign=0, said=None))
    assert earlier(tie) == HELD  # the mean is within the tolerance


def test_both_readings_count_every_claim_that_was_run():
    book = opened()
    rows = [j for paper in book.papers for j in book.claimed(paper)]
    done = sum(j.verdict.word != NONE for j in rows)
    assert sum(sum(c.values()) for c in crossed(rows).values()) == done > 100


def test_a_question_of_its_own_is_answered_alike():
    mine = Question("p", "do so", "nothing", "ahead of all")
    (row,) = claims_of(AHEAD, question=mine)
    assert repeats(mine, row.claim) and not repeats(QUESTIONS[0], row.claim)

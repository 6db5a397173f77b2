"""The answers: what the sentences say is what the seeds say."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.stats import binom

from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting, judged
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.verdict import NONE, OPPOSITE, SAME, UNDECIDED
from fedlab_ledger.papers import CLAIMS
from fedlab_ledger.report.answers import QUESTIONS, Count, answers, in_field, stance
from fedlab_ledger.report.earlier import FAILED, FEW, HELD, crossed, earlier
from tests.once import the_book

AHEAD, BEHIND, OPEN = [2, 2.1, 1.9], [-3, -3.1, -2.9], [1, -1, 0.5]


def claims_of(
    *many: list, scale: str = "small", unit: str = "%", role: Any = "main", again=""
):
    """Judged claims of the first question, each from the differences of its seeds."""
    question = QUESTIONS[0]
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
        more = {"said": 1.0, "again": again, "role": role, "setting": f"place {i}"}
        made.append(Claim(question.paper, str(i), f"it helps, {i}", *sides, **more))
    return judged(made, Found(lines))


def answered(rows: list, tries: list = (), tables=None, lines=None):  # pyright: ignore
    """The first question's answer, from a book with these claims."""
    of = {"feddisco": rows, "gaps": tries}
    book = SimpleNamespace(
        claimed=lambda paper: of.get(paper, []),
        tables=tables or {},
        found=Found(lines or {}),
    )
    (found, *_) = answers(book)  # pyright: ignore
    return found


def answer(*many: list, **more):
    return answered(claims_of(*many, **more))


def test_every_question_has_claims_of_its_paper():
    for question in QUESTIONS:
        of = CLAIMS[question.paper]
        mine = [c for c in of if c.role == "main"]
        assert len(mine) >= 3, question.paper
        assert all(c.cell.unit in ("%", "share") and c.sign == 1 for c in mine)
        assert all(c.setting in c.sentence for c in of)
        rivals = [c for c in of if c.role == "others"]
        assert bool(rivals) == (question.paper != "rfedavg")


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 60])
def test_a_side_counts_if_chance_would_seldom_give_it(n):
    for k in range(n + 1):
        rare = k > 0 and binom.sf(k - 1, n, 0.025) < 0.01
        assert ("helps" in stance(Count(k, 0, n))) == rare
        assert ("hurts" in stance(Count(0, k, n))) == rare
    assert "cannot" not in stance(Count(n, 0, n))


def test_the_stance_tells_all_from_most_from_some():
    assert stance(Count(0, 0, 0)) == "Not run yet."
    assert stance(Count(5, 0, 5)) == "It helps wherever it was tried."
    assert stance(Count(5, 0, 8)) == "It helps in most settings tried."
    assert stance(Count(5, 0, 20)).startswith(
        "It helps in some settings; in most, no gain"
    )
    assert stance(Count(0, 5, 20)).startswith(
        "It hurts in some settings; in most, no loss"
    )
    assert stance(Count(0, 5, 5)) == "It hurts wherever it was tried."
    assert stance(Count(4, 4, 20)).startswith("It depends")
    assert (
        stance(Count(0, 0, 20))
        == stance(Count(1, 1, 20))
        == "Neither gain nor loss can be told."
    )


def test_an_answer_counts_what_came_out_how():
    found = answer(AHEAD, [4, 4.2, 3.8], BEHIND, OPEN, [5, 6])  # two seeds: not counted
    assert found.count == Count(2, 1, 4) and found.waiting == 1
    said = "Beside the same training without it, ahead in 2 of 4 comparisons, behind in"
    assert found.counted == f"{said} 1."
    assert found.best and found.best.mean == pytest.approx(4)
    assert found.worst and found.worst.mean == pytest.approx(-3)
    assert "None of them" in found.own_scale
    assert answer(OPEN).best is None and answer(OPEN).worst is None


def test_other_methods_are_counted_apart():
    rivals = claims_of([7, 7.1, 6.9], [-8, -8.1, -7.9], role="others")
    found = answered([*claims_of(AHEAD), *rivals])
    assert found.count == Count(1, 0, 1) and found.others == Count(1, 1, 2)
    assert found.counted.endswith("without it, ahead in the one comparison.")
    assert found.beside_others.endswith("ahead in 1 of 2 comparisons, behind in 1.")
    assert found.best and found.best.mean == pytest.approx(2)


def test_counts_are_said_aloud():
    assert Count(0, 1, 1).said("try", "tries") == "behind in the one try"
    assert Count(0, 0, 1).said("try", "tries") == "undecided in the one try"
    assert (
        Count(2, 0, 3).said("try", "tries") == "ahead in 2 of 3 tries, behind in none"
    )


def test_tries_are_counted_where_they_look_for_a_comparison():
    rows = claims_of(OPEN)
    slug = rows[0].claim.slug
    tries = [
        *claims_of(AHEAD, BEHIND, [1, 2], again=slug),
        *claims_of(AHEAD, again="x"),
    ]
    found = answered(rows, tries)
    assert found.tries == Count(1, 1, 2) and "1 of 2 tries, behind in 1" in found.again
    assert answered(rows).again == ""


@pytest.mark.slow
def test_the_common_field_counts_by_intervals():
    book = the_book()
    for a in answers(book):
        assert [arm for arm, _ in a.fields] == [a.question.arm, *a.question.controls]
        assert all(count.n == 6 for _, count in a.fields)
        assert a.in_the_field.startswith("Against FedAvg in chapter 8 it is ahead in")
    table = book.tables["field/for_all"]
    assert in_field(table, "FedAvg", book.found) == Count(0, 0, 6)
    assert in_field(table, "nobody", book.found) == Count(0, 0, 0)


def test_equal_runs_count_once_and_the_first_of_them_stays():
    found = answer(AHEAD, AHEAD, OPEN)
    assert [e.judged.claim.name for e in found.effects] == ["0", "2"]


def test_of_equal_runs_the_one_with_more_seeds_stays():
    found = answer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 9.0, 8.0], [1.0, 2.0, 4.0])
    assert [e.judged.claim.name for e in found.effects] == ["1", "2"]


def test_the_headline_is_at_the_largest_scale_with_most_seeds():
    rows = [*claims_of(AHEAD, [*OPEN, 0.2], OPEN), *claims_of([0, 1, 2], scale="paper")]
    found = answered(rows)
    assert found.headline and not found.headline.judged.stand_in
    said = "At the paper's own scale: A over B +1.0 ± 2.5 points (the paper: +1.0)."
    assert found.own_scale == said
    found = answered(rows[:3])
    assert found.headline and found.headline.judged.claim.name == "1"


def test_a_gain_below_the_papers_is_said_to_be():
    (row,) = claims_of([0.1, 0.2, 0.3], scale="paper")
    assert (
        "(the paper: +1.0, more than our interval holds)" in answered([row]).own_scale
    )


def test_a_study_of_something_else_is_not_counted():
    found = answered([*claims_of(AHEAD), *claims_of(BEHIND, role="study")])
    assert found.count == Count(1, 0, 1) and found.others == Count(0, 0, 0)


def test_shares_become_points_and_other_units_do_not_count():
    found = answer([0.02, 0.021, 0.019], unit="share")
    assert found.headline and found.headline.text.startswith("+2.0 ± ")
    assert answer(AHEAD, unit="rounds", role="study").effects == ()
    for role in ("main", "others"):
        with pytest.raises(InputError, match=f"role '{role}' is for gains in accuracy"):
            claims_of(AHEAD, unit="rounds", role=role)


def test_the_reading_of_before_took_undecided_for_failed():
    even, few = [1, 1, 1, 1, -1, -1, -1, -1], [1, -1]
    rows = claims_of(AHEAD, OPEN, BEHIND, few, even, [1, 5, 9])
    assert [earlier(r) for r in rows] == [HELD, FAILED, FAILED, FEW, FAILED, HELD]
    counts = crossed(rows)
    assert counts[HELD][UNDECIDED] == 1 and counts[HELD][SAME] == 1
    assert counts[FAILED][UNDECIDED] == 2 and counts[FAILED][OPPOSITE] == 1
    tie = replace(
        rows[1], claim=replace(rows[1].claim, sign=0, said=None, role="study")
    )
    assert earlier(tie) == HELD  # the mean is within the tolerance


@pytest.mark.slow
def test_both_readings_count_every_claim_that_was_run():
    book = the_book()
    rows = [j for paper in book.papers for j in book.claimed(paper)]
    done = sum(j.verdict.word != NONE for j in rows)
    assert sum(sum(c.values()) for c in crossed(rows).values()) == done > 100

"""The answers: what the sentences say is what the seeds say."""

import re
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.stats import binom

from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting, judged
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import CLAIMS
from fedlab_ledger.report.answers import (
    QUESTIONS,
    Count,
    Gain,
    Standing,
    answers,
    in_field,
    stance,
)
from tests.once import the_book

AHEAD, BEHIND, OPEN = [2, 2.1, 1.9], [-3, -3.1, -2.9], [1, -1, 0.5]


def claims_of(
    *many: list,
    scale: str = "small",
    unit: str = "%",
    role: Any = "main",
    again: str = "",
    setting: str = "",
    rounds: int | None = None,
    clients: int = 4,
):
    """Judged claims of the first question, each from the differences of its seeds.

    Each is in a setting of its own and plays as many rounds as its place, or all as
    is said.
    """
    question = QUESTIONS[0]
    lines, made = {}, []
    for i, gains in enumerate(many):
        sides = []
        for who in ("A", "B"):
            many_ = {"clients": clients, "place": i}
            how = {scale: Setting("letters", who, rounds or i + 1, scenario=many_)}
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
        more = {
            "said": 1.0,
            "again": again,
            "role": role,
            "setting": setting or f"place {i}",
        }
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
        assert any(c.role == "others" for c in of)


def numbers(value) -> set[float]:
    """Every number in plain data, however deep; true and false are none."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return {n for v in value for n in numbers(v)}
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {float(value)} if plain else set()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.paper)
def test_what_a_paper_tells_its_gains_for_is_what_its_claims_run(question):
    """Each number of that sentence is one of a setting at the paper's own scale."""
    claims = [c for c in CLAIMS[question.paper] if c.role in ("main", "study")]
    there = [s for c in claims for side in c.sides for s in side.settings.items()]
    known = numbers([s.plain() for scale, s in there if scale == "paper"])
    known |= {0.0}  # a similarity of nothing is no field of its own
    for text, percent in re.findall(r"(\.?\d[\d,]*)( %)?", question.made):
        number = float(text.replace(",", ""))
        assert (number / 100 if percent else number) in known, (question.paper, text)


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
    assert "in the other half, no gain" in stance(Count(5, 0, 10))
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


def test_an_answer_counts_settings_by_their_intervals():
    found = answer(AHEAD, [4, 4.2, 3.8], BEHIND, OPEN, [5, 6])  # two seeds: not counted
    assert found.standing.own == Count(2, 1, 4)
    assert found.standing.counted == (
        "Ahead in 2 of 4 settings of its paper, behind in 1."
    )
    most, least = found.furthest
    assert most and most.gain.mean == pytest.approx(4)
    assert least and least.gain.mean == pytest.approx(-3)
    assert answer(OPEN).furthest == (None, None)
    assert found.short.startswith(found.standing.text)
    for end in ("Most ahead: ", "Furthest behind: "):
        assert end in found.short and end not in answer(OPEN).short


def test_comparisons_of_one_setting_are_one_effect():
    """The mean over them, seed by seed, whatever many there are."""
    rows = claims_of([3.0, 1.0, 2.0], [1.0, 3.0, 2.2], setting="here", rounds=3)
    (tried,) = answered(rows).tried
    assert tried.gain.n == 3 and tried.gain.mean == pytest.approx(12.2 / 6)
    assert tried.gain.half == pytest.approx(Gain.of([2.0, 2.0, 2.1]).half)
    assert tried.ran.endswith(", mean of 2 comparisons")


def test_a_comparison_that_lost_seeds_does_not_take_the_others_with_it():
    rows = claims_of(AHEAD, [1.0, 1.1, 0.9, 1.2], setting="here", rounds=3)
    for k in (1, 2):
        rows[0].mine[k]["value"] = None
    (tried,) = answered(rows).tried
    assert tried.gain == Gain.of([1.0, 1.1, 0.9, 1.2])


def test_the_papers_own_scale_tells_more_than_a_smaller_one():
    rows = claims_of(BEHIND, setting="here") + claims_of(
        AHEAD, scale="paper", setting="here", rounds=1
    )
    (tried,) = answered(rows).tried
    assert tried.own_scale and tried.gain.side == 1


def test_longer_runs_tell_more_a_searchs_among_them():
    """A try counts if nothing but the rounds is another, and these are more."""
    rows = claims_of(BEHIND, rounds=20)
    slug = rows[0].claim.slug

    def with_tries(*tries):
        (tried,) = answered(rows, [j for t in tries for j in t]).tried
        return tried.gain.side

    more = {"again": slug, "rounds": 60}
    assert with_tries(claims_of(AHEAD, **more)) == 1
    assert with_tries(claims_of(AHEAD, again=slug, rounds=5)) == -1
    assert with_tries(claims_of(AHEAD, again="another", rounds=60)) == -1
    assert with_tries(claims_of(AHEAD, **more, clients=9)) == -1  # another world
    assert with_tries(claims_of([2, 2.1], **more)) == -1  # two seeds


def test_settings_that_ran_for_fewer_rounds_are_counted():
    """The first has as many rounds as the paper, one; the second has two of nine."""

    def published(row, rounds: int):
        cell = row.claim.cell
        settings = cell.settings | {"paper": Setting("letters", "A", rounds)}
        claim = replace(row.claim, cell=replace(cell, settings=settings, lacks="tiny"))
        return replace(row, claim=claim)

    first, second = claims_of(AHEAD, BEHIND)
    found = answered([published(first, 1), published(second, 9)])
    assert [t.shorter for t in found.tried] == [False, True]
    assert found.standing.own == Count(1, 1, 2, shorter=1, early=1)
    assert found.standing.counted == (
        "Ahead in 1 of 2 settings of its paper (1 with fewer rounds than there), "
        "behind in 1 (1 with fewer)."
    )


@pytest.mark.slow
def test_the_common_field_counts_by_intervals():
    book = the_book()
    for a in answers(book):
        assert [arm for arm, _ in a.controls] == list(a.question.controls)
        assert all(count.n == 6 for _, count in a.controls)
        assert a.standing.fields.n == 6
    table = book.tables["field/for_all"]
    assert in_field(table, "FedAvg", book.found) == Count(0, 0, 6)
    assert in_field(table, "nobody", book.found) == Count(0, 0, 0)


def test_the_stance_is_that_of_settings_and_fields_together():
    own, fields = Count(1, 0, 3), Count(4, 0, 6)
    both = Standing(own, fields)
    assert both.stance == stance(Count(5, 0, 9)) == "It helps in most settings tried."
    assert stance(own) == "Neither gain nor loss can be told."
    assert both.counted == (
        "Ahead in 1 of 3 settings of its paper, behind in none; in 4 of 6 common "
        "fields, behind in none."
    )


def test_equal_runs_count_once_and_the_first_of_them_stays():
    found = answer(AHEAD, AHEAD, OPEN)
    assert [t.name for t in found.tried] == ["place 0", "place 2"]


def test_of_equal_runs_the_one_with_more_seeds_stays():
    found = answer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 9.0, 8.0], [1.0, 2.0, 4.0])
    assert [t.name for t in found.tried] == ["place 1", "place 2"]


def test_runs_that_are_one_but_for_a_choice_that_does_nothing_count_once():
    """Apart by less than a twentieth of a point in every seed, on both sides."""
    near = [gain + 0.04 for gain in AHEAD]
    assert [t.name for t in answer(near, AHEAD).tried] == ["place 0"]
    assert len(answer([*near[:2], near[2] + 0.1], AHEAD).tried) == 2  # one seed is off
    first, second = claims_of(AHEAD, AHEAD)
    for side in (second.mine, second.theirs):  # the same gains at another height
        for line in side.values():
            line["value"] += 1
    assert len(answered([first, second]).tried) == 2


@pytest.mark.slow
def test_no_two_settings_of_a_tally_are_one_experiment():
    for a in answers(the_book()):
        for one, two in combinations(a.tried, 2):
            x, y = one.by_seed, two.by_seed
            common = x.keys() & y.keys()
            apart = [abs(x[k] - y[k]) for k in common]
            assert len(common) < 3 or max(apart) > 0.05, (one.name, two.name)


def test_the_headline_is_at_the_largest_scale_with_most_seeds():
    rows = [*claims_of(AHEAD, [*OPEN, 0.2], OPEN), *claims_of([0, 1, 2], scale="paper")]
    found = answered(rows)
    assert found.headline and not found.headline.judged.stand_in
    said = "A over B: +1.0 ± 2.5 points in the best round (the paper: +1.0); over all "
    assert found.beside_paper.startswith(said)
    found = answered(rows[:3])
    assert found.headline and found.headline.judged.claim.name == "1"
    assert found.beside_paper.endswith(", smaller than the paper's.")
    assert "the paper:" not in found.beside_paper


def test_a_gain_over_all_rounds_stands_beside_the_one_that_is_judged():
    """The mean of whole curves, at the paper's own scale; with a gap there is none."""
    (row,) = claims_of([1.0, 2.0, 3.0], scale="paper")
    curves = [([0.1, 0.5], [0.1, 0.3]), ([0.2, 0.6], [0.3, 0.3]), ([0.1, 0.2], [0, 0])]
    for k, (mine, theirs) in enumerate(curves):
        row.mine[k]["curve"], row.theirs[k]["curve"] = mine, theirs
    assert row.whole == pytest.approx({0: 10.0, 1: 10.0, 2: 15.0})
    (effect,) = answered([row]).tried[0].effects
    assert f"over all rounds {effect.whole.short}" in answered([row]).beside_paper
    row.mine[1]["curve"] = [0.2, None]
    assert list(row.whole) == [0, 2] and "over all" not in answered([row]).beside_paper
    (small,) = claims_of([1.0, 2.0, 3.0])
    assert small.whole == {}


def test_a_study_of_something_else_is_not_counted():
    found = answered([*claims_of(AHEAD), *claims_of(BEHIND, role="study")])
    assert found.standing.own == Count(1, 0, 1)


def test_shares_become_points_and_other_units_do_not_count():
    found = answer([0.02, 0.021, 0.019], unit="share")
    assert found.headline and found.headline.gain.text.startswith("+2.0 ± ")
    assert answer(AHEAD, unit="rounds", role="study").tried == ()
    for role in ("main", "others"):
        with pytest.raises(InputError, match=f"role '{role}' is for gains in accuracy"):
            claims_of(AHEAD, unit="rounds", role=role)

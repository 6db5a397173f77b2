"""Claims: pairs of cells, judged by the seeds that both were played with."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting, judged
from fedlab_ledger.judge.claims import Judged, as_json, as_text, record, tally
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.verdict import (
    AS_GOOD,
    DIFFERS,
    MATCHES,
    NO_VERDICT,
    NONE,
    OPPOSITE,
    SAME,
    UNDECIDED,
)
from fedlab_ledger.papers import CLAIMS


def cell(row: str, paper: float | None, unit: str = "%") -> Cell:
    how = {s: Setting("letters", row, n) for n, s in enumerate(("tiny", "paper"), 1)}
    more: dict[str, Any] = {"unit": unit, "lacks": "no small scale"}
    return Cell("paper", "table1", row, "letters", how, paper, **more)


def claim(mine: float | None, theirs: float | None, **more) -> Claim:
    a, b = cell("A", mine), cell("B", theirs)
    return Claim("paper", "a-b", "A is ahead of B", a, b, **more)


def found(c: Claim, mine: list, theirs: list, scale: str = "paper") -> Found:
    lines = {}
    for one, values in ((c.cell, mine), (c.beside, theirs)):
        each = enumerate(values)
        lines[one.key(scale)] = {
            k: {"value": v, "curve": [v], "diverged": 3 if v is None else None,
                "seed": k, "device": "cpu"}
            for k, v in each
        }  # fmt: skip
    return Found(lines)


def word(c: Claim, mine: list, theirs: list, scale: str = "paper") -> str:
    (row,) = judged([c], found(c, mine, theirs, scale))
    assert row.scale == scale
    return row.word


def test_the_gain_is_the_papers_or_what_it_says():
    assert claim(62.0, 60.0).gain == 2
    assert claim(62.0, None).gain is None
    assert claim(None, None, said=8.0).gain == 8
    assert claim(50.0, 58.0, sign=-1).gain == -8


def test_a_claim_of_the_paper_is_judged_by_pairs():
    c = claim(62.0, 60.0)
    assert word(c, [52, 53.1, 50.9], [50, 51, 49]) == MATCHES
    assert word(c, [57, 58.1, 55.9], [50, 51, 49]) == SAME
    assert word(c, [50, 51, 49], [52, 53, 51]) == OPPOSITE
    assert word(c, [52, 53], [50, 51]) == UNDECIDED  # two seeds
    low = claim(None, None, sign=-1)
    assert word(low, [50, 50, 50], [52, 53, 52]) == SAME
    assert word(low, [52, 53, 52], [50, 50, 50]) == OPPOSITE


def test_a_tie_is_a_claim_too():
    c = claim(None, None, sign=0, said=0.3, tolerance=0.75)
    assert word(c, [50.1, 50.3, 49.8], [50, 50, 50]) == AS_GOOD
    assert word(c, [52, 52, 52], [50, 50, 50]) == OPPOSITE


def test_two_forms_of_a_method_are_alike_only_where_it_does_something():
    """Forms of a method cannot differ if the method itself changes nothing."""
    more = {"sign": 0, "said": 0.3, "tolerance": 0.75}
    c = claim(None, None, without=cell("none", None), **more)
    assert c.cells == (c.cell, c.beside, c.without)
    forms = [50.1, 50.3, 49.8], [50, 50, 50]

    def judged_beside(values: list) -> Judged:
        only = replace(c, cell=c.without, without=None)
        lines = {**found(c, *forms).lines, **found(only, values, forms[1]).lines}
        (row,) = judged([c], Found(lines))
        return row

    helped, hurt = judged_beside([45, 44, 46]), judged_beside([55, 54, 56])
    assert helped.word == hurt.word == AS_GOOD
    assert record(helped)["without"]["values"] == {"0": 45, "1": 44, "2": 46}
    nothing = judged_beside([49, 51, 50])
    assert nothing.word == UNDECIDED and "does nothing here" in nothing.verdict.why
    (row,) = judged([c], found(c, *forms))
    assert row.word == UNDECIDED and "was not run" in row.verdict.why
    apart = found(c, [52, 52, 52], [50, 50, 50])
    assert judged([c], apart)[0].word == OPPOSITE  # they differ, so it does something
    with pytest.raises(InputError, match="for a claim of no difference"):
        claim(62.0, 60.0, without=cell("none", None))


def test_beside_a_baseline_that_diverged_there_is_no_verdict():
    """Here B has no number of one seed; where A has none, the others decide."""
    mine, theirs = [62.0, 63.0, 64.0, 65.0], [60.0, 61.0, 62.0, None]
    c = claim(62.0, 60.0)
    assert word(c, mine, theirs) == NO_VERDICT
    assert word(c, [*mine[:3], None], [*theirs[:3], 63.0]) == MATCHES
    (row,) = judged([c], found(c, mine, theirs))
    total = tally([row])
    assert total.words == {NO_VERDICT: 1} and total.by_chance == 0
    assert "diverged in 1 of 4 seeds" in as_text([row])


def test_a_gain_says_whose_number_it_is():
    c = claim(62.0, 60.0)
    stored = replace(c, cell=replace(c.cell, where="Table 1; the authors' run"))
    assert (c.source, stored.source) == ("the paper", "the authors' run")
    (row,) = judged([stored], found(stored, [62.0] * 3, [60.0] * 3))
    assert "the authors' run's +2" in row.verdict.why
    assert "by +2 % (the authors' run)" in as_text([row])
    assert record(row)["source"] == "the authors' run"


def test_a_stand_in_is_said_to_be_one():
    c = claim(62.0, 60.0)
    for one in c.sides:
        assert isinstance(one.settings, dict)
        one.settings["small"] = Setting("letters", one.row, 7, scenario={"clients": 4})
    assert word(c, [52, 53.1, 50.9], [50, 51, 49], "small") == f"{SAME} on a stand-in"
    (row,) = judged([c], found(c, [52, 53, None], [50, 51, 49], "small"))
    assert row.ran_on == "letters, MLP 128-128, 4 clients, 7 rounds, 2 of 3 seeds"
    assert row.lost == "1 diverged" and row.verdict.n == 2


def test_only_common_seeds_count():
    c = claim(62.0, 60.0)
    (row,) = judged([c], found(c, [50, 51, 52, 99], [48, 49]))
    assert row.verdict.n == 2 and row.verdict.mean == 2
    (row,) = judged([replace(c, seeds=(1, 2))], found(c, [50, 51, 52, 99], [48, 49]))
    assert row.verdict.n == 1 and row.verdict.mean == 2
    other = {c.cell.key("paper"): {7: {"value": 50}}}
    (row,) = judged([c], Found({**found(c, [50], [48]).lines, **other}))
    assert row.scale == "-" and row.word == NONE
    assert "no seed has played both" in row.verdict.why


def test_the_largest_scale_counts_unless_asked():
    c = claim(62.0, 60.0)
    large, small = (
        found(c, [50, 51, 52], [48, 49, 50]),
        found(c, [1, 2, 3], [5, 6, 7], "tiny"),
    )
    both = Found({**large.lines, **small.lines})
    assert judged([c], both)[0].scale == "paper"
    (row,) = judged([c], both, "tiny")
    assert row.scale == "tiny" and row.verdict.word == NONE
    (row,) = judged([c], both, "small")
    assert row.word == NONE


def test_a_scale_that_cannot_decide_waits_for_one_that_can():
    """Two seeds at the paper's scale, three at the small one."""
    c = claim(62.0, 60.0)
    for one in c.sides:
        assert isinstance(one.settings, dict)
        one.settings["small"] = Setting("letters", one.row, 7)
    two = found(c, [50, 51], [48, 49])
    assert judged([c], two)[0].scale == "paper"
    three = found(c, [1, 2, 3], [5, 6, 7], "small")
    assert judged([c], Found({**two.lines, **three.lines}))[0].scale == "small"


def test_claims_of_one_and_the_same_run_count_once():
    c = claim(62.0, 60.0)
    again = replace(c, name="the same, said twice")
    rows = judged([c, again], found(c, [52, 53, 51], [50, 51, 49]))
    rows += judged([claim(55.0, 50.0)], Found({}))
    total = tally(rows)
    assert (total.claims, total.runs) == (3, 1)
    assert total.words == {MATCHES: 1, NONE: 1} and total.by_chance == 0.025


def test_verdicts_are_counted_word_by_word():
    gains = [52, 53.1, 50.9], [57, 58, 56], [58, 59, 57], [50, 51, 53], [40, 41, 39]
    gains += ([50, 51, 48.5],)  # about zero, and the paper's 2 points above
    rows = []
    for mine in gains:
        c = claim(62.0, 60.0)
        rows += judged([c], found(c, mine, [50, 51, 49]))
    words = {MATCHES: 1, SAME: 2, UNDECIDED: 1, OPPOSITE: 1, DIFFERS: 1}
    assert tally(rows).words == words
    assert tally(rows).runs == 6 and tally(rows).by_chance == 6 * 0.025


def test_a_claim_against_its_own_numbers_is_refused():
    with pytest.raises(InputError, match="paper/a-b: sign 1, but .* is -2"):
        claim(60.0, 62.0)
    with pytest.raises(InputError, match="sign 1, but the paper's gain is 0"):
        claim(60.0, 60.0)
    with pytest.raises(InputError, match="paper/a-b: compares % with rounds"):
        Claim("paper", "a-b", "s", cell("A", 1.0), cell("B", 1.0, "rounds"))
    with pytest.raises(InputError, match="tolerance must be .* 0 or more"):
        claim(62.0, 60.0, tolerance=-1.0)


def test_claims_as_text():
    c = claim(62.0, 60.0)
    text = as_text(judged([c], found(c, [52, 53.1, 50.9], [50, 51, 49])))
    first, says, ran, here, whole, last, chance = text.splitlines()
    assert first == "paper/a-b: matches the paper"
    assert says == "  claim: A is ahead of B, by +2 %"
    assert (
        ran == "  ran on: letters, MLP 128-128, 2 rounds, 3 seeds" or "clients" in ran
    )
    assert here.startswith("  here: within 1 of the paper's +2: +2")
    assert whole == "  over all rounds: +200.00 ± 24.84 points"
    assert last == "1 claim, 1 different experiments: 1 matches the paper"
    assert "0.0 would come out" in chance
    assert as_text([]) == "0 claims, 0 different experiments: none judged\n"


def test_claims_as_json_have_everything():
    c = claim(62.0, 60.0)
    assert as_json(judged([c], found(c, [52, 53, 51], [50, 51, 49]))).isascii()
    (one,) = json.loads(as_json(judged([c], found(c, [52, 53, None], [50, 51, 49]))))
    assert one["id"] == "paper-a-b" and one["verdict"] == UNDECIDED
    assert one["lost"] == "1 diverged" and one["seeds"] == 2 and one["mean"] == 2
    assert one["a"]["values"] == {"0": 52, "1": 53, "2": None}
    assert one["b"]["key"] == c.beside.key("paper") and not one["stand_in"]
    assert one["gap"] == 0 and one["data"] == one["paper_data"] == "letters"
    assert one["network"] == "MLP 128-128" and one["a"]["spread"] is None
    run = one["a"]["command"]
    assert run.startswith("python -m fedlab_core run ") and "--scale paper" in run
    assert one["a"]["methods"] == [c.cell.settings["paper"].method]


def test_a_claim_that_waits_says_what_could_be_run():
    c = claim(62.0, 60.0)
    (one,) = json.loads(as_json(judged([c], Found({}))))
    assert one["verdict"] == NONE and one["data"] == one["network"] == ""
    assert one["gap"] is None and one["a"]["key"] is None
    assert "--scale paper" in one["a"]["command"]
    bare = replace(c.cell, settings={}, lacks="nothing is known of it")
    (one,) = json.loads(as_json(judged([replace(c, cell=bare)], Found({}))))
    assert one["a"]["command"] is None and one["a"]["methods"] == []
    assert one["lacks"] == "nothing is known of it" and one["paper_data"] == ""


def test_a_search_names_the_claim_that_it_looks_for():
    slugs = {c.slug for p in CLAIMS if p != "gaps" for c in CLAIMS[p]}
    assert {c.again for c in CLAIMS["gaps"]} <= slugs
    assert all(not c.again for p in CLAIMS if p != "gaps" for c in CLAIMS[p])


def test_a_claim_s_address_is_its_own_and_not_its_place():
    every = [c for p in CLAIMS for c in CLAIMS[p]]
    slugs = [c.slug for c in every]
    assert len(set(slugs)) == len(every)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*[a-z0-9]", slug) for slug in slugs)

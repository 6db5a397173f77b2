"""Claims: pairs of cells, judged by the seeds that both were played with."""

from dataclasses import replace
from typing import Any

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting, judged
from fedlab_ledger.claims import as_text
from fedlab_ledger.lines import Found
from fedlab_ledger.verdict import BETTER, NONE, NOT, REPRODUCED, TREND


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
        lines[one.key(scale)] = {k: {"value": v} for k, v in enumerate(values)}
    return Found(lines)


def word(c: Claim, mine: list, theirs: list, scale: str = "paper") -> str:
    (row,) = judged([c], found(c, mine, theirs, scale))
    assert row.scale == scale
    return row.verdict.word


def test_the_gain_is_the_papers_or_what_it_says():
    assert claim(62.0, 60.0).gain == 2
    assert claim(62.0, None).gain is None
    assert claim(None, None, said=8.0).gain == 8
    assert claim(50.0, 58.0, sign=-1).gain == -8


def test_a_claim_of_the_paper_is_judged_by_pairs():
    c = claim(62.0, 60.0)
    assert word(c, [52, 53.1, 50.9], [50, 51, 49]) == REPRODUCED
    assert word(c, [57, 58.1, 55.9], [50, 51, 49]) == BETTER
    assert word(c, [50, 51, 49], [52, 53, 51]) == NOT
    assert word(c, [52, 53], [50, 51]) == TREND  # two seeds
    assert word(claim(None, None), [52, 53, 52], [50, 50, 50]) == TREND
    low = claim(None, None, sign=-1)
    assert word(low, [50, 50, 50], [52, 53, 52]) == TREND
    assert word(low, [52, 53, 52], [50, 50, 50]) == NOT


def test_a_tie_is_a_claim_too():
    c = claim(None, None, sign=0, said=0.3, tolerance=0.75)
    assert word(c, [50.1, 50.3, 49.8], [50, 50, 50]) == REPRODUCED
    assert word(c, [52, 52, 52], [50, 50, 50]) == NOT


def test_only_common_seeds_count():
    c = claim(62.0, 60.0)
    (row,) = judged([c], found(c, [50, 51, 52, 99], [48, 49]))
    assert row.verdict.n == 2 and row.verdict.mean == 2
    (row,) = judged([replace(c, seeds=(1, 2))], found(c, [50, 51, 52, 99], [48, 49]))
    assert row.verdict.n == 1 and row.verdict.mean == 2
    lines = found(c, [50], [48])
    lines.lines[c.cell.key("paper")] = {7: {"value": 50}}
    (row,) = judged([c], lines)
    assert row.scale == "-" and row.verdict.word == NONE
    assert "no seed that both" in row.verdict.why


def test_the_largest_scale_counts_unless_asked():
    c = claim(62.0, 60.0)
    both = found(c, [50, 51, 52], [48, 49, 50])
    both.lines.update(found(c, [1, 2, 3], [5, 6, 7], "tiny").lines)
    assert judged([c], both)[0].scale == "paper"
    (row,) = judged([c], both, "tiny")
    assert row.scale == "tiny" and row.verdict.word == NONE
    (row,) = judged([c], both, "small")
    assert row.verdict.word == NONE


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
    first, says, here, last = text.splitlines()
    assert first == "paper/a-b: reproduced (paper, 3 seeds)"
    assert says == "  claim: A is ahead of B, by +2 %"
    assert here.startswith("  here: the gain is the paper's: +2")
    assert last == "1 claims: 1 reproduced"
    assert as_text([]) == "0 claims: none\n"

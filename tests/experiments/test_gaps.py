"""Looking for what was not found: three claims a paper, one change at a time."""

import pytest

from experiments import PAPERS
from experiments.gaps import GAPS, TABLES, Gap
from fedlab_core.ledger.build import run_of

EVERY = [gap for gaps in GAPS.values() for gap in gaps]


def test_every_paper_has_three():
    assert {p: len(gaps) for p, gaps in GAPS.items()} == dict.fromkeys(PAPERS, 3)
    assert all(gap.claim.paper == paper for paper, gs in GAPS.items() for gap in gs)


@pytest.mark.parametrize("gap", EVERY, ids=lambda gap: gap.name)
def test_a_try_changes_what_it_says_and_nothing_first(gap: Gap):
    first, *others = gap.claims
    now = [side.key(gap.scale) for side in gap.claim.sides]
    assert [side.key(gap.scale) for side in first.sides] == now
    for claim in others:
        assert [side.key(gap.scale) for side in claim.sides] != now, claim.name
    keys = [tuple(s.key(gap.scale) for s in claim.sides) for claim in gap.claims]
    assert len(set(keys)) == len(keys)
    assert all(c.gain == gap.claim.gain for c in gap.claims)


@pytest.mark.parametrize("gap", EVERY, ids=lambda gap: gap.name)
def test_both_sides_of_a_try_are_in_its_table_and_differ_in_little(gap: Gap):
    assert gap.table in TABLES
    for claim in gap.claims:
        one, two = (side.settings[gap.scale] for side in claim.sides)
        assert all(gap.table.at(s.row, s.column) == s for s in claim.sides)
        alike = ("dataset", "kind", "scenario", "rounds", "local", "participants")
        assert all(getattr(one, n) == getattr(two, n) for n in alike), claim.name


def test_a_try_can_be_built():
    letters = [g for g in EVERY if g.claim.cell.settings[g.scale].dataset == "letters"]
    for gap in letters:
        for claim in gap.claims:
            for side in claim.sides:
                run_of(side.settings[gap.scale], 3)

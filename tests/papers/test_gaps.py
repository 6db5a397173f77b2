"""Looking for what was not found: three claims a paper, one change at a time."""

import pytest

from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.papers import GAPS, HEADLINES, PAPERS, TABLES
from fedlab_ledger.papers.gaps import AGAIN, FRESH, SAME, Gap
from fedlab_ledger.report.gap_checks import tried
from fedlab_ledger.run.build import run_of
from tests.once import the_book

EVERY = [gap for gaps in GAPS.values() for gap in gaps]


def test_every_paper_has_three():
    assert {p: len(gaps) for p, gaps in GAPS.items()} == dict.fromkeys(PAPERS, 3)
    assert all(gap.claim.paper == paper for paper, gs in GAPS.items() for gap in gs)


@pytest.mark.parametrize("gap", EVERY, ids=lambda gap: gap.name)
def test_a_try_changes_something_and_the_first_only_the_seeds(gap: Gap):
    def keys(claim):
        return tuple(side.key(gap.scale) for side in claim.sides)

    now = keys(gap.before)
    fresh = not set(gap.seeds) & set(gap.found_by)
    for i, (claim, t) in enumerate(zip(gap.claims, gap.tries, strict=True)):
        of = t.claim or gap.claim
        assert (keys(claim) == now) is (fresh and i == 0), claim.name
        assert (claim.gain, claim.again) == (of.gain, of.slug)
        first = not claim.sentence.endswith("once more")
        assert claim.seeds == (tuple(gap.seeds) if first else AGAIN)
    assert (gap.tries[0].words == SAME) is fresh
    once = {(keys(c), c.seeds) for c in gap.claims}
    assert len(once) == len(gap.tries)
    assert len(once) > 1 or gap.scale == SCALE


def test_seeds_that_found_a_gap_are_not_those_that_look():
    assert not {*FRESH} & {*AGAIN}
    for gap in EVERY:
        assert not {*gap.found_by} & {*FRESH, *AGAIN} or gap.scale == "paper"


def test_a_try_may_look_at_a_claim_like_the_searchs():
    """FedLAW's with 200 rounds is of every cell of Table 4, and alike in each."""
    (many,) = [gap for gap in EVERY if gap.name == "fedlaw-many"]
    longest = [t for t in many.tries if t.both.get("rounds") == 200]
    of = [t.claim or many.claim for t in longest]
    (table,) = [t for t in TABLES.values() if t.path == "fedlaw/table4"]
    assert sorted(c.setting for c in of) == sorted(table.columns)
    assert {c.cell.row for c in of} == {"FedLAW"}
    assert {c.beside.row for c in of} == {"FedAvg"}
    assert all(t.seeds == list(AGAIN) and len(t.both) == 1 for t in longest)


@pytest.mark.parametrize("gap", EVERY, ids=lambda gap: gap.name)
def test_both_sides_of_a_try_are_in_its_table_and_differ_in_little(gap: Gap):
    assert TABLES[gap.table.path] == gap.table
    for claim in gap.claims:
        one, two = (side.settings[gap.scale] for side in claim.sides)
        assert all(gap.table.at(s.row, s.column) == s for s in claim.sides)
        alike = ("dataset", "kind", "scenario", "rounds", "local", "participants")
        assert all(getattr(one, n) == getattr(two, n) for n in alike), claim.name


@pytest.mark.slow
def test_a_try_can_be_built():
    letters = [g for g in EVERY if g.claim.cell.settings[g.scale].dataset == "letters"]
    for gap in letters:
        for claim in gap.claims:
            for side in claim.sides:
                run_of(side.settings[gap.scale], 3)


@pytest.mark.parametrize("gap", EVERY, ids=lambda gap: gap.name)
def test_a_search_checks_the_headlines_numbers_that_it_speaks_of(gap: Gap):
    """Cells with a side's setting; at the scale of the search, the one it changes."""
    sides = [s for s in gap.claim.sides if SCALE in s.settings]
    if gap.scale == SCALE:
        changed = any(t.both or t.mine for t in gap.tries)
        sides = [gap.claim.cell] if changed else []
    keys = {side.key(SCALE) for side in sides}
    cells = HEADLINES[gap.claim.paper].cells
    named = [f"{c.table} {c.row} | {c.column}" for c in cells if c.key(SCALE) in keys]
    assert list(gap.checks) == named


@pytest.mark.slow
def test_a_claim_is_shown_at_the_scale_of_its_search():
    """SCAFFOLD's, in Table 3, has runs at the paper's own scale; its tries have not."""
    book = the_book()
    for gap in EVERY:
        rows = tried(gap, book.found)
        assert [row.scale for row in rows] == [gap.scale] * (1 + len(gap.tries))
    (there,) = [g for g in EVERY if g.name == "feddisco-partial"]
    first, *_ = tried(there, book.found)
    assert first.verdict.n == 3 and first.stand_in
    assert len(book.found.of(there.claim.cell.key("paper"))) == 3

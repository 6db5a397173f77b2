"""The papers' headline tables: their cells, what was run, what is off."""

from dataclasses import replace

import numpy as np
import pytest

from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting
from fedlab_ledger.model.cells import Scale
from fedlab_ledger.model.headline import SCALE, Headline
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.papers import CLAIMS, HEADLINES, PAPERS, TABLES
from fedlab_ledger.papers.gaps import Gap, Try
from fedlab_ledger.report.gap_checks import checked_of
from fedlab_ledger.report.headline import played, quoted, read_costs
from tests.once import the_book

BASE = Setting("letters", "fedavg", 3, local={"lr": 0.1, "crop": 4})


def cell(row: str, setting: Setting = BASE, **more) -> Cell:
    about = {"where": "Table 1, left", "metric": "mean-10", "tolerance": 1.0} | more
    made = {"small": replace(setting, rounds=2), SCALE: setting}
    lacks = "no more is needed here"
    about = {"paper_value": 60.0, "lacks": lacks} | about
    return Cell("made", "table1", row, "accuracy", made, **about)


PLAIN = cell("Plain")
OURS = cell("Ours", replace(BASE, method="fedprox", options={"mu": 0.1}))
HEAD = Headline("made", "two methods", (PLAIN, OURS), curves="Figure 1")


def line(of: Cell, seed: int, curve: list[float], scale: str = SCALE) -> Line:
    return {
        "key": of.key(scale), "seed": seed, "value": 100 * float(np.mean(curve)),
        "curve": curve, "seconds": 60.0, "device": "cpu", "diverged": None,
        "paper": "made", "table": "table1", "row": of.row, "column": of.column,
        "scale": scale, "date": "2026-01-01", "clients": None,
    }  # fmt: skip


def found(*lines: Line) -> Found:
    kept: dict[str, dict[int, Line]] = {}
    for one in lines:
        kept.setdefault(one["key"], {})[one["seed"]] = one
    return Found(kept)


LOW = [[0.5, 0.6, 0.4], [0.52, 0.61, 0.43], [0.48, 0.59, 0.4]]  # best: 60 or so


def measured(of: Cell = PLAIN, curves=LOW) -> list[Line]:
    return [line(of, seed, curve) for seed, curve in enumerate(curves)]


def test_every_paper_has_one_and_its_cells_are_declared():
    assert [*HEADLINES] == [p for p in HEADLINES] and {*HEADLINES} == {*PAPERS}
    for paper, head in HEADLINES.items():
        assert head.paper == paper
        for one in head.cells:
            table = TABLES[f"{paper}/{one.table}"]
            assert table.at(one.row, one.column) == one
        keys = [one.key(SCALE) for one in head.cells]
        assert len(set(keys)) == len(keys), "a number is shown twice"


def test_the_headlines_are_those_that_were_asked_for():
    rows = {p: [(c.table, c.row) for c in h.cells] for p, h in HEADLINES.items()}
    disco = ["FedAvg", "SCAFFOLD", "FedDyn"]
    both = [("table3", f"{b}{s}") for b in disco for s in ("", " + Disco")]
    assert rows["feddisco"] == 2 * both
    assert rows["rfedavg"] == [("table2", "FedAvg"), ("table2", "rFedAvg+")]
    assert len(rows["fedlaw"]) == 6 and len(rows["fedimpro"]) == 6
    assert len(rows["fedcollab"]) == 3 + 2 * 6 + 4


def test_claims_are_those_between_two_of_its_cells_each_once():
    for paper, head in HEADLINES.items():
        mine = {c.key(SCALE) for c in head.cells}
        claims = head.claims(CLAIMS[paper])
        pairs = [tuple(s.key(SCALE) for s in c.sides) for c in claims]
        assert claims and len(set(pairs)) == len(pairs)
        assert all(mine.issuperset(pair) for pair in pairs)


def test_only_the_papers_scale_is_quoted():
    quotes = quoted(HEAD, found(line(PLAIN, 0, [0.5], "small")))
    assert played(quotes) == [] and quotes[0].shown.word == "not run"
    quotes = quoted(HEAD, found(*measured()))
    assert played(quotes) == quotes[:1]
    assert [*quotes[0].seeds] == [0, 1, 2] and quotes[0].shown.verdict.n == 3


def test_a_cost_is_said_only_where_nothing_was_run():
    tried = {"seconds": 7200.0, "device": "cpu", "threads": 1}
    costs = {c.key(SCALE): tried for c in HEAD.cells}
    there, missing = quoted(HEAD, found(*measured()), costs)
    assert there.cost == "" and there.seconds is None
    assert missing.cost == "about 2.0 h a seed on one thread of a CPU"
    assert missing.seconds == 7200


def test_the_last_try_of_a_cost_counts(tmp_path):
    assert read_costs(tmp_path / "ledger") == {}
    (tmp_path / "costs.jsonl").write_text(
        '{"key": "a", "seconds": 1}\n{"key": "a", "seconds": 2}\n'
    )
    assert read_costs(tmp_path / "ledger")["a"]["seconds"] == 2


@pytest.mark.slow
def test_a_cost_that_is_another_runs_is_the_mean_of_its_stored_seconds():
    """rFedAvg's headline was run with other inputs: `like` is the key of that."""
    book = the_book()
    like = {k: c for k, c in book.costs.items() if "like" in c}
    assert {*like} == {c.key(SCALE) for c in HEADLINES["rfedavg"].cells}
    for cost in like.values():
        there = book.found.of(cost["like"]).values()
        seconds = [line["seconds"] for line in there]
        assert len(seconds) >= 3
        assert cost["seconds"] == pytest.approx(np.mean(seconds), abs=0.1)
    waits = [q for q in book.headline("rfedavg") if not q.lines]
    assert waits and all(q.cost for q in waits)


def test_a_headline_of_other_cells_is_refused():
    with pytest.raises(InputError, match="cells of other"):
        Headline("made", "x", (replace(PLAIN, paper="other"),))
    with pytest.raises(InputError, match="no setting at the paper's scale"):
        small = replace(PLAIN, settings={"small": BASE}, lacks="too large")
        Headline("made", "x", (small,))
    with pytest.raises(InputError, match="without cells"):
        Headline("made", "x", ())


def test_off_is_more_than_the_tolerance():
    (q, _) = quoted(HEAD, found(*measured()))
    assert q.off is not None and q.off < -1
    assert q.off == pytest.approx(q.shown.verdict.mean - 60)
    near = replace(PLAIN, paper_value=q.shown.verdict.mean + 0.9)
    (q, _) = quoted(replace(HEAD, cells=(near, OURS)), found(*measured(near)))
    assert q.off is None
    unknown = replace(PLAIN, paper_value=None)
    (q, _) = quoted(replace(HEAD, cells=(unknown, OURS)), found(*measured(unknown)))
    assert q.off is None


def search(
    *tries: Try, checks=("table1 Plain | accuracy",), scale: Scale = SCALE
) -> Gap:
    claim = Claim("made", "ahead", "plain is ahead", PLAIN, OURS, sign=0)
    return Gap("made-1", claim, "why", tries, scale=scale, checks=checks)


def check(*more: Line, gaps: tuple[Gap, ...] = (), of: Cell = PLAIN):
    book = found(*measured(of), *more)
    quotes = quoted(replace(HEAD, cells=(of,)), book)
    (checked,) = checked_of(quotes, gaps, book)
    return checked


def test_another_round_is_read_off_the_same_curves():
    best, last = check().reported
    assert best.words == "as the best round" and best.fits
    assert best.values == pytest.approx([60, 61, 59]) and best.mean == 60
    assert last.values == pytest.approx([40, 43, 40]) and not last.fits
    assert check().told == [best]
    rounds = replace(PLAIN, metric="to-55", unit="rounds")
    assert check(of=rounds).reported == check(of=rounds).changed == ()


UNCUT = Try("uncut", mine={"local": {"crop": 0}})


def tried(gap: Gap, value: float = 0.6, scale: str = SCALE) -> list[Line]:
    """Both sides of every try, on the seeds of the search."""
    seeds, sides = gap.seeds, [s for c in gap.claims for s in c.sides]
    return [line(s, seed, [value], scale) for s in sides for seed in seeds]


def test_what_a_search_at_its_scale_tried_is_listed_where_it_names_the_number():
    twice = Try("dropped", mine={"local": {"drop_last": True}})
    gap = search(UNCUT, twice)
    made = check(*tried(gap), gaps=(gap,))
    assert [(o.words, o.fits) for o in made.changed] == [
        ("uncut", True), ("dropped", True),
    ]  # fmt: skip
    assert [*dict(made.choices)] == ["normalisation"] and made.searches == ()
    other = replace(gap, checks=("table1 Ours | accuracy",))
    assert check(*tried(gap), gaps=(other,)).changed == ()
    made = check(gaps=(gap,))  # declared, and not run
    assert made.changed == () and dict(made.choices) == {
        "augmentation": "images cropped and mirrored",
        "normalisation": "the data set's usual mean and deviation",
        "short mini-batches": "trained on",
    }


def test_a_search_at_another_scale_is_counted():
    gap = search(UNCUT, Try("nothing"), scale="small")
    made = check(*tried(gap, scale="small"), gaps=(gap,))
    assert made.changed == () and made.searches == (("small", 0, 2),)
    assert check(gaps=(gap,)).searches == (("small", 0, 0),)
    assert check(gaps=(replace(gap, checks=()),)).searches == ()


def test_the_reading_remains_unless_an_option_was_tried():
    said = replace(PLAIN, reading="forty and ten")
    reading = ("the reading", "forty and ten")
    assert reading in check(of=said).choices
    gap = search(Try("C = 8", mine={"options": {"C": 8}}))
    made = check(*tried(gap), gaps=(gap,), of=said)
    assert made.changed and reading not in made.choices
    gap = search(UNCUT)
    assert reading in check(*tried(gap), gaps=(gap,), of=said).choices

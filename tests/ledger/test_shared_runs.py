"""A number of a run that another cell has stored needs no training."""

import json
from dataclasses import replace

import pytest

from fedlab_core.__main__ import main
from fedlab_ledger import Store, Table, jobs, play
from fedlab_ledger.model.lines import Found, found_in
from fedlab_ledger.run import player
from fedlab_ledger.run.shared_runs import SharedRuns
from tests.ledger_cases import BASE, TINY, declare, lettered
from tests.ledger_cases import cell as made

ALONE = replace(TINY, method="local")
BEST, LAST, STD = (
    lettered(column=metric, metric=metric) for metric in ("best", "last", "std-2")
)
PAIRED = lettered(row="gains", metric="ipr", against={"tiny": ALONE})
LOCAL = lettered(ALONE, row="local")
GAMMA = lettered(row="loss", metric="mean-2:train_loss")


def ledger(*cells) -> Found:
    """Play these cells, each for itself, into a ledger."""
    lines = [v for c in cells for job in jobs([c], "tiny", (0, 1), Found())
             for v in play(job)]  # fmt: skip
    return found_in([(lines, [])])


def shared(found: Found, *cells) -> SharedRuns:
    return SharedRuns([Table("paper", "table1", "Made", cells)], found, "tiny")


def same(line: dict, other: dict) -> None:
    """Compare two lines but for when and how long."""
    free = {"seconds": 0, "date": ""}
    assert line | free == other | free


@pytest.mark.parametrize("cell", [LAST, STD])
def test_another_number_of_a_stored_run_is_the_one_that_playing_gives(cell):
    found = ledger(BEST)
    lines = list(shared(found, BEST, cell).missing([BEST, cell], (0, 1, 2)))
    (job,) = jobs([cell], "tiny", (0, 1), Found())
    for line, played in zip(lines, play(job), strict=True):
        same(line, played)


def test_gains_over_another_run_need_both():
    found = ledger(BEST, LOCAL)
    everything = shared(found, BEST, LOCAL, PAIRED)
    lines = list(everything.missing([PAIRED], (0,)))
    (job,) = jobs([PAIRED], "tiny", (0,), Found())
    assert lines[0]["value"] == play(job)[0]["value"]
    lacks = shared(ledger(BEST), BEST, LOCAL, PAIRED)
    assert not list(lacks.missing([PAIRED], (0,)))


def test_a_column_that_was_not_watched_is_played_for():
    assert not list(shared(ledger(BEST), BEST, GAMMA).missing([GAMMA], (0,)))
    lines = list(shared(ledger(GAMMA), BEST, GAMMA).missing([BEST], (0,)))
    assert len(lines) == 1 and "seen" not in lines[0]


def test_other_settings_seeds_and_scales_are_played_for():
    found = ledger(BEST)
    other = lettered(replace(TINY, rounds=3), column="more", metric="last")
    assert not list(shared(found, BEST, other).missing([other], (0, 1)))
    assert not list(shared(found, BEST, LAST).missing([LAST], (5,)))
    assert not list(
        SharedRuns([Table("paper", "table1", "Made", (BEST, LAST))], found, "small")
        .missing([LAST], (0,))
    )  # fmt: skip


def test_run_writes_them_and_trains_nothing(tmp_path, monkeypatch, capsys):
    first, second = made("best"), replace(made("last"), metric="last")
    assert first.settings["tiny"] == second.settings["tiny"] == BASE
    declare(monkeypatch, first, second)
    at = ["--scale", "tiny", "--ledger", str(tmp_path), "--seeds", "0", "--uncommitted"]
    assert main(["run", "made/table1", "--row", "best", *at]) == 0
    monkeypatch.setattr(player, "run_all", None)
    assert main(["run", "made/table1", *at, "--dry-run"]) == 0
    (path,) = tmp_path.glob("*.jsonl")
    assert len(path.read_text().splitlines()) == 1, "a dry run writes nothing"
    capsys.readouterr()
    assert main(["run", "made/table1", *at]) == 0
    assert "numbers of runs that are there: 1" in capsys.readouterr().out
    a, b = map(json.loads, path.read_text().splitlines())
    assert (a["row"], b["row"]) == ("best", "last") and a["curve"] == b["curve"]
    assert b["key"] == second.key("tiny") and len(Store(tmp_path).read().lines) == 2

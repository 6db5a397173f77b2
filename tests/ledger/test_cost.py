"""What a job will cost: near what it then takes, and nothing is played for it."""

import time
from dataclasses import replace

import pytest

from fedlab_core import __main__
from fedlab_ledger import Store
from fedlab_ledger.cells import Setting
from fedlab_ledger.cost import Cost, cost_of, measured
from fedlab_ledger.lines import Found
from fedlab_ledger.player import play
from fedlab_ledger.work import jobs
from tests.ledger_cases import BASE, cell, declare

LETTERS = {"n_train": 4000, "n_test": 1000}
KINDS = {
    "mlp": {"model": "mlp", "rounds": 30},
    "cnn": {"model": "disco_cnn", "rounds": 4, "network": {}, "resize": 28},
    "own models": {"method": "ditto", "rounds": 20},
    "a server that learns": {
        "method": "fedlaw", "options": {"server_epochs": 20}, "rounds": 15,
        "proxy": {"per_class": 20},
    },
    "steps, not epochs": {
        "local": {"lr": 0.1, "iterations": 30, "batch_size": 16}, "rounds": 15,
    },
}  # fmt: skip


def setting(kind: str) -> Setting:
    more = {"data": LETTERS, "local": {"lr": 0.1, "epochs": 4, "batch_size": 16}}
    return replace(BASE, **(more | KINDS[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_is_near_what_the_job_takes(kind):
    """Twice off is too far; on a machine that does other things, not three times in
    a row."""
    (job,) = jobs(
        [replace(cell(kind), settings={"tiny": setting(kind)})], "tiny", (0,), Found()
    )
    off = []
    for _ in range(3):
        said, begun = cost_of(job), time.perf_counter()
        play(job)
        off.append((time.perf_counter() - begun) / said)
        if 0.5 < off[-1] < 2:
            return
    raise AssertionError(off)


def test_a_run_is_what_comes_before_it_and_its_rounds():
    assert Cost(2.0, 3.0, 0.5, 10).seconds == 2 + 10 * 3.5
    small = setting("mlp")
    few, many = (measured(replace(small, rounds=n), 0, "cpu") for n in (10, 1000))
    assert few.rounds == 10 and many.rounds == 1000
    assert many.seconds > 20 * few.seconds


def test_all_seeds_and_both_settings_are_counted(monkeypatch):
    seen = []

    def look(s: Setting, seed: int, device: str) -> Cost:
        seen.append((s.method, seed))
        return Cost(1.0, 0.0, 0.0, 5)

    monkeypatch.setattr("fedlab_ledger.cost.measured", look)
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    one, other = (replace(BASE, method=m, **world) for m in ("fedavg", "local"))
    both = replace(
        cell("x"), settings={"tiny": one}, metric="ipr", against={"tiny": other}
    )
    (job,) = jobs([both], "tiny", (4, 5, 6), Found())
    assert cost_of(job) == 6.0 and seen == [("fedavg", 4), ("local", 4)]


def test_a_dry_run_says_what_it_would_cost_and_stores_nothing(
    tmp_path, monkeypatch, capsys
):
    declare(monkeypatch, cell("a"), cell("b", rounds=3))
    monkeypatch.chdir(tmp_path)
    assert __main__.main(["run", "made", "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("made/table1 a | one, seeds 0 1 2: ")
    assert said[-1].startswith("2 jobs: ") and said[-1].endswith("one after another")
    assert not list(tmp_path.iterdir())
    Store(tmp_path / "results" / "ledger").folder.mkdir(parents=True)
    assert __main__.main(["run", "made", "--dry-run", "--row", "a"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 job: ")


def test_what_cannot_be_run_is_said(tmp_path, monkeypatch, capsys):
    declare(monkeypatch, cell("a"), cell("bad", local={"lr": -1.0}))
    monkeypatch.chdir(tmp_path)
    assert __main__.main(["run", "made", "--dry-run"]) == 2
    said = capsys.readouterr().out
    assert "bad | one: cannot be run: " in said and "1 job: " in said

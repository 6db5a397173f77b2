"""Measures and playing: what comes out of a cell's runs, and in which order."""

import math
from dataclasses import replace

import pytest

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_ledger import Store, jobs, play, play_all
from fedlab_ledger.model.lines import Found, check_line
from fedlab_ledger.model.measures import measure
from fedlab_ledger.run import player
from fedlab_ledger.run.build import run_of
from tests.ledger_cases import LETTERS, TINY, lettered

CURVE = {"curve": [0.2, 0.6, 0.5, None, 0.4], "diverged": None, "clients": None}


def test_measures_of_a_curve():
    """By hand: the round without a test counts in no mean, but as a round."""
    assert measure("best", CURVE) == 60 and measure("last", CURVE) == 40
    assert measure("acc", CURVE) == 0.4
    assert measure("mean-2", CURVE) == 45 and measure("mean-9", CURVE) == 42.5
    assert measure("to-50", CURVE) == 2 and measure("to-61", CURVE) is None
    assert measure("to-20", CURVE) == 1


def test_a_diverged_run_has_no_number():
    assert measure("best", CURVE | {"diverged": 5}) is None
    assert measure("best", CURVE | {"curve": []}) is None


def test_gains_are_paired_client_by_client():
    """Gains .1, 0, -.1, .4: one half gains; mean .1, deviation sqrt(.14 / 4)."""
    mine = CURVE | {"clients": [0.6, 0.5, 0.4, 0.9]}
    theirs = CURVE | {"clients": [0.5, 0.5, 0.5, 0.5]}
    assert measure("ipr", mine, theirs) == 0.5
    assert measure("rsd", mine, theirs) == pytest.approx(math.sqrt(0.035), abs=1e-6)
    with pytest.raises(InputError, match="ipr compares two runs"):
        measure("ipr", mine)


def test_a_line_says_what_the_run_alone_would_have_said():
    (job,) = jobs([lettered()], "tiny", (0, 1), Found())
    lines = play(job)
    for line, seed in zip(lines, (0, 1), strict=True):
        check_line(line, "here")
        alone = fl.run_all([run_of(TINY, seed)], progress=False)[0]
        accuracy = [row["accuracy"] for row in alone.rows]
        assert line["curve"] == pytest.approx(accuracy, abs=0.011)  # one image
        assert line["value"] == pytest.approx(100 * max(line["curve"]))
        assert line["steps"] == sum(row["steps"] for row in alone.rows)
        assert line["bytes"] == alone.rows[-1]["bytes"] and line["together"] == [0, 1]
        assert line["seed"] == seed and line["scale"] == "tiny"


def test_a_line_says_who_trained_with_whom_if_not_everyone_with_everyone():
    together, apart = lettered(), lettered(replace(TINY, method="local"), row="local")
    lines = [play(job)[0] for job in jobs([together, apart], "tiny", (0,), Found())]
    assert "homes" not in lines[0]
    assert check_line(lines[1], "here")["homes"] == [0, 1, 2, 3]


def test_cells_of_one_setting_are_played_once(tmp_path):
    """Two metrics of one run, and the same cell under another name."""
    twins = [lettered(), lettered(row="again"), lettered(column="last", metric="last")]
    (job,) = jobs(twins, "tiny", (0,), Found())
    assert len(job.cells) == 2 and job.rounds == 2
    store = Store(tmp_path)
    list(play_all([job], store))
    found = store.read()
    assert not found.notes
    assert jobs(twins, "tiny", (0,), found) == []
    assert [j.seeds for j in jobs(twins, "tiny", (0, 3), found)] == [(3,)]


def test_what_waited_longest_comes_first(tmp_path):
    old, new, never = (lettered(replace(TINY, rounds=r), row=str(r)) for r in (1, 2, 3))
    store = Store(tmp_path)
    for one, date in ((new, "2026-02-01"), (old, "2026-01-01")):
        (line,) = play(jobs([one], "tiny", (0,), Found())[0])
        store.append([line | {"date": date}])
    order = jobs([new, old, never], "tiny", (0, 1), store.read())
    assert [j.cells[0].row for j in order] == ["3", "1", "2"]


def test_a_budget_begins_nothing_that_would_outlast_it(tmp_path):
    """At 10 s a job, of four only two end within 25 s."""
    several = [lettered(replace(TINY, rounds=1, data=LETTERS | {"seed": k}), str(k))
               for k in range(4)]  # fmt: skip
    waiting = jobs(several, "tiny", (0,), Found())
    times = iter([0.0, 0.0, 10.0, 20.0])  # read once, then before each job
    store, clock = Store(tmp_path), lambda: next(times)
    done = list(play_all(waiting, store, budget=25, clock=clock))
    assert len(done) == 2


def test_missing_data_are_refused_and_the_next_cell_is_played(tmp_path):
    bad = lettered(replace(TINY, local={"lr": -1.0}), row="bad")
    ticks = []
    waiting = jobs([bad, lettered()], "tiny", (0,), Found())
    said = list(play_all(waiting, Store(tmp_path), tick=lambda *_: ticks.append(1)))
    assert isinstance(said[0][1], str) and "lr must be" in said[0][1]
    assert isinstance(said[1][1], list) and len(ticks) == 2


def test_a_diverged_run_is_a_line_without_a_number(tmp_path):
    wild = lettered(replace(TINY, local={"lr": 1e30}, rounds=5))
    store = Store(tmp_path)
    ((_, lines),) = play_all(jobs([wild], "tiny", (0,), Found()), store)
    (line,) = lines
    assert isinstance(line, dict) and line["diverged"] and line["value"] is None
    assert "NaN" not in store.files()[0].read_text()


def test_a_paired_metric_is_of_two_runs():
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    pair = [replace(TINY, method=m, **world) for m in ("fedavg", "local")]
    both = lettered(pair[0], metric="ipr", against={"tiny": pair[1]}, unit="share")
    (line,) = play(jobs([both], "tiny", (0,), Found())[0])
    mine, local = (run_of(s, 0) for s in pair)
    ends = [h.clients for h in fl.run_all([mine, local], progress=False)]
    assert ends[0] is not None and ends[1] is not None
    assert line["value"] == pytest.approx((ends[0] > ends[1]).mean())


def test_a_run_that_several_cells_compare_with_is_trained_once(tmp_path, monkeypatch):
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    pair = [replace(TINY, method=m, **world) for m in ("fedavg", "local")]
    alone = lettered(pair[1], row="Local", metric="acc")
    paired = {"metric": "ipr", "against": {"tiny": pair[1]}}
    cells = [
        alone,
        lettered(pair[0], metric="acc"),
        lettered(pair[0], row="gain", **paired),
    ]
    waiting, trained, ticks = jobs(cells, "tiny", (0, 1), Found()), [], []
    assert len(waiting) == 3

    def counted(runs, **more):
        trained.append([r.method.name for r in runs])
        return fl.run_all(runs, **more)

    monkeypatch.setattr(player, "run_all", counted)
    played = play_all(waiting, Store(tmp_path), tick=lambda *_: ticks.append(1))
    lines = [line for _, found in played for line in found]
    assert trained == [["Local", "Local"], ["FedAvg", "FedAvg"]]
    assert len(ticks) == sum(job.rounds for job in waiting)  # the bar gets to its end
    # what is beside it changes no bit of a line
    (other, _) = play(waiting[2])
    assert isinstance(other, dict) and isinstance(lines[-2], dict)
    same = ("value", "curve", "clients", "key", "seed", "metrics")
    assert [other[n] for n in same] == [lines[-2][n] for n in same]

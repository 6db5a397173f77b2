"""`run --dry-run`: it comes near the time of the job and stores nothing.

Time is that of the processor, on one thread: what else a machine does is not in it.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from fedlab_core import __main__
from fedlab_core.engine import count_steps
from fedlab_core.rounds.simulation import Simulation
from fedlab_ledger.model.cells import Setting
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run import cost
from fedlab_ledger.run.build import run_of
from fedlab_ledger.run.cost import Costs, Pace, kind_of
from fedlab_ledger.run.jobs import Job, jobs
from fedlab_ledger.run.player import play
from tests.ledger_cases import BASE, cell, declare

LETTERS = {"n_train": 1500, "n_test": 1000}
UNEVEN = {
    "kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.1, "min_size": 2},
}  # fmt: skip
CNN = {"model": "disco_cnn", "rounds": 2, "network": {}, "resize": 28}
STEPS = {"local": {"lr": 0.1, "iterations": 30, "batch_size": 16}, "rounds": 6}
KINDS = {
    "mlp, uneven clients": {"rounds": 8, **UNEVEN},
    "disco's cnn": CNN,
    "disco's cnn, uneven clients": CNN | UNEVEN,
    "own models": {"method": "ditto", "rounds": 3},
    "a server that learns": {
        "method": "fedlaw", "options": {"server_epochs": 20}, "rounds": 4,
        "proxy": {"per_class": 20},
    },
    "steps, not epochs": STEPS,
}  # fmt: skip
NEAR = 1.5


def setting(name: str = "", **changes) -> Setting:
    more = {"data": LETTERS, "local": {"lr": 0.1, "epochs": 4, "batch_size": 16}}
    more |= {"network": {"hidden": [32]}}
    return replace(BASE, **(more | KINDS.get(name, {}) | changes))


def job_of(s: Setting, seeds: tuple[int, ...] = (0, 1, 2)) -> Job:
    return jobs([replace(cell("x"), settings={"tiny": s})], "tiny", seeds, Found())[0]


@pytest.fixture
def by_processor(monkeypatch):
    """Clock of the processor, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_is_within_half_of_what_the_job_takes(kind, by_processor):
    """Three seeds in one cohort, as `run` plays them; too far is too far three times,
    as other programs take the caches of a busy machine."""
    job, off = job_of(setting(kind)), []
    for _ in range(3):
        said, begun = Costs().job(job), time.perf_counter()
        play(job)
        times = (time.perf_counter() - begun) / said
        off.append(max(times, 1 / times))
        if off[-1] < NEAR:
            return
    raise AssertionError(off)


@pytest.fixture
def a_second_a_step(monkeypatch):
    """A client's step takes 1 s, and nothing else takes time."""
    now = [0.0]
    whole = cost.train

    def counted(model, x, y, cohort, given, training, rule, **how):
        now[0] += float(count_steps(cohort, training).sum())
        return whole(model, x, y, cohort, given, training, rule, **how)

    monkeypatch.setattr(cost, "train", counted)
    monkeypatch.setattr(cost, "time", SimpleNamespace(perf_counter=lambda: now[0]))


def steps_of(s: Setting) -> int:
    """The steps of a run that is played to its end."""
    run, steps = run_of(s, 0), 0
    play = Simulation(run).play()
    asked = next(play)
    try:
        while True:
            steps += int(count_steps(asked.cohort, asked.training).sum())
            asked = play.send(cost._trained(run.world, asked, 1)[0])
    except StopIteration:
        return steps


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": 5, **UNEVEN},
        {"method": "ditto", "rounds": 2},
        STEPS,
        {"rounds": 4, "local": {"lr": 0.1, "epochs": 3, "batch_size": 200}},
        {"rounds": 4, "local": {"lr": 0.1, "batch_size": 300, "drop_last": True}},
        {"rounds": 7, "local": {"lr": 0.1, "epochs": 0}},
    ],
)
def test_a_cost_is_what_all_steps_of_all_seeds_take(a_second_a_step, changes):
    """The cost counts all steps, even if only a part of them is timed."""
    s = setting(**changes)
    assert Costs().of(s, (0, 1, 2)) == pytest.approx(3 * steps_of(s))


def test_no_more_is_trained_than_tells(a_second_a_step, monkeypatch):
    """An epoch's smallest part where that is long enough, and one round of it."""
    seen, part = [], cost._part_of

    def spy(asked, how_much, longest):
        seen.append(how_much)
        return part(asked, how_much, longest)

    monkeypatch.setattr(cost, "_part_of", spy)
    s = setting(rounds=9, data=BASE.data)
    Costs().of(s, (0, 1, 2))
    assert seen == [1 / 64] * 2  # the first call warms up
    monkeypatch.setattr(cost, "_LONG", 1e9)
    Costs().of(s, (0, 1, 2))
    assert seen[2:] == [1 / 64, *cost._PARTS]


def test_what_is_brief_is_tried_in_more_rounds(monkeypatch):
    """The first has what comes once; of the others the shortest counts."""
    clock = iter([0.0, 1.0, 10.0, 11.0, 30.0, 33.0, 40.0, 41.0])
    seconds = iter([8.0, 2.0, 5.0])  # of training, round by round

    def trained(w, asked, seeds):
        how = (asked.cohort, asked.given, asked.training, asked.rule)
        return cost.train(w.model, w.x, w.y, *how), next(seconds)

    monkeypatch.setattr(cost, "_BRIEF", 1e9)
    monkeypatch.setattr(cost, "_trained", trained)
    time_of = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(cost, "time", time_of)
    s, costs = setting(rounds=9, data=BASE.data), Costs()
    # rounds of 8 + 1, 2 + 3 and 5 + 1: 5 s each, and 1 + 4 s before
    assert costs.of(s, (0,)) == 5.0 + 9 * 5.0
    assert list(costs.paces.values()) == [Pace(5.0, 5.0)]
    assert costs.of(replace(s, rounds=2), (0,)) == 15.0  # no clock is asked again


def test_both_settings_are_counted_and_what_is_watched(monkeypatch):
    seen = []

    def look(self, s: Setting, seeds: Sequence[int], watched: Sequence[str] = ()):
        seen.append((s.method, seeds, list(watched)))
        return 1.5

    monkeypatch.setattr(Costs, "of", look)
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    one, other = (replace(BASE, method=m, **world) for m in ("fedavg", "local"))
    both = replace(
        cell("x"), settings={"tiny": one}, metric="ipr", against={"tiny": other}
    )
    assert Costs().job(jobs([both], "tiny", (4, 5), Found())[0]) == 3.0
    assert seen == [("fedavg", (4, 5), []), ("local", (4, 5), [])]
    tails = replace(cell("x"), metric="last:classes.tail")
    Costs().job(jobs([tails], "tiny", (4, 5), Found())[0])
    assert seen[-1] == ("fedavg", (4, 5), ["classes.tail"])


@pytest.mark.parametrize(
    "change, same",
    [
        ({"rounds": 50}, True),
        ({"local": {"lr": 0.5}}, True),
        ({"weigh": {"name": "equal"}}, True),
        ({"local": {"lr": 0.1, "epochs": 9}}, False),
        ({"scenario": {"clients": 4}}, False),
        ({"local": {"lr": 0.1, "batch_size": 8}}, False),
        ({"local": {"lr": 0.1, "momentum": 0.9}}, False),
        ({"method": "fedprox"}, False),
        ({"network": {"hidden": [5]}}, False),
        ({"participants": 2}, False),
        ({"data": {"n_train": 90, "n_test": 61}}, False),
    ],
)
def test_of_one_kind_is_what_differs_in_numbers_only(change, same):
    one, other = (kind_of(s, 3, ()) for s in (BASE, replace(BASE, **change)))
    assert (one == other) == same
    assert kind_of(BASE, 2, ()) != one and kind_of(BASE, 3, ("drift.all",)) != one
    heads, both = (kind_of(BASE, 3, (f"drift.{n}",)) for n in ("head", "all"))
    assert heads == both  # of one observer
    assert kind_of(BASE, 3, ("gamma",)) == one  # which no observer gives


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
    assert __main__.main(["run", "made", "--dry-run", "--row", "a"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 job: ")


def test_what_cannot_be_run_is_said(tmp_path, monkeypatch, capsys):
    bad = cell("bad", local={"lr": -1.0})
    monkeypatch.setenv("FEDLAB_DATA", str(tmp_path))
    declare(monkeypatch, cell("a"), bad, cell("far", dataset="cifar10", data={}))
    monkeypatch.chdir(tmp_path)
    assert __main__.main(["run", "made", "--dry-run"]) == 2
    said = capsys.readouterr().out
    assert "bad | one: cannot be run: " in said and "1 job: " in said
    far = f"far | one: cannot be run: its data are not here: {tmp_path}/cifar10.npz"
    assert far in said

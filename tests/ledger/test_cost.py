"""What a job will cost: near what it then takes, and nothing is played for it.

Time is that of the processor, on one thread: what else a machine does is not in it.
"""

import time
from dataclasses import replace

import pytest
import torch

from fedlab_core import __main__
from fedlab_ledger import Store
from fedlab_ledger.model.cells import Setting
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.observers import Watching
from fedlab_ledger.run import cost
from fedlab_ledger.run.build import run_of
from fedlab_ledger.run.cost import Asked, Costs, Kind, Load, Pace, kind_of
from fedlab_ledger.run.jobs import Job, jobs
from fedlab_ledger.run.player import play
from fedlab_ledger.run.workload import load_of, sizes
from tests.ledger_cases import BASE, cell, declare

LETTERS = {"n_train": 1500, "n_test": 1000}
UNEVEN = {
    "kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.1, "min_size": 2},
}  # fmt: skip
CNN = {"model": "disco_cnn", "rounds": 2, "network": {}, "resize": 28}
SMALL_CNN = {"model": "lenet", "rounds": 2, "network": {}, "resize": 28}
KINDS = {
    "mlp": {"rounds": 4},
    "mlp, uneven clients": {"rounds": 4, **UNEVEN},
    "mlp, one epoch": {"rounds": 12, "local": {"lr": 0.1, "batch_size": 16}},
    "a part takes part": {"rounds": 8, "participants": 3, **UNEVEN},
    "disco's cnn": CNN,
    "disco's cnn, uneven clients": CNN | UNEVEN,
    "lenet": SMALL_CNN,
    "own models": {"method": "ditto", "rounds": 3},
    "a server that learns": {
        "method": "fedlaw", "options": {"server_epochs": 20}, "rounds": 4,
        "proxy": {"per_class": 20},
    },
    "steps, not epochs": {
        "local": {"lr": 0.1, "iterations": 30, "batch_size": 16}, "rounds": 6,
    },
}  # fmt: skip
NEAR = 1.5


def setting(kind: str) -> Setting:
    more = {"data": LETTERS, "local": {"lr": 0.1, "epochs": 4, "batch_size": 16}}
    more |= {"network": {"hidden": [32]}}
    return replace(BASE, **(more | KINDS[kind]))


def job_of(s: Setting, seeds: tuple[int, ...] = (0, 1, 2)) -> Job:
    return jobs([replace(cell("x"), settings={"tiny": s})], "tiny", seeds, Found())[0]


@pytest.fixture
def by_processor(monkeypatch):
    """What is timed is the processor's time, of one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    yield
    torch.set_num_threads(threads)


def times_off(costs: Costs, job: Job) -> float:
    """How many times more, or less, a job takes than was said."""
    said, begun = costs.job(job), time.perf_counter()
    play(job)
    off = (time.perf_counter() - begun) / said
    return max(off, 1 / off)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_is_within_half_of_what_the_job_takes(kind, by_processor):
    """Three seeds in one cohort, as `run` plays them; too far is too far three times,
    as other programs take the caches of a busy machine."""
    job, off = job_of(setting(kind)), []
    for _ in range(3):
        off.append(times_off(Costs(), job))
        if off[-1] < NEAR:
            return
    raise AssertionError(off)


@pytest.mark.slow
def test_what_was_measured_of_one_serves_another_of_its_kind(by_processor):
    """Even and uneven clients, few and many epochs: one measurement, near both."""
    costs, off = Costs(), []
    local = {"lr": 0.05, "epochs": 2, "batch_size": 16}
    even = {"alpha": 100.0, "clients": 10, "min_size": 2}
    one = replace(setting("mlp, uneven clients"), scenario=even)
    other = replace(setting("mlp, uneven clients"), local=local, rounds=8)
    costs.job(job_of(one))
    for _ in range(3):
        off.append(times_off(costs, job_of(other)))
        assert len(costs.kinds) == 1
        if off[-1] < NEAR:
            return
    raise AssertionError(off)


@pytest.mark.slow
def test_a_world_in_small_grows_to_the_whole_one(by_processor, monkeypatch):
    """Where the rest of a round takes long, it is measured with fewer samples."""
    s = replace(setting("disco's cnn"), local={"lr": 0.1, "batch_size": 500}, rounds=3)
    monkeypatch.setattr(cost, "_TOLD", 0.02)
    off = [times_off(Costs(), job_of(s)) for _ in range(3)]
    assert min(off) < NEAR, off


def test_a_world_in_small_counts_what_its_clients_have():
    """Whoever compares clients asks how much they have: FedCollab found none to judge
    by where large clients were thinned and their counts were not."""
    parts = {"clients": 4, "own_test": 0.4, "keep": [1, 0.05]}
    options = {"C": 5, "restarts": 1, "hidden": 4, "rounds": 10}
    s = replace(setting("mlp"), kind="stratified", scenario=parts, options=options)
    s = replace(s, method="fedcollab", rounds=1)
    world = run_of(s, 0, "cpu", Watching(())).world
    small = cost._thinned(run_of(s, 0, "cpu", Watching(())), 16).world
    held = [len(i) for i in small.partition.indices]
    assert small.counts.sum(1).tolist() == held and max(held) < len(world.client(0))
    assert Costs().of(s, (0,)).seconds > 0


def test_a_pace_is_of_clients_with_all_their_samples(monkeypatch):
    """Thinned, with the last short batch left out, they had no step to measure: hours
    of training were told as minutes."""
    s = setting("mlp")
    s = replace(s, local=s.local | {"drop_last": True})
    measured, pace = [], cost._pace

    def spy(w, asked, many, stacked):
        measured.append([len(c.indices) for c in asked.cohort])
        return pace(w, asked, many, stacked)

    monkeypatch.setattr(cost, "_TOLD", 0.0)  # no larger world is looked at
    monkeypatch.setattr(cost, "_pace", spy)
    Costs().of(s, (0,))
    assert measured == [list(sizes(s, 0))]


def test_a_load_is_what_the_clients_look_at():
    """Dirichlet's clients, by hand: epochs of whole and short mini-batches."""
    s = setting("mlp, uneven clients")
    mine = sizes(s, 0), sizes(s, 1)
    training = cost.method_of(s, cost.data_of(s)).training
    load = load_of(s, (0, 1), training)
    steps = [4 * -(-n // 16) for held in mine for n in held]
    assert load.clients == 20 and load.steps == sum(steps)
    assert load.longest == max(steps)
    assert load.samples == pytest.approx(4 * sum(map(sum, mine)))
    whole = load_of(s, (0, 1), replace(training, drop_last=True))
    assert whole.samples == 4 * sum(n // 16 * 16 for held in mine for n in held)
    half = load_of(replace(s, participants=5), (0, 1), training)
    assert half.clients == 10 and 0 < half.samples < load.samples
    assert load_of(replace(s, participants=5), (0, 1), training, everyone=True) == load


def test_a_cost_is_what_comes_before_it_and_its_rounds(monkeypatch):
    """Two seeds: 2 x 3 before; a round 1 + 10 x .5 of training, 2 x .25 of the rest."""
    monkeypatch.setattr(cost, "load_of", lambda *a: Load(2.0, 4.0, 10.0, 160.0))
    s, costs = replace(BASE, rounds=7), Costs()
    paces = Pace(0.5, 9.0, 0.03125, False), Pace(0.0, 0.25, 0.5, True)
    assert [p.seconds(cost.load_of(s, (), None)) for p in paces] == [6.0, 6.0]  # pyright: ignore
    asked = tuple(Asked(p, True, None) for p in paces)
    costs.kinds[kind_of(s, 2, ())] = Kind(3.0, 0.25, asked)
    found = costs.of(s, (0, 1))
    assert found.seconds == 2 * 3.0 + 7 * (12.0 + 2 * 0.25)
    assert found.samples == 7 * 320


def test_both_settings_are_counted_and_what_is_watched(monkeypatch):
    seen = []

    def look(self, s, seeds, watched=()):
        seen.append((s.method, seeds, list(watched)))
        return cost.Cost(1.5, 0.0)

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
        ({"local": {"lr": 0.5, "epochs": 9}}, True),
        ({"weigh": {"name": "equal"}}, True),
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
    Store(tmp_path / "results" / "ledger").folder.mkdir(parents=True)
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


@pytest.mark.parametrize("stacked", [True, False])
def test_a_pace_tells_clients_steps_and_samples_apart(monkeypatch, stacked):
    """Clients cost .01 s each, a step .02 s for all and .003 s for each: as made up."""

    def made_up(self, clients: int, steps: int) -> float:
        return 0.01 * clients + steps * (0.02 * stacked + 0.003 * clients)

    monkeypatch.setattr(cost._Tries, "seconds", made_up)
    s = replace(setting("mlp"), scenario={"clients": 6})
    run = cost.run_of(s, 0)
    (asked,) = cost._played(run, 1).asked
    pace = cost._pace(run.world, asked, 18, stacked)
    assert pace.a_client == pytest.approx(0.01)
    assert pace.a_step == pytest.approx(0.02 * stacked)
    unit = 1 if stacked else 16  # a step of a client, or a sample of its mini-batch
    assert pace.a_unit == pytest.approx(0.003 / unit)


@pytest.mark.parametrize("a_step", [0.5, 0.1, 0.02, 0.006, 0.0])
def test_as_many_steps_are_taken_as_tell_what_one_takes(a_step):
    """Beside what comes before the first, which is long in a large cohort."""
    n = cost._enough(lambda steps: 0.06 + a_step * steps)
    assert n in (3, 40) or 0.2 <= (n - 1) * a_step <= 0.4
    assert n > 3 or a_step >= 0.1
    assert n < 40 or 40 * a_step <= 0.25


def test_a_world_that_grows_by_three_times_as_much_takes_as_much_more():
    small, more = cost._Short(1.0, 2.0, ()), cost._Short(2.0, 4.5, ())
    assert cost._grown(small, more, 3.0) == cost._Short(5.0, 12.0, ())
    assert cost._grown(more, small, 3.0) == small  # what shrinks was interrupted

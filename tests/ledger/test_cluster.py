"""Jobs over a cluster: the same lines, and what becomes of a worker that is lost.

Most tests give the driver a stand-in for Ray, which plays in this process and loses
workers when told to; the last one begins a real cluster and kills a worker.
"""

import json
import os
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger import Store, jobs, play_all
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run import cluster, player
from fedlab_ledger.run.cluster import LIVES, Crew
from tests.ledger_cases import BASE, cell, comparable, declare
from tests.main_cases import call

ROOT = Path(__main__.__file__).parents[1]
CELLS = [cell("A"), cell("B", rounds=3), cell("C", data=BASE.data | {"seed": 1})]


class Lost(Exception):
    """The stand-in's error for a lost worker."""


class Later:
    """Something remote: called with `remote`, it is done when it is asked for."""

    def __init__(self, do):
        self.do = do

    def options(self, **asked):
        return self

    def remote(self, *given):
        return lambda: self.do(*given)


class Actor:
    def __init__(self, thing):
        self.thing = thing

    def __getattr__(self, name):
        method = getattr(self.thing, name)
        answer = lambda *given: (lambda value: lambda: value)(method(*given))  # noqa: E731
        return types.SimpleNamespace(remote=answer)


class StandIn(types.ModuleType):
    """As much of Ray as the driver asks for; the last job begun is over first."""

    def __init__(self, cpus=2, losses=0, interrupt=None):
        super().__init__("ray")
        self.__spec__ = types.SimpleNamespace(name="ray")  # type: ignore[assignment]
        names = ("WorkerCrashedError", "NodeDiedError", "OutOfMemoryError")
        names += ("ObjectLostError", "LocalRayletDiedError", "RayError")
        self.exceptions = types.SimpleNamespace(**dict.fromkeys(names, Lost))
        self.cpus, self.losses, self.interrupt = cpus, losses, interrupt
        self.begun, self.ended, self.most = [], 0, 0

    def init(self, **options):
        self.begun.append(options)

    def shutdown(self):
        self.ended += 1

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": float(self.cpus)}}]

    def remote(self, thing):
        if isinstance(thing, type):
            return Later(lambda: None) if thing is not cluster.Reports else Made(thing)
        return Later(thing)

    def wait(self, waiting, timeout):
        self.most = max(self.most, len(waiting))
        if self.interrupt is not None:
            self.interrupt -= 1
            if self.interrupt < 0:
                raise KeyboardInterrupt
        return waiting[-1:], waiting[:-1]

    def get(self, given, timeout=None):
        value = given()
        if isinstance(value, tuple) and self.losses:
            self.losses -= 1
            raise Lost
        return value


class Made(Later):
    """An actor's class: it begins at once."""

    def remote(self, *given):
        return Actor(self.do(*given))


@pytest.fixture
def ray(monkeypatch):
    """Put a stand-in in the place of Ray."""

    def use(**how) -> StandIn:
        made = StandIn(**how)
        monkeypatch.setattr(os, "environ", dict(os.environ))
        monkeypatch.setitem(sys.modules, "ray", made)
        return made

    return use


def waiting():
    return jobs(CELLS, "tiny", (0, 1), Found())


def lines_of(folder: Path) -> list[dict]:
    text = (folder / "made-table1.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> list[dict]:
    """The lines of an uninterrupted run in this process."""
    folder = tmp_path_factory.mktemp("local")
    list(play_all(waiting(), Store(folder)))
    return lines_of(folder)


def test_the_lines_are_those_of_the_local_engine_as_they_come(ray, tmp_path, local):
    seen, stand_in = [], ray(cpus=2)
    played = cluster.play_all(waiting(), Store(tmp_path), Crew(), tick=seen.append)
    rows = [job.cells[0].row for job, _ in played]
    assert rows == ["B", "C", "A"]  # two at a time, the later begun is over first
    assert stand_in.most == 2
    lines = lines_of(tmp_path)
    assert [v["row"] for v in lines] == ["B", "B", "C", "C", "A", "A"]
    by = sorted(map(comparable, lines), key=lambda v: v["row"])
    assert by == [comparable(v) for v in local]
    assert sum(seen) == sum(job.rounds for job in waiting()) == 14
    (how,) = stand_in.begun
    assert how["address"] == "local" and not how["include_dashboard"]
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0" and stand_in.ended == 1
    assert int(os.environ["RAY_raylet_start_wait_time_s"]) >= 120


def test_a_lost_worker_costs_its_job_a_second_try(ray, tmp_path, local):
    ray(cpus=1, losses=1)
    said, seen = [], []
    played = cluster.play_all(
        waiting(), Store(tmp_path), Crew(), say=said.append, tick=seen.append
    )
    assert [job.cells[0].row for job, _ in played] == ["A", "B", "C"]
    assert len(said) == 1 and said[0].endswith("): begins again")
    assert said[0].startswith(
        f"made/table1 A | one: worker lost (process {os.getpid()}"
    )
    assert [comparable(v) for v in lines_of(tmp_path)] == [comparable(v) for v in local]
    assert sum(seen) == 14  # what was lost is taken back


def test_a_job_that_loses_every_worker_is_given_up(ray, tmp_path):
    ray(cpus=1, losses=LIVES)
    said = []
    played = list(cluster.play_all(waiting(), Store(tmp_path), Crew(), say=said.append))
    assert played[0][1] == "lost its worker 3 times" and len(said) == LIVES - 1
    assert [v["row"] for v in lines_of(tmp_path)] == ["B", "B", "C", "C"]


def test_no_job_is_begun_that_would_outlast_the_budget(ray, tmp_path):
    ray(cpus=1)
    clock = iter([0.0, 1.0, 99.0, 99.0])
    played = cluster.play_all(
        waiting(), Store(tmp_path), Crew(), budget=50.0, clock=lambda: next(clock)
    )
    assert [job.cells[0].row for job, _ in played] == ["A"]


def test_a_cluster_is_let_go_when_the_reader_stops(ray, tmp_path):
    stand_in = ray(cpus=1, interrupt=1)
    played = cluster.play_all(waiting(), Store(tmp_path), Crew())
    assert next(played)[0].cells[0].row == "A"
    with pytest.raises(KeyboardInterrupt):
        next(played)
    assert stand_in.ended == 1 and len(lines_of(tmp_path)) == 2


def test_what_cannot_be_played_is_refused_and_the_rest_goes_on(ray, tmp_path):
    ray(cpus=1)
    bad = jobs([cell("A", sample=9_999), *CELLS[1:]], "tiny", (0,), Found())
    played = list(cluster.play_all(bad, Store(tmp_path), Crew()))
    assert "sample=9999: letters has 90" in str(played[0][1])
    assert [v["row"] for v in lines_of(tmp_path)] == ["B", "C"]


def test_workers_of_another_commit_are_named_once(ray, tmp_path, monkeypatch):
    ray(cpus=1)
    monkeypatch.setattr(cluster, "commit", lambda: "abc")
    monkeypatch.setattr(player, "commit", lambda: "def")
    said = []
    list(cluster.play_all(waiting(), Store(tmp_path), Crew(), say=said.append))
    assert said == ["note: a worker has commit def, not abc"]


def node(cpus: float, gpus: float = 0, alive: bool = True) -> dict:
    return {"Alive": alive, "Resources": {"CPU": cpus, "GPU": gpus}}


SLOTS = [
    (Crew(), [node(2)], 2),
    (Crew(workers=1), [node(2)], 1),
    (Crew(workers=9), [node(2), node(3)], 5),
    (Crew(threads=2), [node(3), node(5)], 3),  # a worker lives on one node
    (Crew(), [node(2), node(2, alive=False)], 2),
    (Crew(device="cuda"), [node(16, 8), node(16)], 8),
    (Crew(device="cuda", threads=8), [node(16, 8)], 2),
    (Crew(device="cuda", workers=12), [node(16, 8)], 12),  # two share a GPU
    (Crew(device="cuda", workers=4), [node(16, 8)], 4),
    (Crew(device="cuda"), [node(16)], 0),
]


@pytest.mark.parametrize("crew, nodes, slots", SLOTS)
def test_as_many_workers_as_there_is_room_for(crew, nodes, slots):
    assert crew.slots(nodes) == slots


def test_no_room_for_a_worker_is_one_clear_line(ray, tmp_path):
    stand_in = ray(cpus=2)
    played = cluster.play_all(waiting(), Store(tmp_path), Crew("auto", threads=3))
    with pytest.raises(InputError, match="no node has 3 CPUs for a worker"):
        next(played)
    assert stand_in.begun[0]["address"] == "auto" and stand_in.ended == 1


def test_a_cluster_that_does_not_answer_is_one_clear_line(ray, tmp_path, monkeypatch):
    def init(**options):
        raise ConnectionError("nobody there\nand more")

    monkeypatch.setattr(ray(), "init", init, raising=False)
    played = cluster.play_all(waiting(), Store(tmp_path), Crew("10.0.0.1:6379"))
    with pytest.raises(InputError, match="no cluster at 10.0.0.1:6379: nobody there$"):
        next(played)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and a table to run."""
    declare(monkeypatch, *CELLS)
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TABLE = "run made/table1"
RUN = f"{TABLE} --seeds 0 1 --engine ray"


@pytest.mark.slow
def test_the_command_line_answers_as_for_the_local_engine(here, ray, capsys):
    ray(cpus=1)
    code, out, err = call(RUN, capsys)
    assert (code, err) == (0, "") and out.count("made/table1 ") == 3
    assert out.endswith("all there: 3 cells at tiny scale, results/ledger\n")
    code, out, _ = call(f"{TABLE} --engine ray --seeds 2 --budget 0s", capsys)
    assert code == 3 and out.endswith("3 of 3 left: the budget is used up\n")
    ray(cpus=1, interrupt=1)
    code, out, _ = call(f"{TABLE} --engine ray --seeds 2", capsys)
    assert code == 130 and "stopped, 2 of 3 left: the same command goes on" in out
    ray(cpus=1, losses=LIVES)
    code, out, _ = call(f"{TABLE} --engine ray --seeds 2", capsys)
    assert code == 2 and out.count("begins again") == LIVES - 1
    assert "B | one: cannot be run: lost its worker 3 times" in out


@pytest.mark.parametrize(
    "more, said",
    [
        ("--workers 0", "--workers: must be a whole number from 1 to 1024, not 0"),
        ("--threads 0", "--threads: must be a whole number from 1 to 1024, not 0"),
        ("--keep 60s", "--keep: only with --engine local"),
        ("--keep 5m", "--keep: only with --engine local"),
        ("--engine local --address auto", "--address: only with --engine ray"),
        ("--engine local --workers 2", "--workers: only with --engine ray"),
        (
            "--engine local --threads 0",
            "--threads: must be a whole number from 1 to 1024, not 0",
        ),
    ],
)
def test_options_without_sense_are_refused(here, ray, capsys, more, said):
    stand_in = ray()
    where = "" if "--engine" in more else "--engine ray"
    code, out, err = call(f"{TABLE} {where} {more}", capsys)
    assert (code, out) == (2, "") and said in err and not stand_in.begun


def test_without_ray_there_is_one_clear_line(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, out, err = call(RUN, capsys)
    assert (code, out) == (2, "")
    assert err == (
        "fedlab_core run: --engine ray needs Ray: pip install 'fedlab-core[ray]'\n"
    )


# A: a second or more even on a fast machine, for it is killed soon after it has begun
REAL = (
    cell("A", rounds=400),
    cell("B", rounds=10, data=BASE.data | {"seed": 1}),
    cell("C", rounds=10, data=BASE.data | {"seed": 2}),
)
DECLARED = """
import sys
from fedlab_core import __main__
from fedlab_ledger import Table, papers
from tests.ledger.test_cluster import REAL

papers.TABLES = {"made/table1": Table("made", "table1", "t", REAL)}
papers.CLAIMS = {}
"""
KILLS = """
import os, signal, threading, time
from fedlab_ledger.run.cluster import REPORTS

def kill():
    while True:
        time.sleep(0.05)
        try:
            ray = sys.modules["ray"]
            if not ray.is_initialized():
                continue  # to ask for anything would begin another cluster
            seen = ray.get(ray.get_actor(REPORTS).all.remote())
        except Exception:
            continue
        if 0 in seen:
            os.kill(seen[0][1], signal.SIGKILL)
            return

threading.Thread(target=kill, daemon=True).start()
"""
PLAYS = "sys.exit(__main__.main(sys.argv[1:]))"
TRIES, WAITS = 2, 280  # seconds for what takes twenty; pytest gives a test 600
SLOWLY = "timed out during startup"  # says Ray after 30 s, which nobody can set


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ray"), reason="needs Ray: pip install ray")
def test_a_real_worker_is_killed_in_the_middle_of_a_cell(tmp_path):
    list(play_all(jobs(REAL, "tiny", (0, 1), Found()), Store(tmp_path / "local")))
    env = os.environ | {"PYTHONPATH": str(ROOT), "FEDLAB_PROGRESS": "0"}
    env["RAY_worker_niceness"] = "0"  # 15 leaves it nothing beside busy neighbours
    run = "run made/table1 --seeds 0 1 --threads 1 --uncommitted --ledger ray "
    run += "--engine ray --workers 2"
    for _ in range(TRIES):
        done = subprocess.run(
            [sys.executable, "-c", DECLARED + KILLS + PLAYS, *run.split()],
            capture_output=True, text=True, cwd=tmp_path, env=env, timeout=WAITS,
        )  # fmt: skip
        if SLOWLY not in done.stderr:
            break
    out, said = done.stdout, done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), out + done.stderr
    assert "made/table1 A | one: worker lost (process " in out
    over = [v for v in said if v.endswith(" s)") and "worker lost" not in v]
    assert len(over) == 3, out  # each cell once, however often its worker was lost
    assert said[-1] == "all there: 3 cells at tiny scale, ray"
    spread, plain = (
        sorted(map(comparable, lines_of(tmp_path / name)), key=by_seed)
        for name in ("ray", "local")
    )
    assert spread == plain and len(plain) == 6


def by_seed(line: dict) -> tuple[str, int]:
    return line["row"], line["seed"]

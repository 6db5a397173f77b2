"""Two players on one ledger: together every cell once, and none waits for the dead."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from fedlab_core import __main__
from fedlab_ledger import Store, jobs, play_all
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run.job_locks import FOLDER, JobLocks, sharing
from tests.ledger_cases import BASE, cell

ROOT = Path(__main__.__file__).parents[1]
PATIENCE = 280  # seconds, of a machine that has much else to do
PLAYER = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from fedlab_ledger import Store, jobs, play_all
from fedlab_ledger.run import player
from tests.ledger.test_turns import CELLS

store, rest = Store(Path(sys.argv[1])), player.play

def told(job, *given):
    print("plays", job.cells[0].row, flush=True)
    if sys.argv[2] == "waits":
        sys.stdin.readline()
    return rest(job, *given)

player.play = told
waiting = jobs(CELLS, "tiny", (0, 1), store.read(new=True))
print("ready", len(waiting), flush=True)
sys.stdin.readline()
for job, lines in play_all(waiting, store):
    print("over", job.cells[0].row, len(lines), flush=True)
"""
CELLS = [cell(str(k), data=BASE.data | {"seed": k}) for k in range(12)]


class Player:
    """A process that plays `CELLS` once it is told to, or each as it is told to."""

    def __init__(self, folder: Path, how: str):
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        line = [sys.executable, "-c", PLAYER, str(folder), how]
        self.process = subprocess.Popen(line, env=env, cwd=ROOT, **pipe)

    def read(self) -> list[str]:
        assert self.process.stdout
        return self.process.stdout.readline().split()

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def rest(self) -> list[list[str]]:
        out, _ = self.process.communicate(timeout=PATIENCE)
        return [line.split() for line in out.splitlines()]


def lines_of(folder: Path) -> list[dict]:
    (path,) = folder.glob("*.jsonl")
    return [json.loads(text) for text in path.read_text().splitlines()]


@pytest.mark.slow
def test_two_players_share_the_work(tmp_path):
    """In turn, each begins a job while the other has one under way."""
    players = [Player(tmp_path, "waits") for _ in "ab"]
    assert [p.read() for p in players] == [["ready", "12"]] * 2
    for p in players:
        p.go()
    said: list[list[list[str]]] = [[], []]
    for _ in range(6):
        for p, one in zip(players, said, strict=True):
            one.append(p.read())
            while one[-1][0] != "plays":
                one.append(p.read())
        for p in players:
            p.go()
    for p, one in zip(players, said, strict=True):
        one += p.rest()
    assert [p.process.returncode for p in players] == [0, 0]
    played = [[row for what, row, *_ in one if what == "plays"] for one in said]
    assert sorted(played[0] + played[1], key=int) == [str(k) for k in range(12)]
    assert list(map(len, played)) == [6, 6]
    for one in said:  # and each can say that all is there
        assert len([v for v in one if v[0] == "over"]) == 12
    lines = lines_of(tmp_path)
    assert len({(v["key"], v["seed"]) for v in lines}) == len(lines) == 24
    assert not Store(tmp_path).read().notes and not (tmp_path / FOLDER).exists()


@pytest.mark.slow
def test_the_locks_of_a_dead_player_lapse(tmp_path):
    """It is killed in the middle of a job, which the other one then plays."""
    dead, living = Player(tmp_path, "waits"), Player(tmp_path, "plays")
    assert dead.read() == living.read() == ["ready", "12"]
    dead.go()
    assert dead.read() == ["plays", "0"]
    living.go()
    said = [living.read() for _ in range(22)]  # all but the job that is locked
    assert "0" not in {row for _, row, *_ in said}
    time.sleep(0.2)
    dead.process.send_signal(signal.SIGKILL)
    dead.process.communicate()
    assert living.rest() == [["plays", "0"], ["over", "0", "2"]]
    assert len(lines_of(tmp_path)) == 24 and not (tmp_path / FOLDER).exists()


def test_what_another_has_finished_in_part_is_not_played_again(tmp_path):
    """Of two cells of one run, and two seeds, one of each is there already."""
    twins = [cell("A"), cell("B", local={"lr": 0.1})]
    (job,) = jobs([twins[0]], "tiny", (0, 1), Found())
    store = Store(tmp_path)
    done = jobs([twins[0]], "tiny", (1,), Found())
    ((_, lines),) = play_all(done, store)
    assert [v["seed"] for v in lines if isinstance(v, dict)] == [1]
    ((_, more),) = play_all([job], store)
    assert [v["seed"] for v in more if isinstance(v, dict)] == [0]
    ((_, none),) = play_all([job], store)
    assert none == [] and len(lines_of(tmp_path)) == 2


@pytest.mark.slow
def test_a_lock_is_on_a_setting_and_a_seed(tmp_path):
    """Another process may have what this one has not locked, and only that."""
    store = Store(tmp_path)
    first, second = jobs([CELLS[0]], "tiny", (0, 1), Found()), []
    ask = """
import sys
from pathlib import Path
from fedlab_ledger import Store, jobs
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run.job_locks import sharing
from tests.ledger.test_turns import CELLS
for k, seeds in ((0, (1, 2)), (0, (2,)), (1, (0, 1))):
    waiting = jobs([CELLS[k]], "tiny", seeds, Found())
    with sharing(waiting, Store(Path(sys.argv[1]))) as turns:
        print(turns.next() is not None)
"""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with sharing(first, store) as turns:
        assert turns.next() is not None
        done = subprocess.run(
            [sys.executable, "-c", ask, str(tmp_path)], env=env, cwd=ROOT, text=True,
            capture_output=True,
        )  # fmt: skip
        assert done.stdout.split() == ["False", "True", "True"], done.stderr
        assert (tmp_path / FOLDER).exists()
    assert not (tmp_path / FOLDER).exists() and second == []


def test_a_budget_ends_the_waiting_for_others(tmp_path, monkeypatch):
    store = Store(tmp_path)
    waiting = jobs([CELLS[0]], "tiny", (0,), Found())
    monkeypatch.setattr(JobLocks, "take", lambda *given: False)
    monkeypatch.setattr("fedlab_ledger.run.player.PAUSE", 0.01)
    clock = count(0.0, 0.05)
    assert list(play_all(waiting, store, budget=0.2, clock=clock.__next__)) == []
    assert 0.2 < next(clock) < 0.5


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_thousands_of_jobs_are_not_thousands_of_open_files(tmp_path):
    """A job takes its own locks, one a seed, and gives them back with their files."""
    folder, before = tmp_path / FOLDER, open_files()
    waiting = jobs(CELLS, "tiny", range(40), Found())
    locks = JobLocks(folder)
    for job in waiting:
        assert locks.take(job) and len(list(folder.iterdir())) == 40
        assert open_files() - before <= 41
        locks.give_back(job)
        assert list(folder.iterdir()) == [] and open_files() == before
    locks.close()
    assert not folder.exists()


def test_one_seed_that_another_has_leaves_nothing_taken(tmp_path):
    """Nor does a player that cannot take a job, or that goes, free another's."""
    (job,) = jobs([CELLS[0]], "tiny", (0, 1, 2), Found())
    mine, other = JobLocks(tmp_path / FOLDER), JobLocks(tmp_path / FOLDER)
    assert other.take(replace(job, seeds=(1,)))
    assert not mine.take(job) and mine.held == {}
    mine.close()
    assert not mine.take(replace(job, seeds=(1,)))
    assert mine.take(replace(job, seeds=(0, 2)))
    other.close()
    assert mine.take(replace(job, seeds=(1,)))
    mine.close()
    assert not (tmp_path / FOLDER).exists()


def test_who_waits_for_a_lock_takes_a_file_that_is_there(tmp_path):
    """The one that its holder has unlinked is nobody's, although it can be locked."""
    (job,) = jobs([CELLS[0]], "tiny", (0,), Found())
    first, second, third = (JobLocks(tmp_path / FOLDER) for _ in range(3))
    assert first.take(job)
    (path,) = (tmp_path / FOLDER).iterdir()
    waits = os.open(path, os.O_RDWR)
    try:
        first.give_back(job)
        assert os.fstat(waits).st_nlink == 0
        assert second.take(job) and not third.take(job)
    finally:
        os.close(waits)
    second.close()
    assert third.take(job)
    third.close()


def test_what_the_dead_have_left_goes_with_the_last_player(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "of somebody who was killed").touch()
    with sharing([], Store(tmp_path)):
        pass
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize("name", [".job_locks", ".fedlab-1.merge", ".merged", ".lock"])
def test_nothing_of_a_run_in_progress_is_committed(name):
    done = subprocess.run(
        ["git", "check-ignore", f"results/ledger/{name}/x", f"results/ledger/{name}"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 128:
        pytest.skip("needs a git checkout: git decides here what it ignores")
    assert f"results/ledger/{name}" in done.stdout

"""Lines on the disk: whole or not there, once, and never in contradiction unheard."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger.model.lines import check_line, found_in, read_lines
from fedlab_ledger.model.store import Store

LINE = {
    "schema": 1, "key": "k", "paper": "p", "table": "t", "row": "r", "column": "c",
    "scale": "tiny", "seed": 0, "value": 1.5, "metrics": {}, "curve": [0.1, None],
    "clients": None, "steps": 1, "bytes": 2, "seconds": 0.1, "together": [0],
    "device": "cpu", "torch": "2", "commit": "c", "date": "2026-01-01",
    "diverged": None,
}  # fmt: skip


def line(key="k", seed=0, value: float | None = 1.5, **more):
    return LINE | {"key": key, "seed": seed, "value": value, **more}


def test_lines_come_back_as_they_were(tmp_path):
    store = Store(tmp_path / "new" / "ledger")
    store.append([line(), line(seed=1)])
    store.append([line(seed=2, value=None)])
    found = store.read()
    assert list(found.of("k")) == [0, 1, 2] and found.of("other") == {}
    assert found.of("k")[0] == line() and not found.notes
    assert [p.name for p in store.files()] == ["p-t.jsonl"]
    store.append([])
    assert len(store.files()[0].read_text().splitlines()) == 3


def test_a_file_holds_words_as_they_are_and_numbers_that_are_numbers(tmp_path):
    """γ is γ to who searches the file; NaN is no JSON, and nothing is written of it."""
    store = Store(tmp_path)
    store.append([line(row="γ=0.9")])
    (file,) = store.files()
    before = file.read_bytes()
    assert "γ=0.9".encode() in before
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            store.append([line(seed=1, row="γ=0.9", value=bad)])
    assert file.read_bytes() == before


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_a_torn_line_is_passed_over_and_the_next_begins_afresh(tmp_path, cut):
    store = Store(tmp_path)
    store.append([line()])
    store.append([line(seed=1)])
    (path,) = store.files()
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    seeds, notes = list(store.read().of("k")), store.read().notes
    # without its last character, the end of the line, a line is whole
    assert seeds == ([0, 1] if cut == 1 else [0]) and len(notes) == (cut > 1)
    store.append([line(seed=2)])
    assert list(store.read().of("k")) == [*seeds, 2]
    assert len(store.read().passed) == (cut > 1)
    if cut > 1:
        assert "p-t.jsonl:2 is not a whole line" in store.read().notes[0]


def test_repetitions_and_contradictions_are_reported(tmp_path):
    store = Store(tmp_path)
    store.append([line(), line(seed=1)])
    store.append([line(), line(seed=1, value=7.0, device="gpu")])
    found = store.read()
    assert found.duplicates == 1 and found.of("k")[1]["value"] == 1.5
    assert found.conflicts == ["p/t r | c, tiny, seed 1: 1.5 (cpu) and 7.0 (gpu)"]
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    "change, message",
    [
        ({"schema": 2}, "schema 2, but this version knows 1 only"),
        ({"seed": "0"}, "seed is '0'"),
        ({"seed": True}, "seed is True"),
        ({"curve": None}, "curve is None"),
        ({"value": "high"}, "value is 'high'"),
    ],
)
def test_strange_lines_are_refused(tmp_path, change, message):
    path = tmp_path / "p-t.jsonl"
    path.write_text(json.dumps(LINE | change) + "\n")
    with pytest.raises(InputError, match=f"p-t.jsonl:1: {message}"):
        Store(tmp_path).read()
    with pytest.raises(InputError, match=message):
        Store(tmp_path / "other").append([LINE | change])
    assert not (tmp_path / "other").exists()


def test_other_things_are_refused(tmp_path):
    with pytest.raises(InputError, match="a result without 'key'"):
        check_line({k: v for k, v in LINE.items() if k != "key"}, "x")
    with pytest.raises(InputError, match="not a result but 3"):
        check_line(3, "x")
    with pytest.raises(InputError, match="a new line: holds a number that is not"):
        Store(tmp_path).append([line(value=float("nan"))])
    assert found_in([]).lines == {}


def test_merging_takes_over_what_is_new_once(tmp_path):
    mine, a, b = (Store(tmp_path / n) for n in "mab")
    mine.append([line(), line(seed=1)])
    a.append([line(), line(seed=2)])
    a.append([line("other", table="u")])
    b.append([line(seed=2), line(seed=1, value=9.0)])
    torn_file = a.folder / "p-t.jsonl"
    torn_file.write_text(torn_file.read_text() + '{"torn')
    added, notes = mine.merge([a.folder, b.folder])
    assert added == 3  # seed 2, the other table, and what contradicts seed 1
    assert len(notes) == 2 and "not a whole line" in notes[0] and "9.0" in notes[1]
    lines, torn = read_lines(mine.folder / "p-t.jsonl")
    assert [(v["seed"], v["value"]) for v in lines] == [
        (0, 1.5), (1, 1.5), (2, 1.5), (1, 9.0),
    ] and not torn  # fmt: skip
    assert list(mine.read().of("other")) == [0]
    assert mine.merge([a.folder, b.folder])[0] == 0
    assert not list(mine.folder.glob("*.part"))
    with pytest.raises(InputError, match="there is no folder"):
        mine.merge([tmp_path / "nowhere"])


def test_a_merge_touches_nothing_but_lines_in_a_folder_of_its_own(tmp_path):
    """A link in the place of its folder leads elsewhere: nothing there is moved."""
    mine, other, diary = Store(tmp_path / "m"), tmp_path / "other", "diary.txt"
    mine.append([line()])
    other.mkdir()
    for name in (diary, "p-t.jsonl"):
        (other / name).write_text("mine")
    (mine.folder / ".merged").symlink_to(other)
    for step in (mine.read, lambda: mine.append([line(seed=1)])):
        with pytest.raises(InputError, match="is a link, not a merge's folder"):
            step()
    assert {p.name: p.read_text() for p in other.iterdir()} == {
        diary: "mine", "p-t.jsonl": "mine",
    }  # fmt: skip
    (mine.folder / ".merged").unlink()
    assert list(mine.read().of("k")) == [0]


# -- several processes, and kill -9 ------------------------------------------------

SERVER = """
import json, os, sys
from dataclasses import replace
from pathlib import Path
import torch
torch.set_num_threads(1)
from fedlab_ledger import Cell, Setting, Store, jobs, play_all

base = Setting("letters", "fedavg", 1, "iid", {"clients": 2}, local={"lr": 0.1},
               data={"n_train": 60, "n_test": 40}, network={"hidden": [4]})
cells = [Cell("p", "t", str(k), "c",
              {"tiny": replace(base, data=base.data | {"seed": k})}, 1.0, lacks="-")
         for k in range(60)]

def play(folder):
    print(os.getpid(), flush=True)
    store = Store(folder)
    found = store.read(new=True)
    for job, _ in play_all(jobs(cells, "tiny", (0, 1), found), store):
        print(job.cells[0].row, flush=True)

def write(folder, k, line):
    for i in range(40):
        Store(folder).append([line | {"seed": 2 * i + k}])

def child(act, *given):
    pid = os.fork()
    if pid:
        return pid
    act(*given)
    os._exit(0)

for text in sys.stdin:
    folder, line = json.loads(text)
    if line is None:
        pids = [child(play, Path(folder))]
    else:
        pids = [child(write, Path(folder), k, line) for k in range(2)]
    ends = [os.waitpid(pid, 0)[1] for pid in pids]
    print("end", *ends, flush=True)
"""


@pytest.fixture(scope="module")
def server():
    """A process that has everything imported, and starts others that work."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SERVER], env=env, **pipes) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def ask(server, folder: Path, line=None) -> None:
    server.stdin.write(json.dumps([str(folder), line]) + "\n")
    server.stdin.flush()


@pytest.mark.slow
def test_two_writers_do_not_mix_their_lines(server, tmp_path):
    ask(server, tmp_path, LINE)
    assert server.stdout.readline() == "end 0 0\n"
    found = Store(tmp_path).read()
    assert list(found.of("k")) == list(range(80)) and not found.notes


def _play(server, folder: Path, after: int | None = None, pause: float = 0) -> list:
    """The reports of a player, killed `pause` seconds after report number `after`."""
    ask(server, folder)
    pid, said = int(server.stdout.readline()), []
    while not (text := server.stdout.readline()).startswith("end"):
        assert text, "the server of players is gone"
        said.append(text.strip())
        if len(said) == after:
            time.sleep(pause)
            os.kill(pid, signal.SIGKILL)
    assert text == f"end {0 if after is None else int(signal.SIGKILL)}\n"
    return said


def _numbers(folder: Path) -> list[tuple]:
    (path,) = Store(folder).files()
    kept = ("key", "row", "seed", "value", "curve", "metrics", "steps", "bytes")
    return sorted(
        tuple(json.dumps(v[k]) for k in kept)
        for text in path.read_text().splitlines()
        if text and (v := json.loads(text))
    )


@pytest.mark.slow
def test_a_killed_player_loses_nothing_that_it_reported(server, tmp_path):
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    rng = random.Random(9)
    reported: list[str] = []
    for _ in range(10):
        reported += _play(server, broken, 1, rng.uniform(0, 0.02))
        found = Store(broken).read()
        rows = {v["row"] for seeds in found.lines.values() for v in seeds.values()}
        assert set(reported) <= rows and not found.conflicts
    reported += _play(server, broken)
    assert len(reported) == len(set(reported)) <= 60
    _play(server, whole)
    assert _numbers(broken) == _numbers(whole)
    assert len(_numbers(whole)) == 120


def test_a_mark_before_the_first_line_loses_nothing(tmp_path):
    """As some editors write before a text."""
    store = Store(tmp_path)
    store.append([line()])
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert store.read().of("k")[0] == line() and not store.read().notes


@pytest.mark.parametrize("value", [-5.0, 1e308])
def test_what_a_value_may_be_is_not_the_lines_to_say(value):
    assert check_line(line(value=value), "here")["value"] == value


def test_a_seed_below_zero_is_no_line(tmp_path):
    with pytest.raises(InputError, match="seed is -1"):
        Store(tmp_path).append([line(seed=-1)])

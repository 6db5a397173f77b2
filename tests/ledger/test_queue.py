"""A queue: what it may ask for, in which order, and that no kill costs a bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger import Store
from fedlab_ledger.model.cells import Setting
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import TABLES
from fedlab_ledger.run import player
from fedlab_ledger.run.jobs import jobs
from fedlab_ledger.run.progress import Minutes, lasting
from fedlab_ledger.run.queue import Wanted, each_alone, read_queue
from fedlab_ledger.run.resume import FOLDER
from tests.ledger_cases import BASE, cell

ROOT = Path(__main__.__file__).parents[1]
KILLS = int(os.environ.get("FEDLAB_KILLS", "10"))


def queue(folder: Path, text: str) -> Path:
    path = folder / "queue.txt"
    path.write_text(text)
    return path


# -- what it asks for ----------------------------------------------------------------


def test_lines_are_read_in_order_and_comments_are_not(tmp_path):
    path = queue(
        tmp_path,
        "# best first\n\nfeddisco/table3 | FedAvg |\n feddisco/table1\n"
        "fedlaw/table3 | FedLAW | FMNIST MLP, α=0.1\n",
    )
    assert read_queue(path, TABLES) == [
        Wanted("feddisco/table3", "FedAvg"),
        Wanted("feddisco/table1"),
        Wanted("fedlaw/table3", "FedLAW", "FMNIST MLP, α=0.1"),
    ]


@pytest.mark.parametrize(
    "text, said",
    [
        ("feddisco/table99", "queue.txt:1: there is no table 'feddisco/table99'"),
        (
            "# x\nfeddisco/table3 | Nobody",
            "queue.txt:2: no cell of feddisco/table3 has",
        ),
        ("a | b | c | d", "queue.txt:1: there is no table 'a'"),
        (
            "feddisco/table3 | FedAvg | accuracy | more",
            "queue.txt:1: no cell of feddisco/table3 has 'FedAvg | accuracy | more'",
        ),
        ("# nothing\n", "asks for nothing"),
        ("", "asks for nothing"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, said):
    with pytest.raises(InputError, match="^--queue: ") as error:
        read_queue(queue(tmp_path, text), TABLES)
    assert said in str(error.value)


def test_a_file_that_cannot_be_read_is_said(tmp_path, capsys):
    for path, why in ((tmp_path / "no", "No such file"), (tmp_path, "Is a directory")):
        assert __main__.main(["run", "--queue", str(path)]) == 2
        assert why in capsys.readouterr().err
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    assert __main__.main(["run", "--queue", str(tmp_path / "b")]) == 2
    assert "it is not text" in capsys.readouterr().err


def test_every_cell_has_a_line_that_asks_for_it_alone(tmp_path):
    """Names with a bar in them work, too."""
    cells = [(n, c) for n, table in TABLES.items() for c in table.cells]
    assert any("|" in f"{c.row}{c.column}" for _, c in cells)
    lines = [f"{n} | {c.row} | {c.column}" for n, c in cells]
    asked = read_queue(queue(tmp_path, "\n".join(lines)), TABLES)
    for (n, c), wanted in zip(cells, asked, strict=True):
        assert wanted.of(TABLES[n].cells) == [c]


@pytest.mark.parametrize(
    "more", [["feddisco/table1"], ["--row", "x"], ["--column", "x"]]
)
def test_a_queue_names_all_itself(tmp_path, capsys, more):
    path = queue(tmp_path, "feddisco/table3")
    assert __main__.main(["run", "--queue", str(path), *more]) == 2
    assert "--queue: its lines name tables" in capsys.readouterr().err
    assert __main__.main(["run"]) == 2
    assert "which table?" in capsys.readouterr().err


def test_a_whole_name_is_that_row_alone():
    cells = [cell("FedAvg"), cell("FedAvg + Disco")]
    assert Wanted("t", "FedAvg").of(cells) == cells[:1]
    assert Wanted("t", "Disco").of(cells) == cells[1:]
    assert Wanted("t").of(cells) == cells and not Wanted("t", "x").of(cells)


@pytest.mark.slow
def test_seeds_train_alone_where_stacking_gains_nothing():
    small = cell("small")
    deep = replace(
        small,
        row="deep",
        settings={"tiny": replace(BASE, model="mlp", network={"hidden": [600, 600]})},
    )
    (one,) = each_alone(jobs([small], "tiny", (0, 1, 2), Found()))
    assert one.seeds == (0, 1, 2)
    three = each_alone(jobs([deep], "tiny", (0, 1, 2), Found()))
    assert [job.seeds for job in three] == [(0,), (1,), (2,)]
    lost = Setting("cifar10", "fedavg", 1, data={"root": "/nowhere"})
    away = replace(small, row="away", settings={"tiny": lost})
    (one,) = each_alone(jobs([away], "tiny", (0, 1), Found()))
    assert one.seeds == (0, 1)


# -- a line a minute ---------------------------------------------------------------


class Now:
    def __init__(self, accuracy: float | None):
        self.row = {} if accuracy is None else {"accuracy": accuracy}


def test_it_says_once_a_minute_where_a_job_is():
    (job,) = jobs([cell("a", rounds=10)], "tiny", (3,), Found())
    said, at = [], iter(range(0, 1000, 25))
    look = Minutes(said.append, clock=lambda: float(next(at)))
    for k in range(8):
        look(job, Now(0.5 + k / 100))  # pyright: ignore
    assert [text.split(": ")[1] for text in said] == [
        "4 of 10 rounds, accuracy 53.0 %, 2m left",
        "7 of 10 rounds, accuracy 56.0 %, 75s left",
    ]
    assert all("made/table1 a" in text and ", seed 3" in text for text in said)


def test_rounds_of_before_count_but_tell_nothing_of_the_pace():
    (job,) = jobs([cell("a", rounds=10)], "tiny", (3,), Found())
    said, times = [], iter([0, 0, 0, 100, 200])
    look = Minutes(said.append, clock=lambda: float(next(times)))
    look(job, None)
    look(job, None)
    look(job, None)
    look(job, Now(None))  # pyright: ignore
    look(job, Now(None))  # pyright: ignore
    assert said[0].endswith("4 of 10 rounds") and said[1].endswith(
        "5 of 10 rounds, 8m left"
    )


def test_times_are_said_aloud():
    assert [lasting(s) for s in (4, 89, 90, 3600, 5400, 11100)] == [
        "4s", "89s", "2m", "60m", "1h30m", "3h05m",
    ]  # fmt: skip


# -- kills -----------------------------------------------------------------------------

PLAYER = """
import sys
import torch
torch.set_num_threads(1)
from fedlab_core import __main__
from fedlab_ledger import Table, papers
from fedlab_ledger.cli import command
from fedlab_ledger.run import player
from tests.ledger_cases import BASE, cell

player.commit = command.commit = player.code = lambda: "abc1234"
cells = [cell(name, rounds=40, method=name) for name in ("scaffold", "rfedavg-plus")]
papers.TABLES = {"made/table1": Table("made", "table1", "t", tuple(cells))}
papers.CLAIMS = {}
sys.exit(__main__.main(sys.argv[1:]))
"""


def begun(folder: Path, keep: str = "0s") -> subprocess.Popen:
    """A player of a queue, which keeps its place after every round."""
    args = ["run", "--queue", "queue.txt", "--seeds", "0", "1", "--keep", keep]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-c", PLAYER, *args], cwd=folder, env=env, **pipes
    )


def prepared(folder: Path) -> Path:
    folder.mkdir()
    queue(folder, "made/table1 | rfedavg-plus\nmade/table1 | scaffold\n")
    return folder


def lines(folder: Path) -> list[dict]:
    """The stored lines, without their dates and seconds."""
    apart = ("date", "seconds")
    found = Store(folder / "results" / "ledger").read(new=True)
    every = [line for seeds in found.lines.values() for line in seeds.values()]
    told = [{k: v for k, v in line.items() if k not in apart} for line in every]
    return sorted(told, key=lambda line: json.dumps(line, sort_keys=True))


def stamps(folder):
    """When each checkpoint was written; a queue may take one away while we look."""
    found = {}
    for path in folder.glob("*.safetensors"):
        with suppress(FileNotFoundError):
            found[path] = path.stat().st_mtime_ns
    return found


@pytest.mark.slow
def test_kills_inside_cells_and_checkpoints_cost_no_bit(tmp_path):
    whole = prepared(tmp_path / "whole")
    out, err = begun(whole, "1h").communicate()
    assert "all there: 2 cells" in out, err
    want, rng = lines(whole), random.Random(5)
    assert len(want) == 4
    folder, killed, gone_on, inside = prepared(tmp_path / "killed"), 0, 0, 0
    under_way = folder / "results" / "ledger" / FOLDER
    while killed < KILLS:
        player, patience = begun(folder), time.monotonic() + 280
        before = stamps(under_way)
        while player.poll() is None and time.monotonic() < patience:
            files = stamps(under_way)
            if files and files != before:
                break
        gone_on += bool(before)
        time.sleep(rng.uniform(0, 0.15))
        # half of the kills wait until a checkpoint is just being written
        while killed % 2 and player.poll() is None:
            if list(under_way.glob(".fedlab-*.part")):
                inside += 1
                break
        player.send_signal(signal.SIGKILL)
        player.communicate()
        killed += player.returncode == -signal.SIGKILL
        if player.returncode == 0:  # it was done before: once more from the start
            assert lines(folder) == want
            folder = prepared(tmp_path / f"killed-{killed}-{rng.random()}")
            under_way = folder / "results" / "ledger" / FOLDER
    assert gone_on > KILLS // 2 and inside > 0
    time.sleep(1.1)
    out, err = begun(folder).communicate()
    assert "all there: 2 cells" in out, err
    assert lines(folder) == want
    assert not under_way.exists()


@pytest.mark.slow
def test_of_other_code_nothing_is_gone_on_from(tmp_path):
    folder = prepared(tmp_path / "one")
    player = begun(folder)
    under_way = folder / "results" / "ledger" / FOLDER
    while player.poll() is None and not list(under_way.glob("*.safetensors")):
        time.sleep(0.01)
    player.send_signal(signal.SIGKILL)
    player.communicate()
    (kept,) = under_way.glob("*.safetensors")
    kept.write_bytes(kept.read_bytes().replace(b"abc1234", b"abc1235"))
    out, err = begun(folder).communicate()
    refused, done = "is not gone on from: it is about other runs", "all there: 2 cells"
    assert out.index(refused) < out.index("made/table1"), err  # and not after it
    assert done in out and not under_way.exists()


def test_the_code_of_a_commit_is_its_trees_of_core_and_ledger():
    """So that what another commit changed elsewhere costs no run its place."""
    listed = ["git", "ls-tree", "HEAD", "fedlab_core", "fedlab_ledger"]
    out = subprocess.run(listed, capture_output=True, text=True, cwd=ROOT).stdout
    assert player.code().split() == [line.split()[2] for line in out.splitlines()]


@pytest.mark.slow
def test_two_queues_share_the_work(tmp_path):
    folder = prepared(tmp_path / "one")
    both = [begun(folder), begun(folder)]
    said = [player.communicate()[0] for player in both]
    assert all("all there: 2 cells" in out for out in said)
    assert len(lines(folder)) == 4 and not (folder / "results/ledger" / FOLDER).exists()
    found = Store(folder / "results" / "ledger").read()
    assert not found.duplicates and not found.conflicts
    done = "\n".join(said).count(" s)")
    assert done == 2  # each cell once


def test_the_command_that_a_queue_needs_is_told_of(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["run", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "--queue FILE" in told and "goes on from there (5m)" in told


def test_a_queue_may_begin_with_a_mark(tmp_path):
    """As some editors write before a text."""
    path = queue(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbffeddisco/table3 | FedAvg")
    assert read_queue(path, TABLES)[0].table == "feddisco/table3"

"""Kills at random moments inside every verb that writes: nothing is lost, nor left.

`FEDLAB_KILLS=20 pytest tests/ledger/test_kills.py` kills twenty times each.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedlab_core import __main__
from fedlab_ledger import Store
from tests.ledger.test_store import line

ROOT = Path(__main__.__file__).parents[1]
KILLS = int(os.environ.get("FEDLAB_KILLS", "2"))
SERVER = """
import json, os, signal, sys, time
import torch
torch.set_num_threads(1)
from fedlab_core import __main__
from fedlab_ledger import Table, papers
from fedlab_ledger.cli import command
from fedlab_ledger.export import models as export
from tests.ledger_cases import BASE, cell

cells = [cell(str(k), data=BASE.data | {"seed": k}) for k in range(12)]
papers.TABLES = {"made/table1": Table("made", "table1", "t", tuple(cells))}
papers.CLAIMS = {}
os.environ["FEDLAB_PROGRESS"] = "0"
for text in sys.stdin:
    folder, args, after = json.loads(text)
    pid = os.fork()
    if not pid:
        os.chdir(folder)
        code = 1
        try:
            code = __main__.main(args)
        finally:
            sys.stdout.flush()
            os._exit(code)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    print("\\nend", os.waitpid(pid, 0)[1], flush=True)
"""


class Server:
    """A process that has everything imported, and starts others that can be killed."""

    def __init__(self):
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=env, cwd=ROOT, **pipe
        )

    def play(self, folder: Path, args: str, after: float | None = None) -> list[str]:
        """The reports of a command, killed so many seconds after its start."""
        assert self.process.stdin and self.process.stdout
        asked = [str(folder), args.split(), after]
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        said = []
        while not (text := self.process.stdout.readline()).startswith("end"):
            assert text, "the server of players is gone"
            said.append(text.strip())
        assert text in ("end 0\n", "end 9\n"), text
        return said if text == "end 0\n" else [*said, "killed"]


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.process.communicate()


FOREIGN = (
    "a.html.part",
    "c.csv.part",
    "s.part",
    ".part",
    ".fedlab-mine",
    "m.safetensors",
)


def prepare(folder: Path) -> Path:
    """A folder with things of the user's, and three ledgers."""
    folder.mkdir()
    for name in FOREIGN:
        (folder / name).write_text("mine")
    for name, seed in (("results/ledger", 0), ("one", 1), ("two", 2)):
        for table in "tuv":
            Store(folder / name).append([line(table, seed, table=table)])
    return folder


COMMANDS = {
    "run": "run made --uncommitted",
    "merge": "merge one two",
    "export": "export made/table1 --row 11 --out m --force",
    "split": "split letters --clients 3 --out s.json --force",
    "show": "show made/table1 --html a.html --force",
    "train": "train letters --rounds 1 --clients 2 --out c.csv --force",
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_kill_loses_nothing_and_leaves_nothing(server, tmp_path, verb):
    whole = prepare(tmp_path / "whole")
    server.play(whole, COMMANDS[verb])
    begun = time.monotonic()
    server.play(whole, COMMANDS[verb].replace("run made", "run made --seeds 7 8 9"))
    lasts = time.monotonic() - begun
    rng, killed, folders = random.Random(verb), 0, 0
    while killed < KILLS:
        folder, reported = prepare(tmp_path / f"killed-{folders}"), []
        folders += 1
        assert folders < 20 * KILLS
        while killed < KILLS:
            said = server.play(folder, COMMANDS[verb], rng.uniform(0, lasts))
            reported += [v for v in said if v.startswith("made/table1 ")]
            _whole(folder, whole, verb, reported)
            if "killed" not in said:  # it was done before: with another folder
                lasts *= 0.8
                break
            killed += 1
        time.sleep(1.1)
        server.play(folder, COMMANDS[verb])
        _whole(folder, whole, verb, reported)
        assert tree(folder) == tree(whole)
        for name in FOREIGN:
            assert (folder / name).read_text() == "mine"


def tree(folder: Path) -> list[str]:
    """Every file and folder, also those whose names begin with a dot."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def _whole(folder: Path, whole: Path, verb: str, reported: list[str]) -> None:
    """Every reported row is stored, and every file is whole."""
    found = Store(folder / "results" / "ledger").read()
    assert not found.conflicts and not found.duplicates
    rows = {v["row"] for seeds in found.lines.values() for v in seeds.values()}
    assert {text.split()[1] for text in reported} <= rows
    seeds = {tuple(found.of(table)) for table in "tuv"}
    assert seeds <= {(0,), (0, 1, 2)} and len(seeds) == 1  # a merge: all or nothing
    for name in ("a.html", "s.json", "c.csv", "m/README.md", "m/model.safetensors"):
        if (folder / name).exists() and name != "m/README.md":
            assert (folder / name).stat().st_size == (whole / name).stat().st_size
    if (folder / "m").exists():
        assert sorted(os.listdir(folder / "m")) == ["README.md", "model.safetensors"]

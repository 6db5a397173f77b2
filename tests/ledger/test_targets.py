"""Files that the verbs write, and senseless options, refused before any work."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger.export import folders, models
from fedlab_ledger.export.models import load
from fedlab_ledger.run import cluster, player
from fedlab_ledger.run.cluster import Crew
from tests.ledger.test_hostile import call
from tests.ledger_cases import cell, declare

ROOT = Path(__main__.__file__).parents[1]
CELL = cell("A")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with a ledger, and a table."""
    declare(monkeypatch, CELL, cell("B", method="local"))
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "ledger").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def exported(here):
    """The files of an export: a model and its card."""
    (model, card) = models.export(CELL, "tiny", 0, here / "m")
    return model, card


TARGETS = {
    "no/x": "there is no folder no",
    "results": "results is a folder, give a file name",
    "x" * 300: "cannot be written: File name too long",
    "/proc/self/x": "/proc/self/x cannot be written",
    "/dev/null": "/dev/null is not a plain file",
    "there": "there exists: use --force to replace it",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["html", "csv", "latex"])
def test_show_refuses_what_it_cannot_write(here, capsys, kind, target):
    (here / "there").write_text("mine")
    code, out, err = call(f"show made/table1 --{kind} {target}", capsys)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"--{kind}: " in err and TARGETS[target] in err
    assert sorted(os.listdir(here)) == ["results", "there"]


def test_show_touches_nothing_beside_its_files(here, capsys):
    (here / "k.html.part").write_text("mine")
    assert call("show made/table1 --html k.html --csv k.csv", capsys)[0] == 0
    assert (here / "k.html.part").read_text() == "mine"
    code, _, err = call("show made/table1 --html n --csv n", capsys)
    assert code == 2 and "--csv: n is asked for twice" in err
    assert sorted(os.listdir(here)) == ["k.csv", "k.html", "k.html.part", "results"]


OUT = {
    "no/x": "--out: there is no folder no",
    "file": "--out: file is a file, give a folder",
    "x" * 300: "cannot be written: File name too long",
    "/proc/self/x": "/proc/self/x cannot be written",
    "loop": "loop cannot be written: Too many levels",
}


@pytest.mark.parametrize("target", OUT)
def test_export_refuses_what_it_cannot_write_before_it_trains(
    here, capsys, monkeypatch, target
):
    (here / "file").write_text("mine")
    (here / "loop").symlink_to("loop")
    monkeypatch.setattr(player, "run_all", None)  # nobody gets that far
    code, out, err = call(f"export made/table1 --row A --out {target}", capsys)
    assert (code, out) == (2, "") and OUT[target] in err and err.count("\n") == 1


def _folder(m: Path) -> str:
    (m / "x.safetensors").mkdir()
    return "x.safetensors"


def _own(m: Path) -> str:
    (m / "mine.safetensors").write_bytes((m / "model.safetensors").read_bytes())
    return "mine.safetensors"


def _tuned(m: Path) -> str:
    state = load_file(m / "model.safetensors")
    (m / "model.safetensors").write_bytes(save(state))
    return "model.safetensors"


def _linked(m: Path) -> str:
    (m / "model.safetensors").rename(m.parent / "far")
    (m / "model.safetensors").symlink_to(m.parent / "far")
    return "model.safetensors"


def _another(m: Path) -> str:
    models.export(CELL, "tiny", 1, m.parent / "other")
    (m.parent / "other" / "model.safetensors").replace(m / "model-1.safetensors")
    return "model-1.safetensors"


@pytest.mark.parametrize("add", [_folder, _own, _tuned, _linked, _another])
def test_force_replaces_only_what_an_export_wrote(here, capsys, exported, add):
    alien = add(here / "m")
    before = {p.name: p.is_dir() or p.read_bytes() for p in (here / "m").iterdir()}
    line = "export made/table1 --row A --seed 2 --out m --force"
    code, _, err = call(line, capsys)
    assert code == 2 and f"m holds {alien}, which no export wrote" in err
    after = {p.name: p.is_dir() or p.read_bytes() for p in (here / "m").iterdir()}
    assert before == after


def test_an_export_that_was_killed_between_two_folders_is_put_right(here, exported):
    """As a kill leaves it: the old folder is away, the new one is not there yet."""
    beside = here / ".fedlab-0123456789abcdef.export"
    (beside / "old").mkdir(parents=True)
    (beside / "new" / "m").mkdir(parents=True)
    (beside / "new" / "m" / "README.md").write_text("new")
    (here / "m").rename(beside / "old" / "m")
    os.utime(beside, (0, 0))
    folders.replace_folder(here / "n", {"x": b"y"})
    assert (here / "m" / "README.md").read_text() == "new"
    assert sorted(os.listdir(here)) == ["m", "n", "results"]


# -- tampered exports --------------------------------------------------------------


def _with(model: Path, change, state=None) -> None:
    """Write the file again with other words about it, or another state."""
    about, there = folders.read(model)
    about = change(about)
    text = about if isinstance(about, str) else json.dumps(about)
    model.write_bytes(save(there if state is None else state(there), {"fedlab": text}))


def _about(**changes):
    return lambda model: _with(model, lambda about: about | changes)


def _setting(**changes):
    def tamper(model):
        _with(model, lambda a: a | {"setting": a["setting"] | changes})

    return tamper


def _state(change):
    return lambda model: _with(model, lambda about: about, change)


def _header(model: Path) -> None:
    size = struct.pack("<Q", 2**62)
    model.write_bytes(size + model.read_bytes()[8:])


def _offsets(model: Path) -> None:
    content = model.read_bytes()
    (n,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + n])
    name = next(k for k in head if k != "__metadata__")
    head[name]["shape"] = [2**40, 2**6]
    head[name]["data_offsets"] = [0, 2**48]
    text = json.dumps(head).encode()
    model.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + n :])


def _first(state, change):
    name = next(iter(state))
    return state | {name: change(state[name])}


TAMPERED = {
    "header": _header,
    "offsets": _offsets,
    "empty": lambda model: model.write_bytes(b""),
    "not JSON": lambda model: _with(model, lambda about: "{"),
    "a list": lambda model: _with(model, lambda about: "[]"),
    "deep": lambda model: _with(model, lambda about: "[" * 100_000),
    "no setting": lambda m: _with(m, lambda a: {k: a[k] for k in ("format", "shape")}),
    "setting": _about(setting=3),
    "option": _setting(colour="red"),
    "model": _setting(model="none"),
    "network": _setting(network={"hidden": "many"}),
    "wide": _setting(network={"hidden": [2**40]}),
    "deeper": _setting(model="resnet", network={"depth": 10**9}),
    "layers": _setting(network={"hidden": [4] * 10**5}),
    "shape": _about(shape=[1, 2**23, 2**23]),
    "shape of text": _about(shape=["a", 1, 1]),
    "shape below": _about(shape=[1, -14, -14]),
    "shape none": _about(shape=None),
    "classes": _about(classes=3),
    "more classes": _about(classes=["x"] * 99),
    "int32": _state(lambda s: {n: v.int() for n, v in s.items()}),
    "half": _state(lambda s: {n: v.half() for n, v in s.items()}),
    "one missing": _state(lambda s: dict(list(s.items())[1:])),
    "one more": _state(lambda s: s | {"more": torch.ones(2)}),
    "flat": _state(lambda s: _first(s, lambda v: v[None])),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_tampered_export_is_one_line(exported, case):
    model, _ = exported
    load(model)
    TAMPERED[case](model)
    begun = time.process_time()  # of this process: what others do is not in it
    with pytest.raises(InputError, match="is not an exported model: ") as said:
        load(model)
    assert "\n" not in str(said.value) and time.process_time() - begun < 10


def test_what_is_no_file_is_not_loaded(here):
    os.mkfifo(here / "pipe")
    for name in ("results", "pipe", "nothing", "/dev/zero"):
        with pytest.raises(InputError, match="is not an exported model: there is no"):
            load(here / name)


# -- options -----------------------------------------------------------------------

OPTIONS = {
    "run made --seeds 9223372036854775808": "which is too large",
    "run made --seeds 1_0": "--seeds: must be a whole number of 0 or more, not '1_0'",
    "run made --seeds 1e3": "--seeds: must be a whole number of 0 or more, not '1e3'",
    "run made --budget 99999999999999s": "--budget: 90s, 20m or 1h30m, not",
    "run made --budget 9999999999h": "--budget: 1000000000s at most, not",
    "run made --threads 100000": "--threads: must be a whole number from 1 to 1024",
    "run made --threads 99999999999": "--threads: must be a whole number from 1",
    "run made --engine ray --workers 9999999999": "must be a whole number from 1 to",
    "run made --engine ray --address nowhere": "--address: HOST:PORT or auto, not",
    "run made --engine ray --address nowhere:99999": "--address: HOST:PORT or auto",
    "export made/table1 --out m --seed 99999999999999999999": "which is too large",
    "verify 99999999999999999999": "which is too large",
    "verify --seed -1": "--seed: must be a whole number of 0 or more, not -1",
}


@pytest.mark.parametrize("line", OPTIONS)
def test_numbers_that_nobody_can_mean_are_refused(here, capsys, line):
    code, out, err = call(line, capsys)
    assert (code, out) == (2, "") and err.count("\n") == 1 and OPTIONS[line] in err


def test_the_largest_seed_can_be_played(here, capsys):
    assert call(f"run made --row A --seeds {2**63 - 1}", capsys)[0] == 0


def test_a_cluster_that_is_not_there_is_one_line_within_seconds(
    here, capsys, monkeypatch
):
    """No Ray is asked: there is nobody at the address to speak to."""
    connect, waits = socket.create_connection, []

    def spy(address, timeout):
        waits.append(timeout)
        return connect(address, timeout)

    monkeypatch.setattr(socket, "create_connection", spy)
    monkeypatch.setitem(sys.modules, "ray", type(sys)("ray"))
    sys.modules["ray"].__spec__ = type(sys)("spec")  # type: ignore[assignment]
    with socket.socket() as held:  # bound, and not listening
        held.bind(("127.0.0.1", 0))
        for where in ("nowhere.invalid:1", f"127.0.0.1:{held.getsockname()[1]}"):
            line = f"run made --engine ray --address {where}"
            code, out, err = call(line, capsys)
            assert code == 2 and err.count("\n") == 1
            assert f"--engine ray: no cluster at {where}: " in err
    assert len(waits) == 2 and max(waits) <= 5


@pytest.mark.slow
def test_a_cluster_that_never_answers_costs_the_budget_and_no_more(monkeypatch):
    """Somebody listens and says nothing; Ray would wait."""
    silent, waiting, answered = type(sys)("ray"), threading.Event(), []
    silent.init = lambda **options: answered.append(waiting.wait(280))  # type: ignore[attr-defined]
    silent.__spec__ = type(sys)("spec")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "ray", silent)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        crew = Crew(f"127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(InputError, match="no answer within 1 s"):
            with cluster._cluster(crew, 1.0):
                pass
    assert not answered  # nobody waited for it
    waiting.set()


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ray"), reason="needs Ray: pip install ray")
def test_the_real_ray_does_not_wait_for_nobody():
    line = ["run", "feddisco/table1", "--engine", "ray", "--address", "nowhere:1"]
    done = subprocess.run(
        [sys.executable, "-m", "fedlab_core", *line], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=ROOT, timeout=280,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr

"""Files are written whole or not at all, and nothing is left beside them."""

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from fedlab_core.atomic_files import replacing, sweep, writable
from fedlab_core.errors import InputError
from fedlab_core.partition import iid


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@contextmanager
def full_after(size: int):
    """No file may have more bytes: the system refuses as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_there_when_it_is_whole_and_not_before(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as file:
        file.write(b"one")
        assert not path.exists() and len(names(tmp_path)) == 1
    assert path.read_bytes() == b"one" and names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError, MemoryError])
def test_an_error_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises((error, InputError)), replacing(path) as file:
        file.write(b"half")
        raise error("stopped")
    assert path.read_text() == "before" and names(tmp_path) == ["a.txt"]


def test_names_that_look_like_ours_are_left_alone(tmp_path):
    for name in ("notes.part", "k.html.part", ".fedlab-mine", ".part", "k.html"):
        (tmp_path / name).write_text("mine")
    with replacing(tmp_path / "k.html") as file:
        file.write(b"new")
    with replacing(tmp_path / "notes.json") as file:
        file.write(b"new")
    new = {"k.html", "notes.json"}
    assert len(names(tmp_path)) == 6
    for path in tmp_path.iterdir():
        assert path.read_text() == ("new" if path.name in new else "mine")


def test_a_split_does_not_touch_the_file_beside_it(tmp_path):
    (tmp_path / "notes.part").write_text("mine")
    made = iid(np.arange(12) % 2, 3, seed=0)
    for name in ("notes.json", "x.part"):
        made.save(tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["kind"] == made.kind
    assert (tmp_path / "notes.part").read_text() == "mine"
    with pytest.raises(InputError, match="no/x.json cannot be written: No such file"):
        made.save(tmp_path / "no" / "x.json")


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for path in (old, new):
            with replacing(path) as file:
                file.write(b"y")
    finally:
        os.umask(mask)
    assert old.stat().st_mode & 0o777 == 0o640 == new.stat().st_mode & 0o777


def test_a_link_goes_on_leading_to_its_file(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "far" / "file")
    for text in (b"first", b"second"):  # it dangles, and then it does not
        with replacing(writable(link, "--out", force=True)) as file:
            file.write(text)
        assert link.is_symlink() and (tmp_path / "far" / "file").read_bytes() == text
    assert names(tmp_path) == ["far", "link"] and names(tmp_path / "far") == ["file"]


def test_a_full_disk_is_one_line_and_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with full_after(1000), pytest.raises(InputError) as said:
        with replacing(path) as file:
            file.write(bytes(10_000))
    assert str(said.value) == f"{path} cannot be written: File too large"
    assert path.read_text() == "before" and names(tmp_path) == ["a.txt"]
    with full_after(1000), pytest.raises(InputError, match="--out: .*File too large"):
        writable(tmp_path / "b.txt", "--out")
    assert names(tmp_path) == ["a.txt"]


def _cases(folder: Path) -> dict[str, tuple[Path, str]]:
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "dir").mkdir()
    (folder / "there").write_text("x")
    os.mkfifo(folder / "pipe")
    return {
        "no folder": (folder / "no" / "x", "--out: there is no folder .*no"),
        "folder": (folder / "dir", "dir is a folder, give a file name"),
        "there": (folder / "there", "there exists: use --force to replace it"),
        "inside a file": (folder / "there" / "x", "cannot be written: Not a dir"),
        "loop": (folder / "loop", "cannot be written: Too many levels"),
        "long": (folder / ("x" * 300), "cannot be written: File name too long"),
        "null": (folder / "a\0b", "cannot be written: embedded null"),
        "pipe": (folder / "pipe", "pipe is not a plain file"),
        "device": (Path("/dev/null"), "/dev/null is not a plain file"),
        "read only": (Path("/proc/self/x"), "/proc/self/x cannot be written: "),
        "empty": (Path(""), "is a folder"),
    }


def test_what_cannot_be_written_is_refused_before(tmp_path):
    for name, (path, said) in _cases(tmp_path).items():
        before = names(tmp_path)
        with pytest.raises(InputError, match=said) as error:
            writable(path, "--out", force=name in ("pipe", "device"))
        assert "\n" not in str(error.value) and names(tmp_path) == before, name


def test_what_can_be_written_is_not(tmp_path):
    (tmp_path / "there").write_text("x")
    assert writable(tmp_path / "new", "--out") == tmp_path / "new"
    assert writable(tmp_path / "there", "--out", force=True).read_text() == "x"
    assert writable(tmp_path / ("x" * 255), "--out").parent == tmp_path
    assert names(tmp_path) == ["there"]


HANGS = """
import sys, time
from fedlab_core.atomic_files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    time.sleep(600)  # it is killed before
"""


@pytest.mark.slow
def test_what_a_kill_leaves_goes_with_the_next_file(tmp_path):
    """And what somebody is still writing does not."""
    mine, path = [sys.executable, "-c", HANGS], tmp_path / "a.txt"
    path.write_text("before")
    two = [subprocess.Popen([*mine, str(path)], stdout=subprocess.PIPE) for _ in "ab"]
    for process in two:
        assert process.stdout and process.stdout.readline() == b"begun\n"
    for part in tmp_path.glob(".fedlab-*.part"):
        os.utime(part, (0, 0))
    assert len(names(tmp_path)) == 3
    dead, living = two
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    with replacing(tmp_path / "b.txt") as file:
        file.write(b"next")
    (left,) = tmp_path.glob(".fedlab-*.part")
    assert left.read_bytes() == b"half" and path.read_text() == "before"
    living.send_signal(signal.SIGKILL)
    living.wait()
    sweep(tmp_path)
    assert names(tmp_path) == ["a.txt", "b.txt"]
    for process in two:
        assert process.stdout
        process.stdout.close()

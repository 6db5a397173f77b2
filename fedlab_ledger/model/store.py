"""A folder of results as lines: one file a table, only ever added to.

A line is written in one call and is on the disk before it is reported. A line that a
crash left incomplete is passed over, with a note, and the next one begins afresh.

A merge writes its files into a folder beside, which it then calls `.merged`: from that
moment on it is done. What is in there counts instead of the files of the same names,
and takes their places one by one; whoever writes next completes it if it was stopped.
"""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from filelock import lock_descriptor

from fedlab_core.arguments import checked
from fedlab_core.atomic_files import replacing, sweep, telling, writable
from fedlab_core.errors import InputError, require
from fedlab_ledger.model.lines import (
    Found,
    Line,
    Lines,
    check_line,
    found_in,
    read_lines,
    reading,
    written,
)

MERGED = ".merged"
ROOM = 2**20  # bytes that there should be on the disk before anything is played
Known = dict[Path, tuple[tuple, Lines]]  # what was read of a file, and when it changed


@checked
@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def path(self, paper: str, table: str) -> Path:
        """Path of a table's lines."""
        return self.folder / f"{paper}-{table}.jsonl"

    def files(self) -> list[Path]:
        """All files of results, in order of their names."""
        with reading(self.folder):
            there = {*os.listdir(self.folder), *self._merged()}
        return [self.folder / n for n in sorted(there) if n.endswith(".jsonl")]

    def read(self, new: bool = False, known: Known | None = None) -> Found:
        """Everything in the folder, which has to be there unless it may be `new`.

        Files that are `known`, and have not changed since, are not read again.
        """
        if new and not os.path.lexists(self.folder):
            return Found()
        lacks = f"there is no ledger {self.folder}: `run` makes one"
        require(os.path.lexists(self.folder), lacks)
        known = {} if known is None else known
        return found_in([self._lines(path, known) for path in self.files()])

    def lines(self, paper: str, table: str) -> Lines:
        """The lines of one table, none where nothing was measured; notes on them."""
        there = os.path.lexists(self.folder)
        return self._have(self.path(paper, table).name) if there else ([], [])

    def append(self, lines: Sequence[Line]) -> None:
        """Add lines, all of one table, in one write that has reached the disk."""
        if not lines:
            return
        for line in lines:
            check_line(line, "a new line")
        path = self.path(lines[0]["paper"], lines[0]["table"])
        text = b"".join(map(written, lines))
        with telling(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                new = not path.exists()
                try:
                    with _opened(path) as file:
                        _add(file, text)
                except OSError:
                    if new:
                        path.unlink(missing_ok=True)
                    raise
                if new:
                    _settle(self.folder)

    def ready(self, tables: Iterable[tuple[str, str]]) -> None:
        """Make the folder, and try whether lines of these tables could be added.

        It stays, with its lock, if nothing comes to be written: others may wait there.
        """
        with telling(f"--ledger: {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                for path in (self.path(*table) for table in tables):
                    if os.path.lexists(path):
                        with _opened(path):
                            pass
                with tempfile.TemporaryFile(dir=self.folder) as file:
                    file.write(bytes(ROOM))

    def merge(self, others: Sequence[Path]) -> tuple[int, list[str]]:
        """Take over the lines of other folders: how many are new, and any notes.

        A file is what was there, then what is new, nothing twice. Lines that contradict
        each other are both kept, and reported. All files are changed, or none is.
        """
        for folder in others:
            require(os.path.isdir(folder), f"merge: there is no folder {folder}")
        stores = [Store(folder) for folder in others]
        names = sorted({path.name for store in stores for path in store.files()})
        with telling(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        added, notes, made = 0, [], {}
        with self._alone():
            for name in names:
                mine, theirs = self._have(name), [store._have(name) for store in stores]
                lines, more = zip(mine, *theirs, strict=True)
                notes += chain(*more)
                kept = _distinct(chain(*lines))
                added += len(kept) - len(_distinct(mine[0]))
                made[name] = b"".join(map(written, kept))
            self._replace_all(made)
        return added, notes + self.read().conflicts

    def _have(self, name: str) -> Lines:
        """The lines of a file, if there is one of that name."""
        path = self.folder / name
        return self._lines(path, {}) if path in self.files() else ([], [])

    def _lines(self, path: Path, known: Known) -> Lines:
        """The lines of a file, or of what a merge puts in its place."""
        merged = self.folder / MERGED / path.name
        at = merged if merged.exists() else path
        try:
            return _read(at, path, known)
        except InputError:
            if os.path.lexists(at):
                raise
        return _read(path, path, known)  # it has just taken its place

    def _merged(self) -> list[str]:
        at = self.folder / MERGED
        require(not at.is_symlink(), f"{at} is a link, not a merge's folder: remove it")
        with suppress(FileNotFoundError):
            return [name for name in os.listdir(at) if name.endswith(".jsonl")]
        return []

    def _replace_all(self, made: dict[str, bytes]) -> None:
        """Change files together: all of them, or none."""
        for name in made:
            writable(self.folder / name, "merge", force=True)
        beside = self.folder / f".fedlab-{secrets.token_hex(8)}.merge"
        with telling(self.folder):
            try:
                beside.mkdir()
                for name, content in made.items():
                    with replacing(beside / name) as file:
                        file.write(content)
                _settle(beside)
                beside.rename(self.folder / MERGED)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
            _settle(self.folder)
            self._complete()

    def _complete(self) -> None:
        """Do what is left of a merge, and of one that never came to that."""
        sweep(self.folder)
        for beside in self.folder.glob(".fedlab-*.merge"):
            shutil.rmtree(beside)
        for name in sorted(self._merged()):
            staged = self.folder / MERGED / name
            with replacing(self.folder / name) as file:
                file.write(staged.read_bytes())
            _settle(self.folder)
            staged.unlink()
        with suppress(FileNotFoundError):
            (self.folder / MERGED).rmdir()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes into the folder meanwhile, and nothing is half done."""
        with telling(self.folder):
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            with telling(self.folder):
                lock_descriptor(lock, poll_interval=0.01)
                self._complete()
            yield
        finally:
            os.close(lock)


def _read(at: Path, path: Path, known: Known) -> Lines:
    with reading(at):
        about = os.stat(at)
    mark = (at, about.st_ino, about.st_mtime_ns, about.st_size)
    if path not in known or known[path][0] != mark:
        known[path] = mark, read_lines(at)
    return known[path][1]


def _distinct(lines: Iterable[Line]) -> list[Line]:
    """Each line once; those that contradict each other are different ones."""
    kept: dict[tuple, Line] = {}
    for line in lines:
        kept.setdefault((line["key"], line["seed"], line["value"]), line)
    return list(kept.values())


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A file that lines can be added to."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        require(stat.S_ISREG(os.fstat(file).st_mode), f"{path} is not a file of lines")
        yield file
    finally:
        os.close(file)


def _add(file: int, text: bytes) -> None:
    """Add text on a line of its own, all of it or nothing."""
    end = os.fstat(file).st_size
    if end and os.pread(file, 1, end - 1) != b"\n":
        text = b"\n" + text
    try:
        if os.write(file, text) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise


def _settle(folder: Path) -> None:
    """Make sure that the folder's list of files is on the disk too."""
    at = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)

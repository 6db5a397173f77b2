"""Results as lines: one file a table, only ever added to.

A line is written in one call and is on the disk before it is reported. A line that a
crash left incomplete is passed over, with a note, and the next one begins afresh.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedlab_core.errors import InputError, require

SCHEMA = 1
Line = dict[str, Any]

_TEXT, _WHOLE, _MAYBE, _NUMBER = (str,), (int,), (int, float, type(None)), (int, float)
_FIELDS: dict[str, tuple[type, ...]] = {
    "schema": _WHOLE,
    "key": _TEXT,
    "paper": _TEXT,
    "table": _TEXT,
    "row": _TEXT,
    "column": _TEXT,
    "scale": _TEXT,
    "seed": _WHOLE,
    "value": _MAYBE,
    "metrics": (dict,),
    "curve": (list,),
    "clients": (list, type(None)),
    "steps": _WHOLE,
    "bytes": _WHOLE,
    "seconds": _NUMBER,
    "together": (list,),
    "device": _TEXT,
    "torch": _TEXT,
    "commit": _TEXT,
    "date": _TEXT,
    "diverged": (int, type(None)),
}
_SOMETIMES: dict[str, tuple[type, ...]] = {"seen": (dict,), "homes": (list,)}


def check_line(line: Any, where: str) -> Line:
    """The line, if it is one of ours."""
    require(isinstance(line, dict), f"{where}: not a result but {line!r:.40}")
    schema = line.get("schema")
    ours = f"{where}: schema {schema!r}, but this version knows {SCHEMA} only"
    require(schema == SCHEMA, ours)
    there = {name: types for name, types in _SOMETIMES.items() if name in line}
    for name, types in (_FIELDS | there).items():
        require(name in line, f"{where}: a result without {name!r}")
        sound = isinstance(line[name], types) and not isinstance(line[name], bool)
        require(sound, f"{where}: {name} is {line[name]!r:.40}")
    return line


@dataclass(frozen=True)
class Found:
    """What a ledger holds, and what is to be said about it.

    `lines` has, by key and seed, the first line that was written.
    """

    lines: dict[str, dict[int, Line]] = field(default_factory=dict)
    duplicates: int = 0
    conflicts: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """One line for each thing that is not as it should be."""
        again = [f"{self.duplicates} lines are there twice"] if self.duplicates else []
        return [*self.torn, *self.conflicts, *again]

    def of(self, key: str) -> dict[int, Line]:
        """The lines of a key, by seed."""
        return dict(sorted(self.lines.get(key, {}).items()))


def read_lines(path: Path) -> tuple[list[Line], list[str]]:
    """The lines of a file, and notes on what could not be read of it."""
    lines, torn = [], []
    for n, text in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except ValueError:
            torn.append(f"{path}:{n} is not a whole line: passed over")
            continue
        lines.append(check_line(value, f"{path}:{n}"))
    return lines, torn


def found_in(paths: Iterable[Path]) -> Found:
    """Everything that these files hold."""
    lines: dict[str, dict[int, Line]] = {}
    duplicates, conflicts, torn = 0, [], []
    for path in paths:
        new, bad = read_lines(path)
        torn += bad
        for line in new:
            first = lines.setdefault(line["key"], {}).setdefault(line["seed"], line)
            if first is line:
                continue
            if first["value"] == line["value"]:
                duplicates += 1
            else:
                conflicts.append(_conflict(first, line))
    return Found(lines, duplicates, conflicts, torn)


def _conflict(one: Line, other: Line) -> str:
    where = f"{one['paper']}/{one['table']} {one['row']} | {one['column']}"
    said = (f"{v['value']} ({v['device']})" for v in (one, other))
    return f"{where}, {one['scale']}, seed {one['seed']}: {' and '.join(said)}"


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def path(self, paper: str, table: str) -> Path:
        """Where the lines of a table are."""
        return self.folder / f"{paper}-{table}.jsonl"

    def files(self) -> list[Path]:
        """All files of results, in order of their names."""
        return sorted(self.folder.glob("*.jsonl"))

    def read(self) -> Found:
        """Everything in the folder."""
        return found_in(self.files())

    def append(self, lines: Sequence[Line]) -> None:
        """Add lines, all of one table, in one write that has reached the disk."""
        if not lines:
            return
        for line in lines:
            check_line(line, "a new line")
        path = self.path(lines[0]["paper"], lines[0]["table"])
        text = "".join(_written(line) for line in lines).encode()
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._alone():
            new = not path.exists()
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                end = os.fstat(file).st_size
                if end and os.pread(file, 1, end - 1) != b"\n":
                    text = b"\n" + text
                if os.write(file, text) != len(text):
                    raise InputError(f"{path}: not all could be written: disk full?")
                os.fsync(file)
            finally:
                os.close(file)
            if new:
                _settle(self.folder)

    def merge(self, others: Sequence[Path]) -> tuple[int, list[str]]:
        """Take over the lines of other folders: how many are new, and any notes.

        Every file is rewritten whole: what was there, then what is new, nothing twice.
        Lines that contradict each other are both kept, and reported.
        """
        for folder in others:
            require(folder.is_dir(), f"merge: there is no folder {folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        names = {p.name for f in others for p in Store(f).files()}
        added, notes = 0, []
        with self._alone():
            for name in sorted(names):
                mine = self.folder / name
                kept: dict[tuple, Line] = {}
                for path in (mine, *(f / name for f in others)):
                    lines, torn = read_lines(path) if path.exists() else ([], [])
                    notes += torn
                    for v in lines:
                        at = (v["key"], v["seed"], v["value"])
                        added += path != mine and at not in kept
                        kept.setdefault(at, v)
                _replace(mine, "".join(map(_written, kept.values())).encode())
        return added, notes + self.read().conflicts

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes into the folder meanwhile."""
        lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _written(line: Line) -> str:
    return json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n"


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it as it was."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """Make sure that the folder's list of files is on the disk too."""
    at = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)

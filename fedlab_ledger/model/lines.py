"""Lines of a ledger: the fields of one, and the reading of many.

A line that is read can be written again: no NaN, no infinity, only Unicode.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedlab_core.errors import InputError, require

SCHEMA = 1
Line = dict[str, Any]
Lines = tuple[list[Line], list[str]]  # of a file, and notes on it

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
_SOMETIMES: dict[str, tuple[type, ...]] = {
    "seen": (dict,),
    "homes": (list,),
    "threads": _WHOLE,
}
_NUMBERS, _WHOLES = frozenset({int, float, type(None)}), frozenset({int})
_ENTRIES = {
    "curve": _NUMBERS,
    "clients": _NUMBERS,
    "together": _WHOLES,
    "homes": _WHOLES,
}
KNOWN = frozenset(_FIELDS | _SOMETIMES)


def check_line(line: Any, where: str) -> Line:
    """The line, if its fields are ours; else an InputError.

    What a value may be is its cell's to say: any number that is finite is taken here.
    """
    require(isinstance(line, dict), f"{where}: not a result but {line!r:.40}")
    schema = line.get("schema")
    ours = f"{where}: schema {schema!r:.40}, but this version knows {SCHEMA} only"
    require(schema == SCHEMA, ours)
    there = {name: types for name, types in _SOMETIMES.items() if name in line}
    for name, types in (_FIELDS | there).items():
        if name not in line:
            raise InputError(f"{where}: a result without {name!r}")
        if not isinstance(line[name], types) or isinstance(line[name], bool):
            raise InputError(f"{where}: {name} is {line[name]!r:.40}")
    require(line["seed"] >= 0, f"{where}: seed is {line['seed']}")
    for name, entries, known in _inside(line):
        if not isinstance(entries, list):
            raise InputError(f"{where}: {name} holds {entries!r:.40}")
        for kind in set(map(type, entries)) - known:
            raise InputError(f"{where}: {name} holds a {kind.__name__}")
    try:
        written(line)
    except ValueError as error:
        text = isinstance(error, UnicodeError)
        what = "text that is not Unicode" if text else "a number that is not finite"
        raise InputError(f"{where}: holds {what}") from None
    return line


def _inside(line: Line) -> Iterator[tuple[str, Any, frozenset[type]]]:
    """Lists within a line, and the kinds that their entries may have."""
    yield from ((n, line.get(n) or [], types) for n, types in _ENTRIES.items())
    yield "metrics", list(line["metrics"].values()), _NUMBERS
    yield from (("seen", v, _NUMBERS) for v in line.get("seen", {}).values())


def written(line: Line) -> bytes:
    """A line as it is in a file."""
    return (json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True)
class Found:
    """Lines of a ledger, by key and seed, and notes on them.

    Of several lines with one key and seed, the first is kept.
    """

    lines: Mapping[str, dict[int, Line]] = field(default_factory=dict)
    duplicates: int = 0
    conflicts: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)  # notes on lines not understood

    @property
    def notes(self) -> list[str]:
        """Warnings, one line each."""
        again = [f"{self.duplicates} lines are there twice"] if self.duplicates else []
        return [*self.passed, *self.conflicts, *again]

    def of(self, key: str) -> dict[int, Line]:
        """The lines of a key, by seed."""
        return dict(sorted(self.lines.get(key, {}).items()))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an OSError while reading `path` into a one-line InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def read_lines(path: Path) -> Lines:
    """The lines of a file, and notes on broken lines and unknown fields."""
    lines, notes, strange = [], [], dict[str, list[int]]()
    with reading(path):
        require(stat.S_ISREG(os.stat(path).st_mode), f"{path} is not a file of lines")
        content = path.read_bytes()
    for n, text in enumerate(content.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            said = json.loads(text.decode("utf-8-sig"))  # as some editors begin a file
            lines.append(check_line(said, f"{path}:{n}"))
        except InputError:
            raise
        except RecursionError:
            raise InputError(f"{path}:{n}: not a result, nested too deeply") from None
        except ValueError:
            notes.append(f"{path}:{n} is not a whole line: passed over")
            continue
        for name in lines[-1].keys() - KNOWN:
            strange.setdefault(name, []).append(n)
    for name, at in sorted(strange.items()):
        more = f" and {len(at) - 1} more" if len(at) > 1 else ""
        notes.append(f"{path}:{at[0]}{more}: {name!r} is not known, and not looked at")
    return lines, notes


def found_in(files: Iterable[Lines]) -> Found:
    """The lines of several files, as one ledger."""
    lines: dict[str, dict[int, Line]] = {}
    duplicates, conflicts, passed = 0, [], []
    for new, notes in files:
        passed += notes
        for line in new:
            first = lines.setdefault(line["key"], {}).setdefault(line["seed"], line)
            if first is line:
                continue
            if first["value"] == line["value"]:
                duplicates += 1
            else:
                conflicts.append(_conflict(first, line))
    return Found(lines, duplicates, conflicts, passed)


def name_of(line: Line) -> str:
    """The cell that a line is of, as `Cell.name` says it."""
    return f"{line['paper']}/{line['table']} {line['row']} | {line['column']}"


def _conflict(one: Line, other: Line) -> str:
    said = (f"{v['value']} ({v['device']})" for v in (one, other))
    return f"{name_of(one)}, {one['scale']}, seed {one['seed']}: {' and '.join(said)}"

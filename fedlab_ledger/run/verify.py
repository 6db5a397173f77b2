"""Stored lines beside the same runs, played again."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedlab_core.errors import require
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.measures import PAIRED, measure
from fedlab_ledger.run.jobs import alone
from fedlab_ledger.run.player import play

_STORED = ("value", "curve", "clients", "steps", "bytes", "diverged", "homes")
_GROUPS = ("metrics", "seen")  # what these hold is compared one by one


@dataclass(frozen=True)
class Check:
    """A stored line beside the same run, played again, and the fields that differ."""

    line: Line
    again: float | None
    differs: tuple[str, ...]
    exact: bool  # whether the numbers have to be the same

    @property
    def agrees(self) -> bool:
        """Whether everything is as it was."""
        return not self.differs

    @property
    def text(self) -> str:
        """The check as one line."""
        v = self.line
        where = f"{v['paper']}/{v['table']} {v['row']} | {v['column']}"
        word = "agrees" if self.agrees else "DIFFERS"
        how = "same machine kind" if self.exact else "other machine kind"
        names = f": {', '.join(self.differs)}" if self.differs else ""
        seed = f"{v['scale']}, seed {v['seed']}"
        numbers = f"{v['value']} again {self.again} ({how})"
        return f"{word}: {where}, {seed}: {numbers}{names}"


def verify(cell: Cell, line: Line, device: str, tolerance: float) -> Check:
    """Play a stored line's job again, with the seeds that it was played with.

    Everything that is stored must be the same on the same kind of device with the same
    torch and threads. On another the number must be within the tolerance (in the
    cell's unit), the steps the same, and the line must agree with itself.
    """
    seeds = tuple(line["together"])
    alien = f"{cell.name}: a line that was played without itself"
    require(line["seed"] in seeds, alien)
    lines = play(alone(cell, line["scale"], seeds), device)
    new = next(v for v in lines if v["seed"] == line["seed"])
    exact = all(new[k] == line.get(k) for k in ("device", "torch", "threads"))
    found = _changed(line, new) if exact else _far(cell, line, new, tolerance)
    return Check(line, new["value"], tuple(found), exact)


def _changed(old: Line, new: Line) -> Iterator[str]:
    """Fields of two lines that are not the same."""
    yield from (name for name in _STORED if old.get(name) != new.get(name))
    for group in _GROUPS:
        mine, theirs = old.get(group, {}), new.get(group, {})
        names = sorted(mine.keys() | theirs.keys())
        yield from (f"{group}.{n}" for n in names if mine.get(n) != theirs.get(n))


def _far(cell: Cell, old: Line, new: Line, tolerance: float) -> Iterator[str]:
    """Differences that another machine does not explain."""
    a, b = old["value"], new["value"]
    if a != b and (a is None or b is None or abs(a - b) > tolerance):
        yield "value"
    if (old["diverged"] is None) != (new["diverged"] is None):
        yield "diverged"
    elif old["diverged"] is None:
        yield from (n for n in ("curve", "clients") if _size(old[n]) != _size(new[n]))
        if old["steps"] != new["steps"]:
            yield "steps"
    if cell.metric not in PAIRED and a != measure(cell.metric, old):
        yield f"value beside its {'seen' if ':' in cell.metric else 'curve'}"
    for name in ("last", "best", "mean-5", "mean-10"):
        if name in old["metrics"] and old["metrics"][name] != measure(name, old):
            yield f"metrics.{name} beside its curve"


def _size(values: list | None) -> int | None:
    return None if values is None else len(values)

"""Playing cells: what waits longest first, all its seeds as one cohort.

`play` trains what several cells share once, and stores each run's lines before it goes
on: an interrupted run loses what is under way and nothing else.
"""

import datetime
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from fedlab_core.errors import InputError, require
from fedlab_core.history import History, Round
from fedlab_core.ledger.build import run_of
from fedlab_core.ledger.cells import Cell, Setting
from fedlab_core.ledger.measures import column, column_of, measure, seen
from fedlab_core.ledger.observers import watching
from fedlab_core.ledger.store import SCHEMA, Found, Line, Store
from fedlab_core.runs import run_all

Tick = Callable[[], object]


@dataclass(frozen=True)
class Job:
    """Cells that want the same runs of the same seeds, at one scale."""

    scale: str
    settings: tuple[Setting, ...]  # the cells' own, and one to compare it with
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def rounds(self) -> int:
        """How many rounds there are to be played."""
        return len(self.seeds) * sum(s.rounds for s in self.settings)


def jobs(
    cells: Iterable[Cell], scale: str, seeds: Sequence[int], found: Found
) -> list[Job]:
    """What is missing, the longest-waiting first: never played before played long ago.

    Cells without this scale are left out; cells of one setting become one job. Of cells
    with one key, all of which its lines are for, the first stands for the others.
    """
    shared: dict[tuple, dict[str, Cell]] = {}
    since: dict[tuple, str] = {}
    for cell in cells:
        if scale not in cell.settings:
            continue
        there = found.of(cell.key(scale))
        missing = tuple(seed for seed in seeds if seed not in there)
        if not missing:
            continue
        own, other = cell.settings[scale], cell.against.get(scale)
        at = (own.key, other.key if other else "", missing)
        shared.setdefault(at, {}).setdefault(cell.key(scale), cell)
        last = max((line["date"] for line in there.values()), default="")
        since[at] = min(since.get(at, last), last)
    made = []
    for at in sorted(shared, key=lambda a: since[a]):
        mine = tuple(shared[at].values())
        first = mine[0]
        settings = [first.settings[scale]]
        if scale in first.against:
            settings.append(first.against[scale])
        made.append(Job(scale, tuple(settings), at[2], mine))
    return made


def play(job: Job, device: str = "cpu", tick: Tick | None = None) -> list[Line]:
    """Train a job's runs side by side; one line for each of its cells and seeds."""

    columns = [name for cell in job.cells if (name := column_of(cell.metric))]

    def observer() -> Callable[[Round], dict]:
        look = watching(columns)

        def observe(now: Round) -> dict:
            if tick:
                tick()
            return look(now)

        return observe

    runs = [run_of(s, k, device, observer()) for s in job.settings for k in job.seeds]
    begun = time.perf_counter()
    histories = run_all(runs, progress=False)
    seconds = (time.perf_counter() - begun) / len(runs)
    n = len(job.seeds)
    own, other = histories[:n], histories[n:]
    about = _about(device, seconds) | {"together": list(job.seeds)}
    return [
        _line(cell, job.scale, h, other[i] if other else None, about)
        for i, h in enumerate(own)
        for cell in job.cells
    ]


def _line(
    cell: Cell, scale: str, h: History, other: History | None, about: dict[str, Any]
) -> Line:
    mine, name = seen(h), column_of(cell.metric)
    if name is not None:
        mine |= {"seen": {name: column(h, name)}}
    theirs = None if other is None else seen(other)
    head = {"schema": SCHEMA, "key": cell.key(scale), "paper": cell.paper}
    head |= {"table": cell.table, "row": cell.row, "column": cell.column}
    value = measure(cell.metric, mine, theirs)
    return head | {"scale": scale, "seed": h.seed, "value": value} | mine | about


def _about(device: str, seconds: float) -> dict[str, Any]:
    kind = torch.cuda.get_device_name() if device == "cuda" else f"cpu {_processor()}"
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    about = {"seconds": round(seconds, 3), "device": kind, "torch": torch.__version__}
    threads = torch.get_num_threads()
    return about | {"threads": threads, "commit": _commit(), "date": now}


def _processor() -> str:
    return platform.machine() or "unknown"


@lru_cache(maxsize=1)
def _commit() -> str:
    """The commit of the core, with a plus if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    here = Path(__file__).parent
    try:
        done = subprocess.run(asked, capture_output=True, text=True, cwd=here)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def play_all(
    waiting: Sequence[Job],
    store: Store,
    *,
    device: str = "cpu",
    budget: float | None = None,
    tick: Tick | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[Job, list[Line] | str]]:
    """Play one job after another; gives the lines that are on the disk, or a refusal.

    With a `budget` in seconds, no job is begun that would outlast it at the pace of
    those before it. A job whose data are missing is refused, and the next one begun.
    """
    begun, rounds = clock(), 0
    for job in waiting:
        spent = clock() - begun
        pace = spent / rounds if rounds else 0.0
        if budget is not None and spent + pace * job.rounds > budget:
            return
        try:
            lines = play(job, device, tick)
        except InputError as error:
            yield job, str(error)
            continue
        store.append(lines)
        rounds += job.rounds
        yield job, lines


@dataclass(frozen=True)
class Check:
    """A stored line beside the same run, played again."""

    line: Line
    again: float | None
    agrees: bool
    exact: bool  # whether it has to be the same number

    @property
    def text(self) -> str:
        """The check as one line."""
        v = self.line
        where = f"{v['paper']}/{v['table']} {v['row']} | {v['column']}"
        word = "agrees" if self.agrees else "DIFFERS"
        how = "same machine kind" if self.exact else "other machine kind"
        seed = f"{v['scale']}, seed {v['seed']}"
        return f"{word}: {where}, {seed}: {v['value']} again {self.again} ({how})"


def verify(cell: Cell, line: Line, device: str, tolerance: float) -> Check:
    """Play a stored line's job again, with the seeds that it was played with.

    The number must be the same on the same kind of device with the same torch and
    threads, and within the tolerance (in the cell's unit) on another.
    """
    scale, seeds = line["scale"], tuple(line["together"])
    settings = [cell.settings[scale]]
    if scale in cell.against:
        settings.append(cell.against[scale])
    require(
        line["seed"] in seeds, f"{cell.name}: a line that was played without itself"
    )
    lines = play(Job(scale, tuple(settings), seeds, (cell,)), device)
    again = next(v for v in lines if v["seed"] == line["seed"])
    exact = all(again[k] == line.get(k) for k in ("device", "torch", "threads"))
    old, new = line["value"], again["value"]
    if exact or old is None or new is None:
        return Check(line, new, old == new, exact)
    return Check(line, new, abs(old - new) <= tolerance, exact)

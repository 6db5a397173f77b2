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
from fedlab_core.rounds.history import History, Round, Run
from fedlab_core.rounds.play import run_all
from fedlab_ledger.build import run_of
from fedlab_ledger.cells import Cell, Setting
from fedlab_ledger.measures import column, column_of, measure, seen
from fedlab_ledger.observers import watching
from fedlab_ledger.store import SCHEMA, Found, Line, Store

Tick = Callable[[], object]


@dataclass(frozen=True)
class Job:
    """Cells that want the same runs of the same seeds, at one scale."""

    scale: str
    settings: tuple[Setting, ...]  # the cells' own, and one to compare it with
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """Its first cell, and how many more there are."""
        first, *others = self.cells
        return f"{first.name} and {len(others)} more" if others else first.name

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


@dataclass(frozen=True)
class Played:
    """A setting's runs, one a seed, what came of them, and seconds a run."""

    runs: list[Run]
    histories: list[History]
    seconds: float


# What was trained last, by setting, seeds and what was watched: a run that several
# jobs compare with is trained once.
Recent = dict[tuple, Played]
_RECENT = 4


def play(
    job: Job,
    device: str = "cpu",
    tick: Tick | None = None,
    recent: Recent | None = None,
) -> list[Line]:
    """Train a job's settings; one line for each of its cells and seeds."""
    return trained(job, device, tick, recent)[0]


def trained(
    job: Job,
    device: str = "cpu",
    tick: Tick | None = None,
    recent: Recent | None = None,
) -> tuple[list[Line], list[Run], list[History]]:
    """As `play`, with the runs of the job's own setting, and what came of them.

    The seeds of a setting are one cohort, and settings are trained one by one: a line
    does not depend on what its cell is compared with.
    """
    columns = [name for cell in job.cells if (name := column_of(cell.metric))]
    recent = {} if recent is None else recent
    both = []
    for s in job.settings:
        at = (s.key, job.seeds, tuple(sorted(set(columns))), device)
        if at not in recent:
            recent[at] = _played(s, job.seeds, columns, device, tick)
        elif tick:
            for _ in range(len(job.seeds) * s.rounds):
                tick()
        both.append(recent[at])
        while len(recent) > _RECENT:
            del recent[next(iter(recent))]
    own, *others = both
    other = others[0].histories if others else [None] * len(job.seeds)
    about = _about(device, own.seconds) | {"together": list(job.seeds)}
    lines = [
        _line(cell, job.scale, h, beside, about)
        for h, beside in zip(own.histories, other, strict=True)
        for cell in job.cells
    ]
    return lines, own.runs, own.histories


def _played(
    s: Setting,
    seeds: Sequence[int],
    columns: Sequence[str],
    device: str,
    tick: Tick | None,
) -> Played:
    def observer() -> Callable[[Round], dict]:
        look = watching(columns)

        def observe(now: Round) -> dict:
            if tick:
                tick()
            return look(now)

        return observe

    runs = [run_of(s, seed, device, observer()) for seed in seeds]
    begun = time.perf_counter()
    histories = run_all(runs, progress=False)
    return Played(runs, histories, (time.perf_counter() - begun) / len(runs))


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
    return about | {"threads": threads, "commit": commit(), "date": now}


def _processor() -> str:
    return platform.machine() or "unknown"


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the core, with a plus if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    here = Path(__file__).parent
    try:
        done = subprocess.run(asked, capture_output=True, text=True, cwd=here)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def keep(store: Store, lines: Sequence[Line]) -> None:
    """Store a job's lines, each in the file of its table."""
    tables = dict.fromkeys((v["paper"], v["table"]) for v in lines)
    for at in tables:
        store.append([v for v in lines if (v["paper"], v["table"]) == at])


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
    begun, rounds, recent = clock(), 0, Recent()
    for job in waiting:
        spent = clock() - begun
        pace = spent / rounds if rounds else 0.0
        if budget is not None and spent + pace * job.rounds > budget:
            return
        try:
            lines = play(job, device, tick, recent)
        except InputError as error:
            yield job, str(error)
            continue
        keep(store, lines)
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


def alone(cell: Cell, scale: str, seeds: Sequence[int]) -> Job:
    """The job of one cell."""
    settings = [cell.settings[scale]]
    if scale in cell.against:
        settings.append(cell.against[scale])
    return Job(scale, tuple(settings), tuple(seeds), (cell,))


def verify(cell: Cell, line: Line, device: str, tolerance: float) -> Check:
    """Play a stored line's job again, with the seeds that it was played with.

    The number must be the same on the same kind of device with the same torch and
    threads, and within the tolerance (in the cell's unit) on another.
    """
    seeds = tuple(line["together"])
    require(
        line["seed"] in seeds, f"{cell.name}: a line that was played without itself"
    )
    lines = play(alone(cell, line["scale"], seeds), device)
    again = next(v for v in lines if v["seed"] == line["seed"])
    exact = all(again[k] == line.get(k) for k in ("device", "torch", "threads"))
    old, new = line["value"], again["value"]
    if exact or old is None or new is None:
        return Check(line, new, old == new, exact)
    return Check(line, new, abs(old - new) <= tolerance, exact)

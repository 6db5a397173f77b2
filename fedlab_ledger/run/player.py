"""Playing cells: the longest-waiting first, all its seeds as one cohort.

`play` trains what several cells share once, and stores each run's lines before it goes
on: an interruption loses the runs under way and nothing else.
"""

import datetime
import platform
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from fedlab_core.arguments import Device, NotNegative, checked
from fedlab_core.data.files import reason
from fedlab_core.errors import InputError
from fedlab_core.rounds.checkpoint import Checkpoint
from fedlab_core.rounds.history import History
from fedlab_core.rounds.records import Round, Run
from fedlab_core.rounds.run import run_all
from fedlab_core.tree import is_finite
from fedlab_ledger.model.cells import Cell, Setting
from fedlab_ledger.model.lines import SCHEMA, Line
from fedlab_ledger.model.measures import column, column_of, measure, seen
from fedlab_ledger.model.observers import Watching
from fedlab_ledger.model.store import Store
from fedlab_ledger.run.build import run_of
from fedlab_ledger.run.job_locks import PAUSE, sharing
from fedlab_ledger.run.jobs import Job
from fedlab_ledger.run.resume import OFTEN, UnderWay

# Told of each round of a job; of one that was played before, without its numbers.
Tick = Callable[[Job, Round | None], object]


@dataclass(frozen=True)
class Played:
    """A setting's runs, one a seed, their histories, and seconds a run."""

    runs: list[Run]
    histories: list[History]
    seconds: float


# Runs trained last, by setting, seeds and columns watched: a run that several jobs
# compare with is trained once.
Recent = dict[tuple, Played]
_RECENT = 4


@checked
def play(
    job: Job,
    device: Device = "cpu",
    tick: Tick | None = None,
    recent: Recent | None = None,
    under_way: UnderWay | None = None,
) -> list[Line]:
    """Train a job's settings; one line for each of its cells and seeds."""
    return trained(job, str(device), tick, recent, under_way)[0]


def trained(
    job: Job,
    device: str = "cpu",
    tick: Tick | None = None,
    recent: Recent | None = None,
    under_way: UnderWay | None = None,
) -> tuple[list[Line], list[Run], list[History]]:
    """Lines as by `play`, and the runs and histories of the job's own setting.

    The seeds of a setting are one cohort, and settings are trained one by one: a line
    does not depend on what its cell is compared with.
    """
    columns = [name for cell in job.cells if (name := column_of(cell.metric))]
    recent = {} if recent is None else recent
    both = []
    for s in job.settings:
        at = (s.key, job.seeds, tuple(sorted(set(columns))), device)
        if at not in recent:
            told = partial(tick, job) if tick else None
            place = under_way.of(job, s, columns) if under_way else None
            both.append(_played(s, job.seeds, columns, device, told, place))
            recent[at] = replace(both[-1], runs=[])  # whose worlds are large
        else:
            both.append(recent[at])
            if tick:
                for _ in range(len(job.seeds) * s.rounds):
                    tick(job, None)
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
    tick: Callable[[Round | None], object] | None,
    place: Checkpoint | None = None,
) -> Played:
    runs = [run_of(s, seed, device, _Looking(columns, tick)) for seed in seeds]
    begun = time.perf_counter()
    histories = run_all(runs, progress=False, checkpoint=place)
    spent = time.perf_counter() - begun + (place.spent if place else 0.0)
    return Played(runs, histories, spent / len(runs))


class _Looking(Watching):
    """Observer of a run's columns, which also reports every round."""

    def __init__(
        self, columns: Sequence[str], tick: Callable[[Round | None], object] | None
    ):
        super().__init__(columns)
        self.tick, self.told = tick, 0

    def __call__(self, now: Round) -> dict:
        while self.tick and self.told < now.number:
            self.told += 1
            self.tick(now if self.told == now.number else None)
        over = bool(self.names) and not is_finite(now.after)  # nothing to observe
        return {} if over else super().__call__(now)


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


def _made_by(device: str) -> dict[str, Any]:
    """Values that a checkpoint must share to be resumed: device, torch, threads, code.

    `code` stands for the commit: a later commit that changed other files will do.
    """
    names = ("device", "torch", "threads")
    about = {name: v for name, v in _about(device, 0.0).items() if name in names}
    return about | {"code": code()}


def _dirty() -> bool:
    """Whether the files differ from the commit."""
    return commit().endswith("+")


def _processor() -> str:
    return platform.machine() or "unknown"


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the core, with a plus if files differ from it."""
    return _git("describe", "--always", "--dirty=+", "--exclude=*") or "unknown"


@lru_cache(maxsize=1)
def code() -> str:
    """Tree hashes of core and ledger in that commit."""
    trees = _git("rev-parse", "HEAD:fedlab_core", "HEAD:fedlab_ledger")
    return " ".join(trees.split()) or commit()


def _git(*asked: str) -> str:
    """Output of git in this file's repository; empty where git fails."""
    how: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    try:
        done = subprocess.run(["git", *asked], cwd=Path(__file__).parent, **how)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


class Fault(str):
    """Message that a job ended in a bug of ours; `traceback` says where."""

    traceback: str = ""


def why_not(error: Exception) -> str:
    """Reason why a job could not be played, in one line."""
    if isinstance(error, InputError):
        return str(error)
    said = Fault(f"{type(error).__name__}: {reason(error)}")
    said.traceback = "".join(traceback.format_exception(error))
    return said


@checked
def play_all(
    waiting: Sequence[Job],
    store: Store,
    *,
    device: Device = "cpu",
    budget: NotNegative | None = None,
    tick: Tick | None = None,
    clock: Callable[[], float] = time.monotonic,
    every: NotNegative = OFTEN,
    say: Callable[[str], object] | None = None,
) -> Iterator[tuple[Job, list[Line] | str]]:
    """Play one job after another; gives the lines that are on the disk, or a refusal.

    With a `budget` in seconds, no job is begun that would outlast it at the pace of
    those before it. A job that cannot be played is refused, and the next one begun. One
    that another player has finished meanwhile is given without lines. A job under way
    keeps its place `every` so many seconds, and goes on there if something ends it;
    `say` is told at once if a job cannot go on there.
    """
    begun, rounds, recent = clock(), 0, Recent()
    under_way = UnderWay(store.folder, every, _made_by(str(device)), say or str)
    with sharing(waiting, store) as turns:
        under_way.tidy(turns.found())
        while turns.left:
            turn = turns.next()
            spent = clock() - begun
            pace = spent / rounds if rounds else 0.0
            due = spent + pace * (turn.job.rounds if turn else 0)
            if budget is not None and due > budget:
                return
            if turn is None:
                time.sleep(PAUSE)
                continue
            try:
                how = (device, tick, recent, None if _dirty() else under_way)
                lines = play(turn.job, *how) if turn.job.cells else []
            except Exception as error:  # of one job's: the others go on
                under_way.used.clear()
                turns.over(turn)
                yield turn.claimed, why_not(error)
                continue
            lines = turns.keep(turn, lines)
            under_way.over()
            turns.over(turn)
            rounds += turn.job.rounds
            yield turn.claimed, lines

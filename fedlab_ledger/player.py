"""Playing cells: what waits longest first, all its seeds as one cohort.

`play` trains what several cells share once, and stores each run's lines before it goes
on: an interrupted run loses what is under way and nothing else.
"""

import datetime
import platform
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from fedlab_core.arguments import Device, NotNegative, checked
from fedlab_core.data.files import reason
from fedlab_core.errors import InputError
from fedlab_core.rounds.history import History, Round, Run
from fedlab_core.rounds.play import run_all
from fedlab_core.tree import is_finite
from fedlab_ledger.build import run_of
from fedlab_ledger.cells import Cell, Setting
from fedlab_ledger.lines import SCHEMA, Line
from fedlab_ledger.measures import column, column_of, measure, seen
from fedlab_ledger.observers import watching
from fedlab_ledger.store import Store
from fedlab_ledger.turns import PAUSE, sharing
from fedlab_ledger.work import Job

Tick = Callable[[], object]


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


@checked
def play(
    job: Job,
    device: Device = "cpu",
    tick: Tick | None = None,
    recent: Recent | None = None,
) -> list[Line]:
    """Train a job's settings; one line for each of its cells and seeds."""
    return trained(job, str(device), tick, recent)[0]


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
            both.append(_played(s, job.seeds, columns, device, tick))
            recent[at] = replace(both[-1], runs=[])  # whose worlds are large
        else:
            both.append(recent[at])
            if tick:
                for _ in range(len(job.seeds) * s.rounds):
                    tick()
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
            over = bool(columns) and not is_finite(now.after)  # nothing is to be seen
            return {} if over else look(now)

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


class Fault(str):
    """That a job ended in an error of the program's; `trace` says where."""

    trace: str = ""


def why_not(error: Exception) -> str:
    """Why a job could not be played, in one line."""
    if isinstance(error, InputError):
        return str(error)
    said = Fault(f"{type(error).__name__}: {reason(error)}")
    said.trace = "".join(traceback.format_exception(error))
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
) -> Iterator[tuple[Job, list[Line] | str]]:
    """Play one job after another; gives the lines that are on the disk, or a refusal.

    With a `budget` in seconds, no job is begun that would outlast it at the pace of
    those before it. A job that cannot be played is refused, and the next one begun. One
    that another player has finished meanwhile is given without lines.
    """
    begun, rounds, recent = clock(), 0, Recent()
    with sharing(waiting, store) as turns:
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
                lines = play(turn.job, device, tick, recent) if turn.job.cells else []
            except Exception as error:  # of one job's: the others go on
                turns.over(turn)
                yield turn.claimed, why_not(error)
                continue
            lines = turns.keep(turn, lines)
            turns.over(turn)
            rounds += turn.job.rounds
            yield turn.claimed, lines

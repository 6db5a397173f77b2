"""The same jobs over a Ray cluster: one driver gives them out, and it alone writes.

A worker plays one job at a time and sends the lines to the driver, which stores them in
the order in which they come. A job whose worker is lost begins again; nothing else is
lost with it.
"""

import importlib
import importlib.util
import io
import os
import re
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import torch

from fedlab_core.data.files import reason
from fedlab_core.errors import InputError, require
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.store import Store
from fedlab_ledger.run.job_locks import PAUSE, Turn, sharing
from fedlab_ledger.run.jobs import Job
from fedlab_ledger.run.player import commit, play, why_not

MANY = 1024  # workers, or threads of one, at most
LIVES = 3  # how often a job may lose its worker
REPORTS = "fedlab-reports"  # the name of the actor that knows how far everyone is
PATIENCE = 60.0  # seconds to connect to a cluster that should be there
_EVERY = 0.5  # seconds between two reports, and between two looks at them


@dataclass(frozen=True)
class Crew:
    """Workers on a cluster: its address, their number, threads and device.

    Without an address a cluster is begun on this machine, and ended afterwards. Without
    `workers` there are as many as the CPUs allow, or with cuda one a GPU; more of them
    share the GPUs.
    """

    address: str | None = None
    workers: int | None = None
    threads: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            n = vars(self)[name]
            sound = n is None or 1 <= n <= MANY
            require(sound, f"--{name}: 1 to {MANY}, not {n}")
        known = self.address in (None, "auto", "local")
        place = re.fullmatch(r"(?:ray://)?[^\s/]+:(\d{1,5})", self.address or "")
        sound = known or place is not None and 1 <= int(place[1]) < 2**16
        require(sound, f"--address: HOST:PORT or auto, not {self.address!r}")

    def sharing(self, gpus: float) -> int:
        """Number of workers that share a GPU, of so many GPUs in all."""
        return max(1, -int(-(self.workers or 0) // max(gpus, 1)))

    def slots(self, nodes: Sequence[dict]) -> int:
        """Number of workers that fit, on nodes as Ray lists them."""
        held = [node["Resources"] for node in nodes if node["Alive"]]
        room = [int(has.get("CPU", 0) // self.threads) for has in held]
        if self.device == "cuda":
            gpus = [has.get("GPU", 0) for has in held]
            each = self.sharing(sum(gpus))
            room = [min(n, int(each * g)) for n, g in zip(room, gpus, strict=True)]
        return sum(room) if self.workers is None else min(sum(room), self.workers)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Ray's messages about lost workers off the standard output.

    Nothing but Ray may print meanwhile, unless it names the file.
    """
    with redirect_stdout(io.StringIO()):
        yield


def _connect(ray: Any, options: dict[str, Any], limit: float) -> None:
    """Connect to a cluster within so many seconds; Ray alone would try for minutes.

    Another thread tries, so that this one can be interrupted.
    """
    address = options["address"]
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "auto")
    if address not in ("auto", "local"):
        host, _, port = address.split("://")[-1].rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), min(limit, 5)).close()
    ended: list[Exception | None] = []

    def connect() -> None:
        try:
            ray.init(**options)
            ended.append(None)
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(limit)
    if not ended:
        raise TimeoutError(f"no answer within {limit:.0f} s")
    if ended[0] is not None:
        raise ended[0]


@contextmanager
def _cluster(crew: Crew, budget: float | None) -> Iterator[Any]:
    """Ray, connected to a cluster that answers in time; else an InputError."""
    limit = PATIENCE if budget is None else min(PATIENCE, max(budget, 1.0))
    there = importlib.util.find_spec("ray") is not None
    require(there, "--engine ray needs Ray: pip install 'fedlab-core[ray]'")
    usual = {"RAY_USAGE_STATS_ENABLED": "0"}
    usual |= {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    usual |= {"RAY_raylet_start_wait_time_s": "300"}  # a busy machine begins late
    options: dict[str, Any] = {"address": crew.address or "local"}
    if crew.address is None:
        if "ray" not in sys.modules:  # which reads it once
            usual["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # this machine's ears only
        cores = max(len(os.sched_getaffinity(0)), crew.threads)
        options["num_cpus"] = crew.threads * (crew.workers or cores // crew.threads)
        options |= {"object_store_memory": 2**27, "include_dashboard": False}
    for name, value in usual.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = importlib.import_module("ray")
        options |= {"log_to_driver": False, "logging_level": "CRITICAL"}
        try:
            if crew.address is None:
                ray.init(**options)
            else:
                _connect(ray, options, limit)
        except Exception as error:  # Ray raises many kinds
            where = f"at {crew.address}" if crew.address else "here"
            why = f"no cluster {where}: {reason(error)}"
            raise InputError(f"--engine ray: {why}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


class Reports:
    """Actor that keeps the rounds played of each job, and by which worker."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[int, int, str]] = {}

    def put(self, number: int, rounds: int, process: int, host: str) -> None:
        """Take a worker's report of how far it is with a job."""
        self.seen[number] = (rounds, process, host)

    def all(self) -> dict[int, tuple[int, int, str]]:
        """Rounds, process and machine of every job begun."""
        return self.seen


def _work(
    job: Job, number: int, crew: Crew, reports: Any
) -> tuple[list[Line] | str, float]:
    """Play a job in a worker: its lines or why it cannot be played, and seconds."""
    torch.set_num_threads(crew.threads)
    begun = told = time.monotonic()
    who = (os.getpid(), socket.gethostname())
    rounds = 0
    reports.put.remote(number, rounds, *who)

    def tick(job: Job, now: object) -> None:
        nonlocal rounds, told
        rounds += 1
        now = time.monotonic()
        if now - told >= _EVERY:
            told = now
            reports.put.remote(number, rounds, *who)

    lines: list[Line] | str
    try:
        lines = play(job, crew.device, tick)
    except Exception as error:  # of one job's: the others go on
        lines = why_not(error)
    return lines, time.monotonic() - begun


@dataclass(frozen=True)
class _Try:
    """A job under way."""

    turn: Turn
    number: int
    life: int  # 1 unless it lost its worker

    @property
    def job(self) -> Job:
        """The job that is played."""
        return self.turn.job


class _Field:
    """The jobs under way, and how far each is."""

    def __init__(self, ray: Any, crew: Crew):
        self.ray, self.crew = ray, crew
        share: dict[str, float] = {"num_cpus": crew.threads}
        if crew.device == "cuda":
            each = crew.sharing(ray.cluster_resources().get("GPU", 0))
            share["num_gpus"] = 1 if each == 1 else int(10_000 / each) / 10_000
        self.work = ray.remote(_work).options(max_retries=0, **share)
        alone = {"num_cpus": 0, "max_restarts": -1, "name": REPORTS}
        self.reports = ray.remote(Reports).options(**alone).remote()
        self.tries: dict[Any, _Try] = {}
        self.numbers = count()
        self.rounds: dict[int, int] = {}  # reported, by the job's number
        x = ray.exceptions
        self.losses = (x.WorkerCrashedError, x.NodeDiedError, x.OutOfMemoryError)
        self.losses += (x.ObjectLostError, x.LocalRayletDiedError)

    def room(self) -> int:
        """Number of jobs that could still begin now."""
        slots, crew = self.crew.slots(self.ray.nodes()), self.crew
        lacks = f"--engine ray: no node has {crew.threads} CPUs for a worker"
        lacks += " and a GPU" if crew.device == "cuda" else ""
        require(slots > 0, lacks)
        return slots - len(self.tries)

    def first(self, turn: Turn | None) -> _Try | None:
        """The first try of a job, if there is one."""
        return None if turn is None else _Try(turn, next(self.numbers), 1)

    def begin(self, new: _Try) -> None:
        """Give a job to a worker."""
        given = self.work.remote(new.job, new.number, self.crew, self.reports)
        self.tries[given] = new

    def ended(self) -> Iterator[tuple[_Try, tuple[list[Line] | str, float] | None]]:
        """The jobs that are over within a moment, each with its result.

        The result is None if the worker was lost.
        """
        over, _ = self.ray.wait(list(self.tries), timeout=_EVERY)
        for given in over:
            one = self.tries.pop(given)
            try:
                yield one, self.ray.get(given)
            except self.losses:
                yield one, None

    def seen(self) -> dict[int, tuple[int, int, str]]:
        """The reports that have come in."""
        with suppress(self.ray.exceptions.RayError):
            return self.ray.get(self.reports.all.remote(), timeout=10)
        return {}

    def news(self) -> int:
        """Rounds played since the last time; below 0 where some were lost."""
        known = self.seen()
        return sum(self._count(t.number, known) for t in self.tries.values())

    def _count(self, number: int, known: dict[int, tuple[int, int, str]]) -> int:
        old = self.rounds.get(number, 0)
        self.rounds[number] = known[number][0] if number in known else old
        return self.rounds[number] - old

    def rest(self, one: _Try) -> int:
        """Rounds of a finished job that were not reported."""
        return one.job.rounds - self.rounds.get(one.number, 0)

    def who(self, one: _Try) -> str:
        """Process and machine that played a job last, in words."""
        known = self.seen().get(one.number)
        return "" if known is None else f" (process {known[1]} on {known[2]})"


def play_all(
    waiting: Sequence[Job],
    store: Store,
    crew: Crew,
    *,
    budget: float | None = None,
    tick: Callable[[int], object] = lambda rounds: None,
    say: Callable[[str], object] = lambda text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[tuple[Job, list[Line] | str]]:
    """Play jobs side by side; gives the lines that are on the disk, or a refusal.

    Like `player.play_all`, but in the order in which they finish. With a `budget` in
    seconds, connecting included, no job is begun that would outlast it at the pace of
    those before it. `tick` is told rounds, `say` what a user should know.
    """
    if not waiting:
        return
    begun, rounds, worked = clock(), 0, 0.0
    commits = {commit()}
    with _cluster(crew, budget) as ray, sharing(waiting, store) as turns:
        field, again = _Field(ray, crew), deque[_Try]()
        while turns.left or again or field.tries:
            room = field.room()
            while room > 0 and (turns.left or again):
                one = again.popleft() if again else field.first(turns.next())
                pace = worked / rounds if rounds else 0.0
                due = clock() - begun + pace * (one.job.rounds if one else 0)
                if budget is not None and due > budget:
                    turns.left.clear()
                    again.clear()
                elif one is None:  # others have all that is left
                    break
                elif one.job.cells:
                    field.begin(one)
                    room -= 1
                else:
                    turns.over(one.turn)
                    yield one.turn.claimed, []
            if not field.tries:
                time.sleep(PAUSE if turns.left else 0)
                continue
            for one, result in field.ended():
                if result is None and one.life < LIVES:
                    say(f"{one.job.name}: worker lost{field.who(one)}: begins again")
                    again.append(replace(one, life=one.life + 1))
                    continue
                lines, seconds = result or (f"lost its worker {LIVES} times", 0.0)
                if not isinstance(lines, str):
                    lines = turns.keep(one.turn, lines)
                    rounds, worked = rounds + one.job.rounds, worked + seconds
                    tick(field.rest(one))
                    strange = {line["commit"] for line in lines} - commits
                    commits |= strange
                    for other in strange:
                        say(f"note: a worker has commit {other}, not {commit()}")
                turns.over(one.turn)
                yield one.turn.claimed, lines
            tick(field.news())

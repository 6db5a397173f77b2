"""Players on one ledger share the work: none plays what another one is playing.

A claim is a locked byte of the file `.claims` in the ledger's folder, one for each cell
and seed. It lasts as long as the process that took it: the system gives it back however
that one ends. The last player to go takes the file away.
"""

import fcntl
import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fedlab_core.atomic_files import telling
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.store import Known, Store
from fedlab_ledger.run.jobs import Job

CLAIMS = ".claims"
PAUSE = 0.5  # seconds between two looks at what others are playing


class Claims:
    """What only this process may play; what it claims itself it may claim again."""

    def __init__(self, path: Path):
        self.path = path
        self.file = self._open()

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)

    def take(self, job: Job) -> bool:
        """Whether all of a job's cells and seeds are this player's now."""
        taken: list[int] = []
        for place in _places(job):
            try:
                fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):  # another has it
                self._free(taken)
                return False
            taken.append(place)
        if os.fstat(self.file).st_nlink:
            return True
        os.close(self.file)  # who went last took it away just now
        self.file = self._open()
        return self.take(job)

    def give_back(self, job: Job) -> None:
        """Let others have a job."""
        self._free(_places(job))

    def _free(self, places: Iterable[int]) -> None:
        for place in places:
            fcntl.lockf(self.file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give everything back, and take the file away if no other player has it."""
        with suppress(OSError):
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self.file).st_nlink:
                self.path.unlink()
        os.close(self.file)


def _places(job: Job) -> list[int]:
    """The bytes that stand for a job's cells and seeds."""
    names = (f"{c.key(job.scale)} {seed}" for c in job.cells for seed in job.seeds)
    digests = (hashlib.sha256(name.encode()).digest() for name in names)
    return sorted({int.from_bytes(d[:8], "big") >> 2 for d in digests})


@dataclass(frozen=True)
class Turn:
    """A job that is this player's now, and what nobody has finished of it."""

    claimed: Job
    job: Job
    found: Found


class Turns:
    """Jobs to be played, of which others may be playing some."""

    def __init__(self, waiting: Sequence[Job], store: Store, claims: Claims):
        self.left, self.store, self.claims = deque(waiting), store, claims
        self.known: Known = {}

    def next(self) -> Turn | None:
        """The next job; None while others have all that is left."""
        for _ in range(len(self.left)):
            job = self.left.popleft()
            if self.claims.take(job):
                return self._turn(job)
            self.left.append(job)
        return None

    def found(self) -> Found:
        """What is stored by now."""
        return self.store.read(new=True, known=self.known)

    def _turn(self, job: Job) -> Turn:
        """A job without cells, if others have done it all."""
        found = self.found()
        lacks = [set(job.seeds) - found.of(c.key(job.scale)).keys() for c in job.cells]
        cells = tuple(c for c, n in zip(job.cells, lacks, strict=True) if n)
        seeds = tuple(seed for seed in job.seeds if any(seed in n for n in lacks))
        return Turn(job, replace(job, cells=cells, seeds=seeds), found)

    def keep(self, turn: Turn, lines: Sequence[Line]) -> list[Line]:
        """Store a job's lines, each in the file of its table; those that are new."""
        new = [v for v in lines if v["seed"] not in turn.found.of(v["key"])]
        for at in dict.fromkeys((v["paper"], v["table"]) for v in new):
            self.store.append([v for v in new if (v["paper"], v["table"]) == at])
        return new

    def over(self, turn: Turn) -> None:
        """Let others have what came of a job, or what did not."""
        self.claims.give_back(turn.claimed)


@contextmanager
def sharing(waiting: Sequence[Job], store: Store) -> Iterator[Turns]:
    """The jobs, to be taken one by one; whoever else plays takes others."""
    with telling(store.folder):
        store.folder.mkdir(parents=True, exist_ok=True)
        claims = Claims(store.folder / CLAIMS)
    try:
        yield Turns(waiting, store, claims)
    finally:
        claims.close()

"""Players on one ledger share the work: none plays what another one is playing.

Who plays a job holds a lock on its runs: a file in the folder `.job_locks` of the
ledger for each seed, so that a job has as many files open as it has seeds. A lock lasts
as long as the process that took it: the system gives it back however that one ends. The
file goes when its lock is given back, the folder with the last player.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from fedlab_core.atomic_files import telling
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.store import Known, Store
from fedlab_ledger.run.jobs import Job

FOLDER = ".job_locks"
PAUSE = 0.5  # seconds between two looks at what others are playing


class JobLocks:
    """The locks on runs that this player holds, each a file in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.held: dict[Path, FileLock] = {}

    def take(self, job: Job) -> bool:
        """Whether all of a job's runs are this player's now."""
        taken: list[Path] = []
        with telling(self.folder):
            for path in self._paths(job):
                if not self._lock(path):
                    self._free(taken)
                    return False
                taken.append(path)
        return True

    def give_back(self, job: Job) -> None:
        """Let others have a job."""
        self._free(self._paths(job))

    def close(self) -> None:
        """Give everything back, and take away what is nobody's: the folder as well."""
        self._free(list(self.held))
        for path in self.folder.glob("*"):  # the dead have left some
            with suppress(OSError):
                if self._lock(path):
                    self._free([path])
        with suppress(OSError):  # others hold locks in it, or none was taken
            self.folder.rmdir()

    def _lock(self, path: Path) -> bool:
        while True:
            self.folder.mkdir(exist_ok=True)
            lock = FileLock(path, thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:  # another player has it
                return False
            except FileNotFoundError:  # the last to go took the folder away just now
                continue
            self.held[path] = lock
            return True

    def _free(self, paths: Sequence[Path]) -> None:
        """Unlink each file while it is locked: who waited for it takes a new one."""
        for path in paths:
            with suppress(OSError):  # Windows does it when the lock is given back
                path.unlink()
            self.held.pop(path).release()

    def _paths(self, job: Job) -> list[Path]:
        """The files that stand for a job's runs."""
        runs = " ".join(setting.key for setting in job.settings)
        names = (sha256(f"{runs} {seed}".encode()).hexdigest() for seed in job.seeds)
        return [self.folder / name[:32] for name in sorted(names)]


@dataclass(frozen=True)
class Turn:
    """A job that is this player's now, and what nobody has finished of it."""

    claimed: Job
    job: Job
    found: Found


class Turns:
    """Jobs to be played, of which others may be playing some."""

    def __init__(self, waiting: Sequence[Job], store: Store, locks: JobLocks):
        self.left, self.store, self.locks = deque(waiting), store, locks
        self.known: Known = {}

    def next(self) -> Turn | None:
        """The next job; None while others have all that is left."""
        for _ in range(len(self.left)):
            job = self.left.popleft()
            if self.locks.take(job):
                return self._turn(job)
            self.left.append(job)
        return None

    def found(self) -> Found:
        """Lines stored by now."""
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
        self.locks.give_back(turn.claimed)


@contextmanager
def sharing(waiting: Sequence[Job], store: Store) -> Iterator[Turns]:
    """The jobs, to be taken one by one; whoever else plays takes others."""
    with telling(store.folder):
        (store.folder / FOLDER).mkdir(parents=True, exist_ok=True)
    locks = JobLocks(store.folder / FOLDER)
    try:
        yield Turns(waiting, store, locks)
    finally:
        locks.close()

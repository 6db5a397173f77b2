"""The share of this machine's cores that others use while something is timed.

A core that another program has slows every way to train, and not all of them alike: a
plain loop on two threads may fall to a fortieth, and a ratio says nothing. So every
line has the share, and above `TOO_BUSY` whoever measures is told so.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.timing import Way

TOO_BUSY = 0.1
_STAT = Path("/proc/stat")  # Linux has it
_IDLE = (3, 4, 8, 9)  # idle, waiting for a disk; guests are counted as users, too


@dataclass(frozen=True)
class Reading:
    """Seconds until now: on the clock, computed by this process, and by everyone."""

    wall: float
    own: float
    everyone: float | None  # nobody counts them where there is no /proc/stat
    cores: int


def read() -> Reading:
    """The counters of this moment."""
    everyone, cores = None, os.cpu_count() or 1
    with suppress(OSError, ValueError, IndexError):
        first, *lines = _STAT.read_text().splitlines()
        ticks = [int(n) for n in first.split()[1:]]
        used = sum(n for i, n in enumerate(ticks) if i not in _IDLE)
        everyone = used / os.sysconf("SC_CLK_TCK")
        cores = sum(line.startswith("cpu") for line in lines)
    return Reading(time.perf_counter(), time.process_time(), everyone, cores)


def load_average() -> float:
    """How many programs wanted a core in the last minute; 0 where nobody counts."""
    with suppress(AttributeError, OSError):
        return os.getloadavg()[0]
    return 0.0


@dataclass
class Watch:
    """The share of the cores that others had, over all that was watched.

    `computes` says that this process has work all the time: what it had to wait for
    others had, too, as in a container that sees no more of the machine than its part.
    """

    computes: bool = True
    reading: Callable[[], Reading] = read
    average: float = field(default_factory=load_average)  # before anything is timed
    wall: float = 0.0
    own: float = 0.0
    others: float | None = 0.0  # seconds of cores
    cores: int = 1

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count what happens meanwhile."""
        a = self.reading()
        yield
        b = self.reading()
        self.wall, self.own = self.wall + b.wall - a.wall, self.own + b.own - a.own
        self.cores = b.cores
        if a.everyone is None or b.everyone is None or self.others is None:
            self.others = None
        else:
            self.others += max(0.0, b.everyone - a.everyone - (b.own - a.own))

    def over(self, way: Way) -> Way:
        """A way that is watched while it is timed."""

        def rate() -> float:
            with self.watching():
                return way()

        return rate

    @property
    def share(self) -> float:
        """The share of the cores that others had: 0 of an idle machine, at most 1."""
        if not self.wall:
            return 0.0
        waited = 1 - self.own / self.wall if self.computes else 0.0
        seen = self.average if self.others is None else self.others / self.wall
        return round(min(1.0, max(waited, seen / self.cores, 0.0)), 2)


def share_now(seconds: float = 0.5) -> float:
    """The share that others have while this process has nothing to do."""
    watch = Watch(computes=False)
    with watch.watching():
        time.sleep(seconds)
    return watch.share


def warn(share: float) -> bool:
    """Say that a measurement is none, if others had too much; whether that was said."""
    if share <= TOO_BUSY:
        return False
    print(
        f"warning: others use {share:.0%} of this machine's cores: neither rates nor "
        "ratios hold, measure again when it is idle",
        file=sys.stderr,
        flush=True,
    )
    return True

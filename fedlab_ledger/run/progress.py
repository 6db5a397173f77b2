"""Progress in words: a line a minute, where there is no terminal for a bar."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fedlab_core.rounds.records import Round
from fedlab_ledger.run.jobs import Job


@dataclass
class Minutes:
    """Reporter that is told of every round, and says once a minute how far a job is.

    A round that was not played now, but before or for another job, comes without its
    numbers, and does not count for the pace.
    """

    say: Callable[[str], object]
    every: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _job: Job | None = field(default=None, init=False)
    _told: float = field(default=0.0, init=False)

    def __call__(self, job: Job, now: Round | None) -> None:
        """Count a round of a job."""
        at = self.clock()
        if job is not self._job:
            self._job, self._told = job, at
            self._done = self._played = 0
            self._begun: float | None = None
        self._done += 1
        if now is None:
            return
        if self._begun is None:
            self._begun = at  # the first round also has what comes before it
        else:
            self._played += 1
        if at - self._told >= self.every:
            self._told = at
            self.say(self._line(job, now, at))

    def _line(self, job: Job, now: Round, at: float) -> str:
        accuracy = now.row.get("accuracy")
        good = "" if accuracy is None else f", accuracy {100 * accuracy:.1f} %"
        left = ""
        if self._played and self._begun is not None:
            seconds = (at - self._begun) / self._played * (job.rounds - self._done)
            left = f", {lasting(seconds)} left"
        done = f"{self._done} of {job.rounds} rounds"
        seeds = ", ".join(map(str, job.seeds))
        return f"{time.strftime('%H:%M')} {job.name}, seed {seeds}: {done}{good}{left}"


def lasting(seconds: float) -> str:
    """A time as one says it: 40s, 12m, 3h05m."""
    if seconds < 90:
        return f"{max(1, seconds):.0f}s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 90 else f"{minutes // 60}h{minutes % 60:02d}m"

"""What a job will cost on this machine, measured on the spot in seconds.

Two rounds are played, in which each client trains on a few mini-batches, and then on
some more. What these differ in is the time of a sample; the rest of a round, what its
server does and the test, is timed as it is. So every method, network and device is
measured by what it does, and nothing has to be known of it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedlab_core.arguments import Device, checked
from fedlab_core.engine import Client, Trained, count_steps, train
from fedlab_core.rounds.history import Run, TrainRequest
from fedlab_core.rounds.simulation import Simulation
from fedlab_ledger.build import run_of
from fedlab_ledger.cells import Setting
from fedlab_ledger.work import Job

_FEW, _MORE = 2, 6  # mini-batches a client
_ROUNDS = 2  # of which the first warms up


@dataclass(frozen=True)
class Cost:
    """Seconds of one run: before its first round, and of a round, training apart."""

    before: float
    training: float
    rest: float
    rounds: int

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.before + self.rounds * (self.training + self.rest)


@checked
def cost_of(job: Job, device: Device = "cpu") -> float:
    """How many seconds a job's runs will take, all settings and seeds."""
    each = sum(measured(s, job.seeds[0], str(device)).seconds for s in job.settings)
    return each * len(job.seeds)


def measured(s: Setting, seed: int, device: str) -> Cost:
    """What a run of a setting costs; takes some seconds."""
    run, kept = run_of(s, seed, device), {}
    begun = time.perf_counter()
    simulation = Simulation(replace(run, rounds=_ROUNDS))
    before = time.perf_counter() - begun
    training = rest = 0.0
    play = simulation.play()
    asked = next(play, None)
    while asked is not None:
        last = simulation.played + 1 == _ROUNDS
        trained, seconds = _tried(run, asked, kept)
        begun = time.perf_counter()
        try:
            asked = play.send(trained)
        except StopIteration:
            asked = None
        if last:
            training += seconds
            rest += time.perf_counter() - begun
    return Cost(before, training, rest, s.rounds)


def _tried(run: Run, asked: TrainRequest, kept: dict) -> tuple[Trained, float]:
    """What is asked for, trained in small, and the seconds that all of it takes."""
    few, more = (_part(run, asked, batches, kept) for batches in (_FEW, _MORE))
    added = more[2] - few[2]
    a_sample = max(0.0, more[1] - few[1]) / added if added else 0.0
    everyone = [Client(run.world.client(k), (0, 0, k)) for k in range(len(run.world))]
    mean = _samples(everyone, asked) / len(everyone)  # who takes part changes
    return more[0], few[1] + a_sample * (mean * len(asked.cohort) - few[2])


def _part(
    run: Run, asked: TrainRequest, batches: int, kept: dict
) -> tuple[Trained, float, int]:
    """Train what is asked for, on so many mini-batches a client; seconds, samples."""
    w, training = run.world, asked.training
    most = batches * training.batch_size
    cohort = [replace(c, indices=c.indices[:most]) for c in asked.cohort]
    begun = time.perf_counter()
    trained = train(
        w.model, w.x, w.y, cohort, asked.given, training, asked.rule, kept=kept
    )
    float(trained.loss.sum())  # waits for a GPU
    return trained, time.perf_counter() - begun, _samples(cohort, asked)


def _samples(cohort: Sequence[Client], asked: TrainRequest) -> int:
    """How many samples a cohort's training looks at."""
    steps, batch = count_steps(cohort, asked.training), asked.training.batch_size
    sizes = (min(batch, len(c.indices)) for c in cohort)
    return sum(int(n) * size for n, size in zip(steps, sizes, strict=True))

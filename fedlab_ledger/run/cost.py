"""Seconds that runs will cost on this machine: of a round or two of each, times rounds.

Local training is tried on a growing part of a round's steps until that takes long
enough to tell; the server's work and the test are timed as they are. Settings that
differ in nothing but rounds, weights and real numbers share a try.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fedlab_core import data
from fedlab_core.engine import Trained, count_steps, train
from fedlab_core.errors import InputError, require
from fedlab_core.rounds.records import TrainRequest
from fedlab_core.rounds.simulation import Requests, Simulation
from fedlab_core.rounds.worlds import World
from fedlab_ledger.model.cells import Setting, digest
from fedlab_ledger.model.measures import column_of
from fedlab_ledger.model.observers import Watching
from fedlab_ledger.model.terminal import say
from fedlab_ledger.run.build import data_of, method_of, run_of
from fedlab_ledger.run.jobs import Job
from fedlab_ledger.run.progress import lasting

_ROUNDS = 3  # that are tried, where a round is brief
_BRIEF = 2.0  # seconds of a round: a longer one is tried once
_LONG = 0.3  # seconds of training that tell how long the rest of it takes
_PARTS = (1 / 64, 1 / 16, 1 / 4, 1.0, None)  # of an epoch; None: all epochs


@dataclass(frozen=True)
class Pace:
    """Seconds of a setting's runs, all seeds together: before them, and a round."""

    before: float
    each: float


@dataclass
class Costs:
    """The costs of settings on a device, each kind of them tried once."""

    device: str = "cpu"
    paces: dict[str, Pace] = field(default_factory=dict)

    def job(self, job: Job) -> float:
        """The seconds that a job's runs will take, all settings and seeds."""
        names = {column_of(cell.metric) for cell in job.cells} - {None}
        watched = sorted(name for name in names if name)
        return sum(self.of(s, job.seeds, watched) for s in job.settings)

    def of(
        self, s: Setting, seeds: Sequence[int], watched: Sequence[str] = ()
    ) -> float:
        """The seconds of a setting's runs, one a seed, trained as one cohort."""
        check_there(s)
        method_of(s, data_of(s))  # numbers that cannot be are refused
        key = kind_of(s, len(seeds), watched)
        if key not in self.paces:
            self.paces[key] = _tried(s, seeds, self.device, watched)
        pace = self.paces[key]
        return pace.before + s.rounds * pace.each


def check_there(s: Setting) -> None:
    """Refuse a setting whose data are not on this machine: nothing is fetched."""
    path = data.data_root() / f"{s.dataset}.npz"
    there = s.dataset in data.BUILT_IN or path.exists()
    require(there, f"its data are not here: {path}")


def kind_of(s: Setting, seeds: int, watched: Sequence[str]) -> str:
    """The key that settings share whose rounds take equally long."""
    numbers = {"local": _blank(s.local), "options": _blank(s.options)}
    alike = s.plain() | {"rounds": 0, "weigh": None} | numbers
    return digest([alike, seeds, Watching(watched).names])


def _blank(options: dict[str, Any]) -> dict[str, Any]:
    """Options without their real numbers, which make no operation more in a step."""
    return {n: bool(v) if isinstance(v, float) else v for n, v in options.items()}


def _tried(
    s: Setting, seeds: Sequence[int], device: str, watched: Sequence[str]
) -> Pace:
    """Play the first rounds of one seed's run, and train as many as all seeds have."""
    n, rounds = len(seeds), list[float]()
    begun = time.perf_counter()
    run = run_of(s, seeds[0], device, Watching(watched))
    play = Simulation(replace(run, rounds=min(s.rounds, _ROUNDS))).play()
    asked = next(play, None)
    before = n * (time.perf_counter() - begun)
    while asked is not None and not (
        asked.counts and rounds and rounds[-1] > _BRIEF  # and another round begins
    ):
        if asked.counts:
            rounds.append(0.0)
        trained, seconds = _trained(run.world, asked, n)
        begun = time.perf_counter()
        asked = _answered(play, trained)
        rounds[-1] += seconds + n * (time.perf_counter() - begun)
    each = min(rounds[1:] or rounds)  # what interrupts a round makes it longer only
    return Pace(before + max(0.0, rounds[0] - each), each)


def _answered(play: Requests, trained: Trained) -> TrainRequest | None:
    try:
        return play.send(trained)
    except StopIteration:
        return None


def _trained(w: World, asked: TrainRequest, seeds: int) -> tuple[Trained, float]:
    """Models after a part of the training asked for, and seconds of all of it.

    Every seed has the same clients here, which train side by side.
    """
    alone = range(len(asked.cohort))
    rows = [*alone] * seeds
    given, kept = asked.given.of(rows), {}
    steps = count_steps(asked.cohort, asked.training)

    def attempt(part: float | None) -> tuple[Trained, float]:
        some = _part_of(asked, part, int(steps.max()))
        cohort = [some.cohort[k] for k in rows]
        how = (cohort, given, some.training, some.rule)
        begun = time.perf_counter()
        trained = train(w.model, w.x, w.y, *how, kept=kept)
        float(trained.loss.sum())  # waits for a GPU
        share = float(trained.steps.sum()) / max(1.0, seeds * float(steps.sum()))
        return trained, (time.perf_counter() - begun) / (share or 1.0)

    attempt(_PARTS[0])  # a first call takes longer than those after it
    for part in _PARTS:
        begun = time.perf_counter()
        trained, seconds = attempt(part)
        if time.perf_counter() - begun > _LONG:
            break
    return trained.of([*alone]), seconds


def _part_of(asked: TrainRequest, part: float | None, longest: int) -> TrainRequest:
    """The request, for a part of an epoch: the same of every client's samples."""
    if part is None:
        return asked
    training = replace(asked.training, epochs=min(1, asked.training.epochs))
    if training.iterations is not None:
        fewer = max(1, min(longest, round(part * longest)))
        return replace(asked, training=replace(training, iterations=fewer))

    def most(held: int) -> int:
        return max(training.batch_size, round(part * held))

    cohort = [
        replace(c, indices=c.indices[: most(len(c.indices))]) for c in asked.cohort
    ]
    return replace(asked, cohort=cohort, training=training)


def say_jobs(waiting: Sequence[Job], device: str) -> int:
    """Say what jobs would cost, one by one and together; nothing is stored."""
    costs, total, failed = Costs(device), 0.0, 0
    for job in waiting:
        try:
            seconds = costs.job(job)
        except InputError as error:
            failed += 1
            say(f"{job.name}: cannot be run: {error}")
            continue
        total += seconds
        seeds = " ".join(map(str, job.seeds))
        say(f"{job.name}, seeds {seeds}: {lasting(seconds)}")
    n = len(waiting) - failed
    together = f": {lasting(total)} on {device}, one after another" if n else ""
    say(f"{n} job{'' if n == 1 else 's'}{together}")
    return 2 if failed else 0

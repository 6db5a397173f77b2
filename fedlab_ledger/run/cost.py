"""What runs will cost on this machine, measured on the spot in seconds.

A client's training is measured in a few steps, of all clients and of some, and so is
how it grows with steps and clients. The rest of a round, what its server does and the
test, is timed as it is, or, where it takes long, in a world with fewer samples. What
is measured is said by the method, network and device, and nothing has to be known of
them. Runs that differ in nothing but numbers share a measurement.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from fedlab_core.client import Training
from fedlab_core.engine import Trained, choose_engine, count_steps, train
from fedlab_core.engine.cohort import Engine
from fedlab_core.engine.merge_runs import blank
from fedlab_core.rounds.records import Run, TrainRequest
from fedlab_core.rounds.simulation import Requests, Simulation
from fedlab_core.rounds.worlds import World
from fedlab_ledger.model.cells import Setting, digest
from fedlab_ledger.model.describe import how_many
from fedlab_ledger.model.measures import column_of
from fedlab_ledger.model.observers import Watching
from fedlab_ledger.run.build import data_of, method_of, run_of
from fedlab_ledger.run.jobs import Job
from fedlab_ledger.run.workload import AT_ONCE, Load, check_there, load_of

_LONG = 0.2  # seconds in which a pace is measured
_TRIES = 3  # of what is brief
_MOST = 40  # steps a client, to measure it
_BRIEF = 2.0  # seconds: what takes longer is tried less
_TOLD = 0.5  # seconds of a round's rest: a larger world is not needed to tell
_SMALL, _SLOWLY, _FAST = 16, 4, 16  # test samples of the first world; how it grows
_FEW = 2  # clients that train between two parts of a round's rest
_COUNTED = ("epochs", "iterations")  # of `local`: they are counted, not measured


@dataclass(frozen=True)
class Pace:
    """Seconds of a cohort's training, by what there is of it."""

    a_client: float
    a_step: float  # that all clients take side by side
    a_unit: float  # a client's step, or a sample where one client follows another
    stacked: bool

    def seconds(self, load: Load) -> float:
        """What a round of training takes."""
        units = load.steps if self.stacked else load.samples
        waited = load.longest if self.stacked else 0.0
        return self.a_client * load.clients + self.a_step * waited + self.a_unit * units


@dataclass(frozen=True)
class Asked:
    """A training that every round asks for: of all clients or of those that take part.

    Without a training of its own it is the setting's.
    """

    pace: Pace
    everyone: bool
    own: Training | None


@dataclass(frozen=True)
class Kind:
    """Runs alike but for numbers: seconds before the first round, and of each."""

    before: float
    rest: float  # of a round, training apart
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class Cost:
    """What the runs of a setting come to, all seeds together."""

    seconds: float
    samples: float  # that training looks at


class Costs:
    """Measures what it has not measured before, and adds up."""

    def __init__(self, device: str = "cpu", tell: Callable[[str], object] = str):
        self.device, self.tell = device, tell
        self.kinds: dict[str, Kind] = {}
        self.paces: dict[Any, Pace] = {}

    def job(self, job: Job) -> float:
        """How many seconds a job's runs will take, all settings and seeds."""
        return sum(self.of(s, job.seeds, columns(job)).seconds for s in job.settings)

    def of(self, s: Setting, seeds: Sequence[int], watched: Sequence[str] = ()) -> Cost:
        """The cost of a setting's runs, one a seed, trained as one cohort."""
        check_there(s)
        key = kind_of(s, len(seeds), watched)
        if key not in self.kinds:
            self.tell(f"{s.method}, {s.model}, {s.dataset}")
            self.kinds[key] = self._kind(s, seeds, watched)
        kind = self.kinds[key]
        training = method_of(s, data_of(s)).training
        loads = [load_of(s, seeds, a.own or training, a.everyone) for a in kind.asked]
        each = sum(a.pace.seconds(v) for a, v in zip(kind.asked, loads, strict=True))
        a_round = each + len(seeds) * kind.rest
        seconds = len(seeds) * kind.before + s.rounds * a_round
        return Cost(seconds, s.rounds * sum(v.samples for v in loads))

    def _kind(self, s: Setting, seeds: Sequence[int], watched: Sequence[str]) -> Kind:
        data_of(s)  # which is read once for many runs
        begun = time.perf_counter()
        run = run_of(s, seeds[0], self.device, Watching(watched))
        made, whole = time.perf_counter() - begun, _whole(run)
        asked = tuple(self._asked(run, a, len(seeds)) for a in whole.asked)
        return Kind(made + whole.before, whole.rest, asked)

    def _asked(self, run: Run, asked: TrainRequest, seeds: int) -> Asked:
        w, training = run.world, asked.training
        # Who asked may have been tried in a world of which a part was left.
        cohort = [replace(c, indices=w.client(c.key[2])) for c in asked.cohort]
        asked = replace(asked, cohort=cohort)
        own = None if training == run.method.training else training
        many = min(AT_ONCE, seeds * len(asked.cohort))
        engine = choose_engine(w.model, many, w.x)
        wide = min(training.batch_size, max(len(c.indices) for c in asked.cohort))
        alike = blank(
            replace(training, epochs=1, iterations=None, cap=None), asked.rule
        )
        key = (repr(w.model), w.x.shape[1:], wide, alike, engine, many)
        if key not in self.paces:
            self.paces[key] = _pace(w, asked, many, engine == "stacked")
        return Asked(self.paces[key], len(asked.cohort) == len(w), own)


def columns(job: Job) -> list[str]:
    """What a job's runs are watched for."""
    found = (column_of(cell.metric) for cell in job.cells)
    return sorted({name for name in found if name})


def kind_of(s: Setting, seeds: int, watched: Sequence[str]) -> str:
    """What settings share that differ in nothing but rounds, weights and numbers that
    are no whole ones, or in who holds what: these make no operation more in a step."""
    who = {"clients": how_many(s.scenario), "own": s.scenario.get("own_test")}
    local = {n: v for n, v in s.local.items() if n not in _COUNTED}
    same = {"rounds": 0, "kind": "", "weigh": None, "local": local, "scenario": who}
    return digest([_blank(s.plain() | same), seeds, Watching(watched).names])


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: _blank(v) for n, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_blank(v) for v in value]
    return bool(value) if isinstance(value, float) else value


@dataclass(frozen=True)
class _Short:
    """What some rounds took, training apart, and what the last one asked for."""

    before: float
    rest: float
    asked: tuple[TrainRequest, ...]


def _played(run: Run, rounds: int) -> _Short:
    begun = time.perf_counter()
    simulation = Simulation(replace(run, rounds=rounds))
    before = time.perf_counter() - begun
    play, rests, wanted = simulation.play(), list[float](), list[TrainRequest]()
    asked = next(play, None)
    while asked is not None:
        if asked.counts:  # a round begins
            rests, wanted = [*rests, 0.0], []
        wanted.append(asked)
        trained = _trained(run.world, asked)
        begun = time.perf_counter()
        asked = _answered(play, trained)
        rests[-1] += time.perf_counter() - begun
    rest = min(rests[1:] or rests)  # what interrupts a round makes it longer only
    return _Short(before, rest, tuple(wanted))


def _answered(play: Requests, trained: Trained) -> TrainRequest | None:
    try:
        return play.send(trained)
    except StopIteration:
        return None


def _trained(w: World, asked: TrainRequest) -> Trained:
    """Models as if everyone had trained: a step of some, given out to all."""
    places = list(range(min(len(asked.cohort), _FEW)))
    cohort = [
        replace(c, indices=c.indices[: asked.training.batch_size])
        for c in asked.cohort[: len(places)]
    ]
    training = replace(asked.training, iterations=1, cap=None)
    given = asked.given.of(places)
    some = train(w.model, w.x, w.y, cohort, given, training, asked.rule)
    return some.of([k % len(places) for k in range(len(asked.cohort))])


def _thinned(run: Run, n: int) -> Run:
    """The same run in a world of which a part is left: n test samples."""
    w = run.world
    share = n / max(1, len(w.x_test))
    if share >= 1:
        return run

    def some(many: int) -> np.ndarray:
        left = min(many, max(2, round(share * many)))
        return np.linspace(0, many - 1, left).astype(np.int64)

    held = tuple(i[some(len(i))] for i in w.partition.indices)
    partition = replace(w.partition, indices=held)
    counts = partition.counts(w.y.cpu().numpy(), len(w.classes))
    made: dict[str, Any] = {"partition": partition}
    made["counts"] = torch.from_numpy(counts).to(w.counts.device)
    if w.proxy is not None:
        rows = some(len(w.proxy[0]))
        made["proxy"] = (w.proxy[0][rows], w.proxy[1][rows])
    if w.tests is None:
        rows = some(len(w.x_test))
        made |= {"x_test": w.x_test[rows], "y_test": w.y_test[rows]}
    else:
        made["tests"] = tuple(i[some(len(i))] for i in w.tests)
    if w.common is not None:
        made["common"] = w.common[some(len(w.common))]
    return replace(run, world=replace(w, **made))


def _whole(run: Run) -> _Short:
    """What a round takes: of a world that grows until that is long enough to tell."""
    full, n = len(run.world.x_test), _SMALL
    now = _played(_thinned(run, n), 1)
    while n < full:
        last, had = now, n
        n = min(full, n * (_SLOWLY if now.rest > _LONG else _FAST))
        now = _played(_thinned(run, n), 1 if now.rest > _LONG else 3)
        if now.rest > _TOLD:
            return _grown(last, now, (full - n) / (n - had))
    return now


def _grown(last: _Short, now: _Short, more: float) -> _Short:
    """What comes when the world grows by so much more than between these two."""
    before, rest = (
        b + more * max(0.0, b - a)
        for a, b in ((last.before, now.before), (last.rest, now.rest))
    )
    return _Short(before, rest, now.asked)


def _pace(w: World, asked: TrainRequest, many: int, stacked: bool) -> Pace:
    """Measure a training: a few steps, then more, of all and, stacked, of some."""
    training = replace(asked.training, iterations=1, cap=None)
    steps = count_steps(asked.cohort, training).tolist()
    able = [k for k, n in enumerate(steps) if n] or [0]
    able.sort(key=lambda k: -len(asked.cohort[k].indices))
    if not stacked:
        many = min(len(able), max(2, torch.get_num_threads()))
    rows = [able[i % len(able)] for i in range(many)]
    less = max(1, many // 3) if stacked else many
    tried = _Tries(w, asked, rows, "stacked" if stacked else "looped", {})
    n = _enough(lambda steps: tried.seconds(many, steps))
    taken: dict[tuple[int, int], list[float]] = {}
    begun = time.perf_counter()
    for _ in range(_TRIES):  # in turn: a machine may be slower for a while
        for how in {(many, 1): 0, (many, n): 0, (less, 1): 0, (less, n): 0}:
            taken.setdefault(how, []).append(tried.seconds(*how))
        if time.perf_counter() - begun > _BRIEF:
            break
    middle = {how: statistics.median_low(each) for how, each in taken.items()}
    a_step = max(0.0, middle[many, n] - middle[many, 1]) / (n - 1)
    a_client = max(0.0, middle[many, 1] - a_step) / many
    if not stacked:
        held = (len(asked.cohort[k].indices) for k in rows)
        samples = sum(min(m, training.batch_size) for m in held)
        return Pace(a_client, 0.0, a_step / max(1, samples), stacked)
    if less == many:
        return Pace(a_client, a_step, 0.0, stacked)
    few = max(0.0, middle[less, n] - middle[less, 1]) / (n - 1)
    each = min(max(0.0, a_step - few) / (many - less), a_step / many)
    return Pace(a_client, a_step - many * each, each, stacked)


def _enough(seconds: Callable[[int], float]) -> int:
    """How many steps take long beside what comes before the first one."""
    n, one = 3, seconds(1)
    while n < _MOST and (more := seconds(n) - one) < _LONG:
        n = min(_MOST, max(2 * n, int(n * _LONG / max(more, 1e-4))))
        one = min(one, seconds(1))
    return n


@dataclass(frozen=True)
class _Tries:
    """Short trainings of what was asked for, by clients that may be there twice."""

    world: World
    asked: TrainRequest
    rows: list[int]
    engine: Engine
    kept: dict

    def seconds(self, clients: int, steps: int) -> float:
        """So many steps of the first clients."""
        w, asked, rows = self.world, self.asked, self.rows[:clients]
        training = replace(asked.training, iterations=steps, cap=None)
        most = steps * training.batch_size
        cohort = [asked.cohort[k] for k in rows]
        cohort = [replace(c, indices=c.indices[:most]) for c in cohort]
        how = {"engine": self.engine, "kept": self.kept}
        given = asked.given.of(rows)
        begun = time.perf_counter()
        trained = train(w.model, w.x, w.y, cohort, given, training, asked.rule, **how)
        float(trained.loss.sum())  # waits for a GPU
        return time.perf_counter() - begun

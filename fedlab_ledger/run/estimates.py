"""What is to be played, and what it will cost here, in lines: of jobs and of tables."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode
from tqdm.auto import tqdm

from fedlab_core.data.files import reason
from fedlab_core.errors import InputError
from fedlab_core.models import Shape
from fedlab_ledger.model.cells import Cell, Setting, Table, canonical
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.measures import column_of
from fedlab_ledger.model.provenance import USUAL_SEEDS
from fedlab_ledger.model.terminal import fitting, say
from fedlab_ledger.run.build import data_of, network_of
from fedlab_ledger.run.cost import Costs
from fedlab_ledger.run.jobs import Job
from fedlab_ledger.run.progress import lasting

_HEAD = ("operations", "samples", "time", "left", "done")
_WIDE = (10, 8, 6, 6, 4)


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
    many = f"{n} jobs" if (n := len(waiting) - failed) != 1 else "1 job"
    say(f"{many}: {lasting(total)} on {device}, one after another")
    return 2 if failed else 0


@dataclass(frozen=True)
class Estimate:
    """What the runs of a setting come to, for the usual seeds."""

    operations: float  # of training's networks, forward and backward
    samples: float
    seconds: float
    there: float = 0.0  # the share of the seeds that the ledger has

    @property
    def line(self) -> tuple[str, ...]:
        """As text, after what it is of."""
        left = self.seconds * (1 - self.there)
        took = ("0" if not s else lasting(s) for s in (self.seconds, left))
        numbers = (f"{n:.2e}" for n in (self.operations, self.samples))
        done = f"{100 * self.there:.0f}%"
        return (*numbers, *took, done)


def summed(parts: Sequence[Estimate]) -> Estimate:
    """All of them, and of their seconds the share that is in the ledger."""
    operations, samples, seconds, spent = (
        sum(v)
        for v in zip(
            (0.0,) * 4,
            *((p.operations, p.samples, p.seconds, p.seconds * p.there) for p in parts),
            strict=True,
        )
    )
    return Estimate(operations, samples, seconds, spent / seconds if seconds else 0.0)


class Estimates:
    """The estimates of cells at a scale, each setting's measured once."""

    def __init__(self, scale: str, found: Found, device: str, bar: tqdm):
        self.scale, self.found = scale, found
        self.costs = Costs(device, bar.set_postfix_str)
        self.bar, self.flops = bar, dict[str, int]()
        self.refused: Counter[str] = Counter()

    def of(self, cell: Cell) -> dict[str, Estimate]:
        """By its key, each setting that is trained for a cell."""
        there = self.found.of(cell.key(self.scale))
        share = sum(seed in there for seed in USUAL_SEEDS) / len(USUAL_SEEDS)
        watched = [name for name in [column_of(cell.metric)] if name]
        made = {}
        for s in cell.runs(self.scale):
            cost = self.costs.of(s, USUAL_SEEDS, watched)
            operations = cost.samples * self._flops(s)
            made[s.key] = Estimate(operations, cost.samples, cost.seconds, share)
        return made

    def tried(self, cell: Cell) -> dict[str, Estimate]:
        """The same, or nothing where there can be none, which is written down."""
        try:
            return self.of(cell)
        except InputError as error:
            self.refused[str(error)] += 1
            return {}
        finally:
            self.bar.update()

    def _flops(self, s: Setting) -> int:
        data = data_of(s)
        shape, classes = data.shape, len(data.classes)
        key = canonical([s.model, s.network, shape, classes])
        if str(key) not in self.flops:
            self.flops[str(key)] = flops(s, shape, classes)
        return self.flops[str(key)]


def flops(s: Setting, shape: Shape, classes: int) -> int:
    """The operations of a setting's network for a sample, forward and backward.

    They are counted in a step: two for a product that is added.
    """
    words = len(shape) == 1 and s.model == "textcnn"
    try:
        network = network_of(s, shape, classes)().eval()
        x = torch.zeros(1, *shape, dtype=torch.int64 if words else torch.float32)
        with FlopCounterMode(display=False) as counted:
            F.cross_entropy(network(x), torch.zeros(1, dtype=torch.int64)).backward()
        return counted.get_total_flops()
    except Exception as error:  # of networks as they come
        text = f"the operations of {s.model} cannot be counted: {reason(error)}"
        raise InputError(text) from None


def say_tables(
    tables: Sequence[Table], scale: str, found: Found, device: str, cells: bool
) -> int:
    """Say what tables cost at a scale, by cells or each as a whole, and together.

    In a sum, a setting that several cells want counts once.
    """
    hide = True if os.environ.get("FEDLAB_PROGRESS") == "0" else None
    mine = [(t, [c for c in t.cells if scale in c.settings]) for t in tables]
    names = [_place(c) for _, there in mine for c in there] if cells else []
    wide = _room([*names, *(t.path for t in tables)])
    every: dict[str, Estimate] = {}
    with tqdm(total=sum(len(v) for _, v in mine), disable=hide, unit="cell") as bar:
        estimates = Estimates(scale, found, device, bar)
        _tell(bar, _line(f"at {scale} scale", _HEAD, wide))
        for table, there in mine:
            made = [(cell, estimates.tried(cell)) for cell in there]
            known = [(cell, one) for cell, one in made if one]
            for cell, one in known if cells else ():
                _tell(bar, _line(_place(cell), summed([*one.values()]).line, wide))
            whole = {key: e for _, one in known for key, e in one.items()}
            if known:
                _tell(bar, _line(table.path, summed([*whole.values()]).line, wide))
            every |= whole
    say(_line("all, each run once", summed([*every.values()]).line, wide))
    for why, n in estimates.refused.items():
        say(f"{n} cell(s) cannot be estimated: {why}")
    return 2 if estimates.refused else 0


def _place(cell: Cell) -> str:
    return f"  {cell.row} | {cell.column}"


def _tell(bar: tqdm, line: str) -> None:
    bar.write(fitting(line, sys.stdout), file=sys.stdout)
    sys.stdout.flush()


def _room(names: Sequence[str]) -> int:
    """How wide the names may be: what a terminal has beside the numbers."""
    left = shutil.get_terminal_size().columns - sum(_WIDE) - 2 * len(_WIDE)
    return max(12, min(max([18, *map(len, names)]), left))


def _line(name: str, numbers: Sequence[str], wide: int) -> str:
    short = name if len(name) <= wide else name[: wide - 1] + "…"
    parts = (f"{v:>{w}}" for v, w in zip(numbers, _WIDE, strict=True))
    return "  ".join([f"{short:{wide}}", *parts]).rstrip()

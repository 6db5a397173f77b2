"""The stacked engine on a CUDA device: a step is captured once, then replayed.

A graph repeats the same kernels on the same addresses, so nothing of a round may move:
the cohort is copied to where the graph expects it, and the counter of steps advances on
the device. The host only says "again", and waits for nothing.

A graph also has a fixed number of clients. A few numbers are captured, and what a step
computes for clients that have finished is thrown away.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.client import ClientInput
from fedlab_core.engine.plan import Client, Plan, make_plan
from fedlab_core.engine.stacked import FLAT, StackedCohort
from fedlab_core.engine.step import Gave, Task
from fedlab_core.tree import Tree, copied

Replay = Callable[[], None]
Capture = Callable[[Callable[[], None]], Replay]

_WARM_UP = 2  # steps before a capture: libraries choose their kernels in them


class Captured:
    """A cohort that stays, its step captured for several numbers of clients."""

    def __init__(
        self, stage: StackedCohort, clients: int, longest: int, capture: Capture
    ):
        self.stage, self.capture = stage, capture
        self.sizes = sizes(clients)
        self.room = max(longest, _WARM_UP)
        self.replays: dict[tuple[int, bool], Replay] = {}

    def play(self, plan: Plan, given: ClientInput) -> Gave:
        """A round, from what the cohort was given to what it gave."""
        turns = [self._turn(n) for n in plan.active]
        self.stage.load(plan, given, self._hold)
        missing = [turn for turn in dict.fromkeys(turns) if turn not in self.replays]
        for turn in missing:
            self.stage.tables["t"].zero_()
            self.replays[turn] = self.capture(partial(self.stage.step, *turn))
        if missing:  # capturing a step also runs it
            self.stage.load(plan, given, self._hold)
        for turn in turns:
            self.replays[turn]()
        models, states, uploads, loss = self.stage.unload(plan)
        return copied(models), copied(states), copied(uploads), loss

    @property
    def nbytes(self) -> int:
        """Bytes that it holds from round to round."""
        trees = (*self.stage.trees.values(), self.stage.tables)
        return sum(v.nbytes for tree in trees for v in tree.values())

    def _turn(self, active: int) -> tuple[int, bool]:
        size = min(s for s in self.sizes if s >= active)
        return size, size > active

    def _hold(self, trees: dict[str, Tree], every: Tree, once: Tree) -> None:
        """Copy a cohort to where the one before it was."""
        stage, device = self.stage, self.stage.x.device
        tables = {n: self._roomy(table) for n, table in every.items()} | once
        if not stage.trees:
            fixed = {n: copied(trees[n]) for n in ("start", "broadcast")}
            stage.trees = trees | fixed
            stage.tables = {n: table.to(device) for n, table in tables.items()}
            return
        for n, tree in trees.items():
            if n + FLAT not in trees:  # a flat tree brings its pieces
                for k, v in tree.items():
                    stage.trees[n][k].copy_(v)
        for n, table in tables.items():
            stage.tables[n].copy_(table)

    def _roomy(self, table: Tensor) -> Tensor:
        after = (0, 0) * (table.ndim - 1) + (0, self.room - len(table))
        return F.pad(table, after)


def sizes(clients: int) -> list[int]:
    """The numbers of clients worth capturing: each three quarters of the one before."""
    found = [clients]
    while found[-1] > 1:
        found.append(max(1, found[-1] * 3 // 4))
    return found


class CudaGraphs:
    """Captures steps as CUDA graphs that share their memory."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Replay:
        here, aside = torch.cuda.current_stream(), _aside()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UP):
                step()
        here.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool, stream=aside):
                step()
        finally:
            torch.cuda.set_stream(here)  # a capture that fails leaves its own
        return graph.replay


@cache
def _aside() -> torch.cuda.Stream:
    """One stream for all captures: libraries keep memory for every stream they see."""
    return torch.cuda.Stream()


def captured(task: Task, plan: Plan, given: ClientInput, kept: dict) -> Captured:
    """Graphs that train such a cohort: an earlier round's, or new ones."""
    longest = 1 << (len(plan.at) - 1).bit_length() if len(plan.at) else 0
    trees = (given.start, given.state, given.broadcast)
    form = [(n, v.shape, v.dtype) for tree in trees for n, v in tree.items()]
    scheduled = isinstance(plan.lr, Tensor)
    precision = torch.get_float32_matmul_precision()
    data = (id(task.network), id(task.x), id(task.y), precision)
    key = (*data, task.training, task.rule, longest, plan.full, scheduled, *form)
    stages = kept.setdefault("stages", {})
    stage = stages.pop(key, None)
    if stage is None:
        while stages and sum(s.nbytes for s in stages.values()) > _room():
            del stages[next(iter(stages))]  # the one that was not used for longest
        if "graphs" not in kept:  # none outlives its step: all share their memory
            kept["graphs"] = CudaGraphs()
        cohort = StackedCohort(task, flat=True)
        stage = Captured(cohort, len(plan.steps), longest, kept["graphs"])
    stages[key] = stage  # the latest last
    return stage


def _room() -> float:
    """How many bytes stages may hold from round to round."""
    return torch.cuda.mem_get_info()[1] / 4


def peak(
    task: Task, cohort: Sequence[Client], given: ClientInput, rows: list[int]
) -> int:
    """The most bytes that two steps of some of a cohort take at once."""
    plan = make_plan([cohort[k] for k in rows], task.training, task.x.device)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    stage = StackedCohort(task, flat=True)
    stage.load(plan, given.of(rows))
    for _ in range(min(2, len(plan.at))):
        stage.step(len(rows))
    return torch.cuda.max_memory_allocated() - before


def affordable(
    peak: Callable[[list[int]], int], rank: list[int], kept: dict, key: tuple
) -> int:
    """How many clients fit on the device, by what four take more than two."""
    if len(rank) <= 4:
        return 4
    if key not in kept:
        two, four = peak(rank[:2]), peak(rank[:4])
        each = max(1.0, (four - two) / 2)
        free, _ = torch.cuda.mem_get_info()
        free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        kept[key] = max(1, int((0.8 * free - max(0, two - 2 * each)) / each))
    return kept[key]

"""The stacked engine on a CUDA device: a step is captured once, then replayed.

A graph repeats the same kernels on the same addresses, so nothing of a round may move:
the cohort is copied to where the graph expects it, and the counter of steps advances on
the device. The host only says "again", and waits for nothing.

A graph also has a fixed number of clients. A few numbers are captured, and what a step
computes for clients that have finished is thrown away.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.client import ClientInput
from fedlab_core.engine.plan import Plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Gave, Task
from fedlab_core.tree import Tree, copied

Replay = Callable[[], None]
Capture = Callable[[Callable[[], None]], Replay]

_STAGES = 4  # kept for later rounds: each holds a cohort's memory
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
        stage.hold = self._hold

    def play(self, plan: Plan, given: ClientInput) -> Gave:
        """A round, from what the cohort was given to what it gave."""
        turns = [self._turn(n) for n in plan.active]
        self.stage.load(plan, given)
        missing = [turn for turn in dict.fromkeys(turns) if turn not in self.replays]
        for turn in missing:
            self.stage.tables["t"].zero_()
            self.replays[turn] = self.capture(lambda turn=turn: self.stage.step(*turn))
        if missing:  # what was captured has also run
            self.stage.load(plan, given)
        for turn in turns:
            self.replays[turn]()
        models, states, uploads, loss = self.stage.unload(plan)
        return copied(models), copied(states), copied(uploads), loss

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
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UP):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            step()
        return graph.replay


def captured(task: Task, plan: Plan, given: ClientInput, kept: dict) -> Captured:
    """What trains such a cohort: left by an earlier round, or new."""
    longest = 1 << (len(plan.at) - 1).bit_length() if len(plan.at) else 0
    trees = (given.start, given.state, given.broadcast)
    form = [(n, v.shape, v.dtype) for tree in trees for n, v in tree.items()]
    scheduled = isinstance(plan.lr, Tensor)
    precision = torch.get_float32_matmul_precision()
    data = (id(task.network), id(task.x), id(task.y), precision)
    key = (*data, task.training, task.rule, longest, plan.full, scheduled, *form)
    stages = kept.setdefault("stages", {})
    if key not in stages:
        while len(stages) >= _STAGES:
            del stages[next(iter(stages))]  # the oldest
        stage = StackedCohort(task)
        stages[key] = Captured(stage, len(plan.steps), longest, CudaGraphs())
    return stages[key]


def affordable(
    play: Callable[[list[int]], object], rank: list[int], kept: dict, key: tuple
) -> int:
    """How many clients fit on the device, from what training two of them takes."""
    if len(rank) <= 2:
        return 2
    if key not in kept:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        play(rank[:2])
        each = (torch.cuda.max_memory_allocated() - before) / 2
        free, _ = torch.cuda.mem_get_info()
        free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        kept[key] = max(1, int(0.8 * free / max(each, 1)))
    return kept[key]

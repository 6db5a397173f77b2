"""A client's round as three programs.

`begin` makes what a client first keeps, `step` is one step of its training, `finish`
what it keeps and sends after the last one. All of them are the engine's own: what is
written down is what `engine.step` and `engine.stacked` do with one client.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlab_browser.tracing.function import program_of
from fedlab_browser.tracing.program import Program
from fedlab_core.client import ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.merge_runs import parameters_from_broadcast
from fedlab_core.engine.optimizers import MEMORY
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.models.losses import name_of
from fedlab_core.tree import Tree

CHANGING = ("params", "buffers", *MEMORY, "own")


@dataclass(frozen=True, eq=False)
class ClientPrograms:
    """Programs of a client; `numbers` are its rule's, sent as part of "broadcast"."""

    step: Program
    begin: Program | None
    finish: Program | None
    numbers: dict[str, float]

    @property
    def parts(self) -> dict[str, Program]:
        """Programs that there are, by name."""
        every = {"begin": self.begin, "step": self.step, "finish": self.finish}
        return {n: program for n, program in every.items() if program is not None}


def client_programs(task: one.Task, given: ClientInput, batch: int) -> ClientPrograms:
    """The programs of a cohort's first client, with mini-batches of so many samples.

    Their tensors have a client axis of one. The data are inputs, "x" and "y".
    """
    rule, numbers = parameters_from_broadcast(task.rule)
    task, first = replace(task, rule=rule), given.of(slice(1))
    sent = {n: torch.full((1,), v) for n, v in numbers.items()}
    first = ClientInput(first.start, first.state, first.broadcast | sent)
    name = f"the rule {name_of(task.rule.loss)}"
    if not first.state:
        state = one.first_states(task.network, task.training, rule, first)
        first = ClientInput(first.start, state, first.broadcast)
    trees = begun(task, first)
    same = {"start": first.start, "broadcast": first.broadcast}

    def begin(start: Tree, broadcast: Tree) -> dict[str, Tree]:
        here = ClientInput(start, {}, broadcast)
        plain = replace(task.training, keep_velocity=False, statistics="average")
        return {"own": one.first_states(task.network, plain, rule, here)}

    def step(x: Tensor, y: Tensor, at: Tensor, weight: Tensor, lr: Tensor, **now: Tree):
        here = replace(task, x=x, y=y)
        cohort = StackedCohort(here)
        now = {**{n: {} for n in (*CHANGING, *same)}, **now}
        cohort.trees = now | {"total": {"loss": x.new_zeros(1)}}
        cohort.tables = {
            "at": at[None, None], "weight": weight[None, None], "lr": lr[None],
            "marks": torch.zeros(1, 1, dtype=torch.int64),
            "t": torch.zeros(1, dtype=torch.int64),
        }  # fmt: skip
        cohort.step(1)
        changed = {n: cohort.trees[n] for n in CHANGING}
        return changed | {"loss": cohort.trees["total"]["loss"]}

    def finish(params: Tree, own: Tree, start: Tree, broadcast: Tree, steps, lr_sum):
        here = ClientInput(start, own, broadcast)
        kept, upload = one.finished(rule, params, here, steps, lr_sum, clients=True)
        return {"own": kept, "upload": upload}

    places = {"at": torch.arange(batch) % len(task.x), "lr": torch.full((1,), 0.1)}
    data = {"x": task.x, "y": task.y, "weight": torch.full((batch,), 1 / batch)}
    stepped = program_of(step, name, **data, **places, **trees, **same)
    ends = {"steps": torch.full((1,), 5.0), "lr_sum": torch.full((1,), 0.5)}
    after = {"params": trees["params"], "own": trees["own"]}
    return ClientPrograms(
        step=stepped,
        begin=program_of(begin, f"{name}'s beginning", **same) if rule.begin else None,
        finish=program_of(finish, f"{name}'s end", **after, **same, **ends)
        if rule.finish
        else None,
        numbers=numbers,
    )


def begun(task: one.Task, first: ClientInput) -> dict[str, Tree]:
    """Trees that a step changes, as a round begins."""
    params, buffers = task.network.split(first.start)
    own, memory, kept = one.unpack(first.state, params, task.training, clients=True)
    return {"params": params, "buffers": buffers | kept, **memory, "own": own}

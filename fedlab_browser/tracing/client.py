"""A client's round as three programs, and a cohort trained by them.

`begin` makes what a client first keeps, `step` is one step of its training, `finish`
what it keeps and sends after the last one. All of them are the engine's own: what is
written down is what `engine.step` and `engine.stacked` do with one client.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlab_browser.tracing.program import Program
from fedlab_browser.tracing.reader import Reader
from fedlab_browser.tracing.trace_function import drawn, program_of
from fedlab_core.client import ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.merge_runs import letting
from fedlab_core.engine.plan import Plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.tree import Tree, stack

_CHANGING = ("params", "buffers", "velocity", "own")


@dataclass(frozen=True, eq=False)
class ClientPrograms:
    """What a client does; `numbers` are its rule's, sent as part of "broadcast"."""

    step: Program
    begin: Program | None
    finish: Program | None
    numbers: dict[str, float]

    @property
    def parts(self) -> dict[str, Program]:
        """The programs that there are, by name."""
        every = {"begin": self.begin, "step": self.step, "finish": self.finish}
        return {n: program for n, program in every.items() if program is not None}


def trace_client(task: one.Task, given: ClientInput, batch: int) -> ClientPrograms:
    """The programs of a cohort's first client, with mini-batches of so many samples.

    Their tensors have a client axis of one. The data are inputs, "x" and "y".
    """
    rule, numbers = letting(task.rule)
    task, first = replace(task, rule=rule), given.of(slice(1))
    sent = {n: torch.full((1,), v) for n, v in numbers.items()}
    first = ClientInput(first.start, first.state, first.broadcast | sent)
    name = f"the rule {one.called(task.rule.loss)}"
    if not first.state:
        state = one.first_states(task.network, task.training, rule, first)
        first = ClientInput(first.start, state, first.broadcast)
    trees = _begun(task, first)
    same = {"start": first.start, "broadcast": first.broadcast}

    def begin(start: Tree, broadcast: Tree) -> dict[str, Tree]:
        begun = ClientInput(start, {}, broadcast)
        plain = replace(task.training, keep_velocity=False, statistics="average")
        return {"own": one.first_states(task.network, plain, rule, begun)}

    def step(x: Tensor, y: Tensor, at: Tensor, weight: Tensor, lr: Tensor, **now: Tree):
        here = replace(task, x=x, y=y)
        cohort = StackedCohort(here)
        now = {**{n: {} for n in (*_CHANGING, *same)}, **now}
        cohort.trees = now | {"total": {"loss": x.new_zeros(1)}}
        cohort.tables = {
            "at": at[None, None], "weight": weight[None, None], "lr": lr[None],
            "marks": torch.zeros(1, 1, dtype=torch.int64),
            "t": torch.zeros(1, dtype=torch.int64),
        }  # fmt: skip
        cohort.step(1)
        changed = {n: cohort.trees[n] for n in _CHANGING}
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


def _begun(task: one.Task, first: ClientInput) -> dict[str, Tree]:
    """What a step changes, as a round begins."""
    params, buffers = task.network.split(first.start)
    own, velocity, kept = one.unpack(first.state, params, task.training)
    parts = (params, buffers | kept, velocity, own)
    return dict(zip(_CHANGING, parts, strict=True))


def train_traced(task: one.Task, plan: Plan, given: ClientInput) -> one.Gave:
    """A cohort trained by programs, one client after another: an engine to check by."""
    programs = trace_client(task, given, plan.at.shape[2])
    step = Reader(programs.step)
    finish = programs.finish and Reader(programs.finish)
    data = {n: v for n, v in {"x": task.x, "y": task.y}.items() if n in step.inputs}
    for name, value in data.items():
        step.inputs[name].copy_(value)
    gave = [_trained(task, plan, k, given, programs, step, finish)
            for k in range(len(plan.steps))]  # fmt: skip
    models, kept, uploads, losses = zip(*gave, strict=True)
    return stack(models), stack(kept), stack(uploads), torch.stack(losses)


def _trained(
    task: one.Task,
    plan: Plan,
    k: int,
    given: ClientInput,
    programs: ClientPrograms,
    step: Reader,
    finish: Reader | None,
) -> one.Gave:
    mine = given.of(slice(k, k + 1))
    numbers = {n: torch.full((1,), v) for n, v in programs.numbers.items()}
    now = _begun(task, mine)
    same = {"start": mine.start, "broadcast": mine.broadcast | numbers}
    step.put(**now, **same)
    total, marks, steps = torch.zeros(()), plan.marks(k), int(plan.steps[k])
    for t in range(steps):
        real = int(plan.real[t, k])
        inside = torch.arange(plan.at.shape[2]) < real
        lr = plan.lr[t, k] if isinstance(plan.lr, Tensor) else plan.lr
        step.put(at=plan.at[t, k], weight=inside / real, lr=torch.full((1,), float(lr)))
        for name, how in programs.step.draws.items():
            step.put(**{name: drawn(marks[t], how)})
        step.run()
        total += step.outputs["loss"][0]
    after = {n: step.tree(n) for n in _CHANGING} if steps else now
    own, upload = after["own"], {}
    if finish is not None:
        finish.put(**{n: after[n] for n in ("params", "own")}, **same)
        finish.put(steps=plan.steps[k : k + 1], lr_sum=plan.lr_sum[k : k + 1])
        finish.run()
        own, upload = finish.tree("own"), finish.tree("upload")
    kept = one.pack(own, after["velocity"], after["buffers"], task.training)
    trees = (after["params"] | after["buffers"], kept, upload)
    states, kept, upload = ({n: v[0] for n, v in tree.items()} for tree in trees)
    return states, kept, upload, total / max(steps, 1)

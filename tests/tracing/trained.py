"""A cohort trained by programs: one more engine, to hold them against the others."""

import torch
from torch import Tensor

from fedlab_browser.tracing import Reader, client
from fedlab_browser.tracing.draws import drawn
from fedlab_core.client import ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.optimizers import MEMORY
from fedlab_core.engine.plan import Plan
from fedlab_core.tree import stack


def train_traced(task: one.Task, plan: Plan, given: ClientInput) -> one.Gave:
    """A cohort's round by programs, one client after another."""
    programs = client.client_programs(task, given, plan.at.shape[2])
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
    programs: client.ClientPrograms,
    step: Reader,
    finish: Reader | None,
) -> one.Gave:
    mine = given.of(slice(k, k + 1))
    numbers = {n: torch.full((1,), v) for n, v in programs.numbers.items()}
    now = client.begun(task, mine)
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
    after = {n: step.tree(n) for n in client.CHANGING} if steps else now
    own, upload = after["own"], {}
    if finish is not None:
        finish.put(**{n: after[n] for n in ("params", "own")}, **same)
        finish.put(steps=plan.steps[k : k + 1], lr_sum=plan.lr_sum[k : k + 1])
        finish.run()
        own, upload = finish.tree("own"), finish.tree("upload")
    memory = {kind: after[kind] for kind in MEMORY}
    kept = one.pack(own, memory, after["buffers"], task.training)
    trees = (after["params"] | after["buffers"], kept, upload)
    states, kept, upload = ({n: v[0] for n, v in tree.items()} for tree in trees)
    return states, kept, upload, total / max(steps, 1)

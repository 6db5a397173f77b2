"""All clients of a step at once, with `torch.func`.

`StackedCohort` has the tensors; its `step` trains the first n clients in place. Here
the steps are called one by one, each on exactly the clients that have steps left;
`captured` plays the same step on a CUDA device.
"""

import torch
from torch import Tensor

from fedlab_core.arguments import bare
from fedlab_core.client import Batch, ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.plan import Plan
from fedlab_core.models.network import numbers
from fedlab_core.tree import CONTIGUOUS, Tree, copied, gradient, with_grad


class StackedCohort:
    """A cohort's tensors, and the step that trains them in place."""

    def __init__(self, task: one.Task):
        self.task, self.x, self.training = task, task.x, task.training
        self.value = torch.vmap(self._value)
        self.trees: dict[str, Tree] = {}
        self.tables: Tree = {}

    def play(self, plan: Plan, given: ClientInput) -> one.Gave:
        """A round, from what the cohort was given to what it gave."""
        self.load(plan, given)
        for n in plan.active:
            self.step(n)
        return self.unload(plan)

    def load(self, plan: Plan, given: ClientInput) -> None:
        """Take a cohort up: a copy of its own of everything that a step changes."""
        begun, buffers = self.task.network.split(given.start)
        own, velocity, kept = one.unpack(given.state, begun, self.training)
        like = numbers(self.x, begun)
        changing = {
            "params": self._laid_out(begun),
            "buffers": copied(buffers | kept),
            "velocity": self._laid_out(velocity),
            "own": copied(own),
            "total": {"loss": like.new_zeros(len(plan.steps))},
        }
        fixed = {"start": given.start, "broadcast": given.broadcast}
        every = {"at": plan.at, "weight": plan.weight(like.dtype)}
        every["marks"] = plan.marks(slice(None))
        if isinstance(plan.lr, Tensor):
            every["lr"] = plan.lr
        once = {"steps": plan.steps, "t": torch.zeros(1, dtype=torch.int64)}
        self.hold(fixed | changing, every, once)

    def hold(self, trees: dict[str, Tree], every: Tree, once: Tree) -> None:
        """Take these for the cohort; those in `every` have a row for each step."""
        self.trees = trees
        self.tables = {n: v.to(self.x.device) for n, v in (every | once).items()}

    def _laid_out(self, tree: Tree) -> Tree:
        """A copy, with the weights of linear layers in memory as their gradients are.

        Those come transposed; following one across the grain takes five times as long.
        """
        return {
            n: w.mT.clone(memory_format=CONTIGUOUS).mT
            if n in self.task.network.linear
            else w.clone(memory_format=CONTIGUOUS)
            for n, w in tree.items()
        }

    def step(self, n: int, gated: bool = False) -> None:
        """Train the first n clients; if `gated`, those of them that have steps left."""
        tables, training = self.tables, self.training
        t = tables["t"]
        at, weight, marks = (
            tables[name].index_select(0, t)[0, :n] for name in ("at", "weight", "marks")
        )
        x, y = self.x[at], self.task.y[at]
        if training.augment:
            x = training.augment(x, marks)
        first = {
            name: {key: v[:n] for key, v in tree.items()}
            for name, tree in self.trees.items()
        }
        params = with_grad(first["params"])
        given = bare(ClientInput, first["start"], first["own"], first["broadcast"])
        with torch.enable_grad():
            loss, (buffers, changes) = self.value(
                params, first["buffers"], (x, y, weight, marks), vars(given)
            )
            grads = gradient(loss.sum(), params)
        active = t < tables["steps"][:n] if gated else None
        with torch.no_grad():
            params = first["params"]
            grads = one.corrected(self.task, grads, params, given, clients=True)
            lr = training.lr
            if "lr" in tables:
                lr = tables["lr"].index_select(0, t)[0, :n]
            push = one.pushed(self.task.rule, params, given, clients=True)
            velocity = first["velocity"]
            one.descend(params, grads, velocity, lr, training, active, push)
            one.overwrite(first["buffers"], buffers, active)
            one.overwrite(first["own"], changes, active)
            sofar = first["total"]
            one.overwrite(sofar, {"loss": sofar["loss"] + loss.detach()}, active)
            t.add_(1)

    def unload(self, plan: Plan) -> one.Gave:
        """Give up what the round gave; it stays what it is when the next one begins."""
        trees, rule = self.trees, self.task.rule
        params = {n: w.contiguous() for n, w in trees["params"].items()}
        buffers = trees["buffers"]
        given = ClientInput(trees["start"], trees["own"], trees["broadcast"])
        steps, lr_sum = self.tables["steps"], plan.lr_sum.to(numbers(self.x, params))
        own, upload = one.finished(rule, params, given, steps, lr_sum, clients=True)
        state = one.pack(own, trees["velocity"], buffers, self.training)
        loss = trees["total"]["loss"] / steps.clamp(min=1)
        return params | buffers, state, upload, loss

    def _value(self, params: Tree, buffers: Tree, batch, given):
        """One client's loss, and what its mini-batch changed besides."""
        loss, new, changes = one.value_of(
            self.task,
            params,
            buffers,
            bare(Batch, *batch),
            bare(ClientInput, *given.values()),
        )
        return loss, ({n: b for n, b in new.items() if b is not buffers[n]}, changes)

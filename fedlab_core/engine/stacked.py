"""All clients of a step at once, with `torch.func`.

`StackedCohort` has the tensors; its `step` trains the first n clients in place. Here
the steps are called one by one, each on exactly the clients that have steps left;
`captured` plays the same step on a CUDA device.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fedlab_core.client import Batch, ClientInput
from fedlab_core.engine import step as one
from fedlab_core.engine.optimizers import MEMORY, descend
from fedlab_core.engine.plan import Plan
from fedlab_core.models.network import float_like
from fedlab_core.tree import CONTIGUOUS, Tree, copied, flatten, gradient, with_grad

Hold = Callable[[dict[str, Tree], Tree, Tree], None]
_ONCE = ("steps", "t")  # the tables that are the same in every step
FLAT = "_flat"  # after the name of a tree: the same as one row a client


class StackedCohort:
    """A cohort's tensors, and the step that trains them in place.

    If `flat`, all parameters are pieces of one tensor, as a GPU prefers: few and long
    operations. A CPU prefers them as their gradients lie in memory.
    """

    def __init__(self, task: one.Task, flat: bool = False):
        self.task, self.x, self.training = task, task.x, task.training
        self.flat = flat
        self.trees: dict[str, Tree] = {}
        self.tables: Tree = {}

    def play(self, plan: Plan, given: ClientInput) -> one.Gave:
        """A round, from what the cohort was given to what it gave."""
        self.load(plan, given)
        for n in plan.active:
            self.step(n)
        return self.unload(plan)

    def load(self, plan: Plan, given: ClientInput, hold: Hold | None = None) -> None:
        """Take a cohort up: a copy of its own of everything that a step changes.

        `hold` puts it where it stays; those of its tables in `every` have a row a step.
        """
        begun, buffers = self.task.network.split(given.start)
        training = self.training
        own, memory, kept = one.unpack(given.state, begun, training, clients=True)
        like = float_like(self.x, begun)
        changing = {
            "buffers": copied(buffers | kept),
            "own": copied(own),
            "total": {"loss": like.new_zeros(len(plan.steps))},
        }
        for name, tree in ({"params": begun} | memory).items():
            changing |= self._laid_out(name, tree)
        fixed = {"start": given.start, "broadcast": given.broadcast}
        marks = plan.marks(slice(None)).to(self.x.device)
        every = {"at": plan.at, "weight": plan.weight(like.dtype), "marks": marks}
        every |= one.drawn(self.training, marks, plan.at.shape[2])
        if isinstance(plan.lr, Tensor):
            every["lr"] = plan.lr.to(like.dtype)
        once = {"steps": plan.steps, "t": torch.zeros(1, dtype=torch.int64)}
        if hold:
            hold(fixed | changing, every, once)
            return
        self.trees = fixed | changing
        self.tables = {n: v.to(self.x.device) for n, v in (every | once).items()}

    def _laid_out(self, name: str, tree: Tree) -> dict[str, Tree]:
        """A copy of parameters: a row a client with its pieces, if `flat`.

        Otherwise the weights of linear layers lie in memory as their gradients do:
        transposed. To follow one across the grain takes five times as long.
        """
        if self.flat and len({w.dtype for w in tree.values()}) == 1:
            whole = flatten(tree, client_axis=True)
            pieces = whole.split([w[0].numel() for w in tree.values()], dim=1)
            parts = zip(tree.items(), pieces, strict=True)
            views = {n: piece.view_as(w) for (n, w), piece in parts}
            return {name: views, name + FLAT: {"all": whole}}
        laid = {
            n: w.mT.clone(memory_format=CONTIGUOUS).mT
            if n in self.task.network.linear
            else w.clone(memory_format=CONTIGUOUS)
            for n, w in tree.items()
        }
        return {name: laid}

    def step(self, n: int, gated: bool = False) -> None:
        """Train the first n clients; if `gated`, those of them that have steps left."""
        tables, training = self.tables, self.training
        t = tables["t"]
        now = {
            name: table.index_select(0, t)[0, :n]
            for name, table in tables.items()
            if name not in _ONCE
        }
        at, weight, marks = now["at"], now["weight"], now["marks"]
        x = one.augmented(training, one.taken(self.x, at), marks, now.get("drawn"))
        y = one.taken(self.task.y, at)
        first = {
            name: {key: v[:n] for key, v in tree.items()}
            for name, tree in self.trees.items()
        }
        params = with_grad(first["params"])
        given = ClientInput(first["start"], first["own"], first["broadcast"])
        with torch.enable_grad():
            loss, (buffers, changes) = _values(
                self.task, params, first["buffers"], (x, y, weight, marks), given
            )
            grads = gradient(loss.sum(), params)
        active = t < tables["steps"][:n] if gated else None
        with torch.no_grad():
            params = first["params"]
            grads = one.corrected(self.task, grads, params, given, clients=True)
            lr = now.get("lr", training.lr)
            push = one.pushed(self.task.rule, params, given, clients=True)
            memory = {kind: first[kind] for kind in MEMORY}
            if "params" + FLAT in first:
                moves = [grads, push] if push else [grads]
                moves = [{n: move[n] for n in params} for move in moves]
                rows = [{"all": flatten(move, client_axis=True)} for move in moves]
                grads, push = rows[0], rows[1] if push else None
                params = first["params" + FLAT]
                memory = {kind: first.get(kind + FLAT, {}) for kind in MEMORY}
            descend(params, grads, memory, lr, training, active, push)
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
        steps, lr_sum = self.tables["steps"], plan.lr_sum.to(float_like(self.x, params))
        own, upload = one.finished(rule, params, given, steps, lr_sum, clients=True)
        memory = {kind: trees[kind] for kind in MEMORY}
        state = one.pack(own, memory, buffers, self.training)
        loss = trees["total"]["loss"] / steps.clamp(min=1)
        return params | buffers, state, upload, loss


def _values(task: one.Task, params: Tree, buffers: Tree, batch, given: ClientInput):
    """Each client's loss, and what its mini-batch changed besides.

    `vmap` is handed one flat row of tensors: it takes trees apart more slowly.
    """
    trees = (params, buffers, given.start, given.state, given.broadcast)

    def value(x, y, weight, key, *rest: Tensor):
        tensors = iter(rest)
        own, old, *told = ({n: next(tensors) for n in tree} for tree in trees)
        here, mine = Batch(x, y, weight, key), ClientInput(*told)
        loss, new, changes = one.value_of(task, own, old, here, mine)
        return loss, ({n: b for n, b in new.items() if b is not old[n]}, changes)

    return torch.vmap(value)(*batch, *(v for tree in trees for v in tree.values()))

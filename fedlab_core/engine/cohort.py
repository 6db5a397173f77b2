"""The one call: a cohort in, what its training gave out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Count, checked
from fedlab_core.client import PLAIN, ClientInput, Rule, Training
from fedlab_core.engine.check_custom_rule import agree, foreign
from fedlab_core.engine.convolutions import together
from fedlab_core.engine.determinism import exact
from fedlab_core.engine.graphs import affordable, captured, peak
from fedlab_core.engine.keep_heap import keep
from fedlab_core.engine.looped import train_looped
from fedlab_core.engine.plan import Client, count_steps, make_plan
from fedlab_core.engine.split_on_oom import in_parts
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task, first_states
from fedlab_core.errors import require
from fedlab_core.models.losses import own_loss
from fedlab_core.models.network import Network, explained, shared
from fedlab_core.tree import Tree, as_slice, check_shapes, concat, take

keep()

Engine = Literal["auto", "looped", "stacked"]
Precision = Literal["float32", "tf32", "bf16"]


@checked
@dataclass(frozen=True)
class Trained:
    """The result of a cohort's training, in the cohort's order, with a client axis."""

    states: Tree  # parameters and buffers
    loss: Tensor  # mean of the loss over the round's steps, one a client
    steps: Tensor
    kept: Tree = field(default_factory=dict)  # what each client keeps for itself
    uploads: Tree = field(default_factory=dict)  # what each sends besides its model

    def of(self, rows) -> "Trained":
        """Some of the cohort's clients."""
        trees = (take(tree, rows) for tree in (self.states, self.kept, self.uploads))
        states, kept, uploads = trees
        here = rows.to(self.loss.device) if isinstance(rows, Tensor) else rows
        return Trained(states, self.loss[here], self.steps[rows], kept, uploads)


@checked
def begin_states(
    model: nn.Module, training: Training, rule: Rule, given: ClientInput
) -> Tree:
    """The state of clients before they first take part, a row a client."""
    return first_states(shared(model), training, rule, given)


@checked
def choose_engine(model: nn.Module, clients: Count, x: Tensor) -> Engine:
    """The faster engine, by measurement (`python -m benchmarks --grow`).

    On a CPU, a loop is faster for one client, for networks of more than a megabyte and
    for convolutions over images above 16 x 16. Everything else gains from being
    stacked. On a CUDA device all that was measured did, one client alone as well.
    """
    if x.device.type != "cpu":
        return "stacked"
    convolutions = any(isinstance(m, nn.Conv2d) for m in model.modules())
    large = convolutions and x[0, 0].numel() > 256
    heavy = sum(w.nbytes for w in model.parameters()) > 2**20
    return "looped" if clients < 2 or large or heavy else "stacked"


@checked
def train(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    cohort: Sequence[Client],
    given: ClientInput,
    training: Training,
    rule: Rule = PLAIN,
    *,
    engine: Engine = "auto",
    largest: Count | None = None,
    precision: Precision = "float32",
    kept: dict | None = None,
) -> Trained:
    """Train every client from its row of `given` on its samples of (x, y).

    Without a state in `given` everyone begins afresh. `largest` bounds how many clients
    train at once (all that fit). `precision` is float32, or tf32 or bf16 for speed.
    `kept` carries what the next call with the same model and data can use again. Inputs
    are not modified.
    """
    _check(model, x, y, cohort, given, rule, precision)
    if engine == "auto":
        engine = choose_engine(model, len(cohort), x)
    kept = {} if kept is None else kept
    task = Task(_network(model, precision == "bf16", kept), x, y, training, rule)
    if not given.state:
        state = first_states(task.network, training, rule, given)
        given = ClientInput(given.start, state, given.broadcast)
    rank = _ranked(cohort, training) if engine == "stacked" else [*range(len(cohort))]

    def play(rows: list[int]) -> Trained:
        plan = make_plan([cohort[k] for k in rows], training, x.device)
        here = given.of(as_slice(rows))
        if engine == "looped":
            done = train_looped(task, plan, here)
        elif x.device.type == "cuda":
            done = captured(task, plan, here, kept).play(plan, here)
        else:
            done = StackedCohort(task).play(plan, here)
        models, states, uploads, loss = done
        return Trained(
            states=models, loss=loss, steps=plan.steps, kept=states, uploads=uploads
        )

    with exact(precision == "tf32"), explained(model, given.start, x, y):
        if engine == "stacked" and precision == "float32":
            _try_once(task, cohort, given, kept)
        key = (id(model), training, rule)
        if largest is None:
            largest = 256
            if x.device.type == "cuda" and engine == "stacked":
                seen = partial(peak, task, cohort, given)
                largest = affordable(seen, rank, kept, key)
        parts = in_parts(play, rank, largest, kept, key)
    whole = _joined(parts)
    if rank == sorted(rank):
        return whole
    return whole.of(torch.tensor(rank).argsort())


def _ranked(cohort: Sequence[Client], training: Training) -> list[int]:
    """Rows of the cohort, those with most steps first."""
    counts = count_steps(cohort, training).tolist()
    return sorted(range(len(cohort)), key=lambda k: (-counts[k], cohort[k].key))


def _network(model: nn.Module, bf16: bool, kept: dict) -> Network:
    networks = kept.setdefault("networks", {})
    key = (id(model), bf16)
    if key not in networks:
        own = networks[key] = Network(model, training=True, bf16=bf16)
        if any(w.is_cuda for w in own.live.values()):
            together(own.model)
    return networks[key]


def _try_once(
    task: Task, cohort: Sequence[Client], given: ClientInput, kept: dict
) -> None:
    """Try a rule that is not the core's, in the first round that it trains."""
    tried = kept.setdefault("tried", set())
    if foreign(task.rule) and task.rule not in tried:
        agree(task, make_plan(cohort, task.training, task.x.device), given)
        tried.add(task.rule)


def _joined(parts: list[Trained]) -> Trained:
    if len(parts) == 1:
        return parts[0]
    loss, steps = (torch.cat([getattr(p, n) for p in parts]) for n in ("loss", "steps"))
    states, kept, uploads = (
        concat([getattr(part, kind) for part in parts])
        for kind in ("states", "kept", "uploads")
    )
    return Trained(states, loss, steps, kept, uploads)


def _check(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    cohort: Sequence[Client],
    given: ClientInput,
    rule: Rule,
    precision: Precision,
) -> None:
    there = precision != "tf32" or x.device.type == "cuda"
    require(there, "precision tf32 needs a CUDA device: use float32 or bf16 here")
    require(len(cohort) > 0, "a cohort needs at least one client")
    require(len(x) == len(y), f"{len(x)} samples do not go with {len(y)} labels")
    labels = not y.is_floating_point() or own_loss(model) is not None
    labels = labels or bool(foreign(rule))
    require(labels, f"y must be labels, whole numbers, not {y.dtype}")
    held = torch.cat([c.indices for c in cohort])
    inside = not len(held) or 0 <= held.min() and held.max() < len(x)
    require(bool(inside), f"indices must be samples from 0 to {len(x) - 1}")
    check_shapes(given.start, model.state_dict(), "start must be", len(cohort))

"""Playing runs to the end: one, or many side by side as one cohort."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from fedlab_core.arguments import Count, Seed, checked
from fedlab_core.client.rule import ClientInput
from fedlab_core.engine import Trained, train
from fedlab_core.engine.cohort import Engine, Precision
from fedlab_core.engine.determinism import exact
from fedlab_core.engine.merge_runs import merge, numberless
from fedlab_core.errors import require
from fedlab_core.keys import undrawn
from fedlab_core.models.examine import alike
from fedlab_core.rounds.checkpoint import Checkpoint, kept_in
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import Method
from fedlab_core.rounds.records import Run, TrainRequest
from fedlab_core.rounds.simulation import Simulation
from fedlab_core.rounds.validate_hooks import during, on_everybodys
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, concat


@checked
@exact()
def run_all(
    runs: Sequence[Run],
    *,
    engine: Engine = "auto",
    precision: Precision = "float32",
    progress: bool | None = None,
    checkpoint: Checkpoint | str | os.PathLike | None = None,
) -> list[History]:
    """Play several runs side by side; those that can share a cohort train as one.

    Runs share a cohort when they use the same kind of model and images, and methods
    that differ, for a client, in nothing but the learning rate and its rule's numbers.
    `engine` and `precision` are those of `train`. A progress bar counts rounds;
    `progress=False`, the variable FEDLAB_PROGRESS=0 and output to a file hide it. With
    a `checkpoint`, a path or more, the runs go on from where they were when something
    ended them, or when fewer rounds were asked for. Runs of several threads take turns.
    """
    require(not torch.is_inference_mode_enabled(), "no training in inference_mode")
    pools = _pools([run.world for run in runs])
    kept = kept_in(checkpoint) if checkpoint else None
    states = kept.load(runs) if kept else [None] * len(runs)
    simulations = [Simulation(*both) for both in zip(runs, states, strict=True)]
    playing = [simulation.play() for simulation in simulations]
    wanted: dict[int, TrainRequest] = {}
    how = {"engine": engine, "precision": precision, "kept": {}}
    quiet = os.environ.get("FEDLAB_PROGRESS") == "0" or None  # None: tqdm sees itself
    hide = quiet if progress is None else not progress
    with tqdm(total=sum(r.rounds for r in runs), disable=hide, unit="round") as bar:
        bar.update(sum(len(simulation.state.rows) for simulation in simulations))
        for i, play in enumerate(playing):
            asked = next(play, None)  # None: it was over when its state was kept
            if asked is not None:
                wanted[i] = asked
        while wanted:
            answers = _train_all(runs, pools, wanted, how)
            for i in list(wanted):
                bar.update(wanted[i].counts)
                try:
                    wanted[i] = playing[i].send(answers[i])
                except StopIteration:
                    del wanted[i]
            if kept and (kept.due or (kept.strict and not wanted)):
                kept.keep(runs, [simulation.state for simulation in simulations])
        bar.update(sum(len(s.state.rows) for s in simulations) - bar.n)  # of nobody
    return [simulation.history for simulation in simulations]


@checked
def federate(
    world: World, method: Method, rounds: Count = 20, seed: Seed = 0, **options
) -> History:
    """Play one method for some rounds; `options` are those of `Run` and `run_all`."""
    names = ("engine", "precision", "progress", "checkpoint")
    how = {k: options.pop(k) for k in names if k in options}
    if note := on_everybodys(method, world.tests):
        warnings.warn(note, stacklevel=3)
    return run_all([Run(world, method, rounds, seed, **options)], **how)[0]


_COPY_BYTES = 2**28  # training sets larger than this are not copied into a pool


@dataclass(frozen=True, eq=False)
class _Pool:
    """Training sets that fit together as one, and where each begins."""

    x: Tensor
    y: Tensor
    begins: dict[tuple[int, int], int]


def _data(w: World) -> tuple[int, int]:
    return id(w.x), id(w.y)


def _pools(worlds: Sequence[World]) -> list[_Pool]:
    """For every world the pool it trains on; worlds that can share one do."""
    kinds: dict[tuple, dict[tuple[int, int], World]] = {}
    keys, models = [], list[nn.Module]()
    for w in worlds:
        big = _data(w) if w.x.nbytes > _COPY_BYTES else None
        kind = next((i for i, m in enumerate(models) if alike(m, w.model)), len(models))
        models += [w.model] * (kind == len(models))
        keys.append((kind, w.x.shape[1:], w.y.shape[1:], w.x.device, big))
        kinds.setdefault(keys[-1], {})[_data(w)] = w
    pools = {}
    for key, sets in kinds.items():
        ends = np.cumsum([len(w.x) for w in sets.values()])
        begins = dict(zip(sets, [0, *ends.tolist()], strict=False))
        xs, ys = ([getattr(w, a) for w in sets.values()] for a in ("x", "y"))
        alone = len(sets) == 1
        pools[key] = _Pool(
            xs[0] if alone else torch.cat(xs), ys[0] if alone else torch.cat(ys), begins
        )
    return [pools[key] for key in keys]


def _train_all(
    runs: Sequence[Run], pools: list[_Pool], wanted: dict[int, TrainRequest], how: dict
) -> dict[int, Trained]:
    """Train what the runs ask for, one cohort for those that can share one."""
    together: dict[tuple, list[int]] = {}
    for i, asked in wanted.items():
        alike = numberless(asked.training, asked.rule) if len(wanted) > 1 else None
        together.setdefault((id(pools[i]), alike), []).append(i)
    answers = {}
    for members in together.values():
        works = [(wanted[i].training, wanted[i].rule) for i in members]
        training = works[0][0]
        rule, numbers = merge(works) if len(works) > 1 else (works[0][1], [{}])
        cohort, parts, first = [], [], 0
        for i, sent in zip(members, numbers, strict=True):
            begin = pools[i].begins[_data(runs[i].world)]
            mine, rate = wanted[i].cohort, wanted[i].training.lr
            lr = None if rate == training.lr else rate
            cohort += [replace(c, indices=c.indices + begin, lr=lr) for c in mine]
            parts.append(_sending(wanted[i].given, sent, len(mine)))
        pool, model = pools[members[0]], runs[members[0]].world.model
        given = _joined(parts)
        names = " and ".join({runs[i].method.name: "" for i in members})
        drawing = undrawn(
            f"training of {names}", pool.x.device, "the key that is given"
        )
        with during(f"training, round {cohort[0].key[1] + 1} of {names}"), drawing:
            trained = train(model, pool.x, pool.y, cohort, given, training, rule, **how)
        for i in members:
            mine = slice(first, first + len(wanted[i].cohort))
            first = mine.stop
            answers[i] = trained.of(mine)
    return answers


def _sending(given: ClientInput, numbers: Tree, clients: int) -> ClientInput:
    """The same, with numbers sent to every client besides."""
    like = next(iter(given.start.values()))
    each = {n: v.to(like).expand(clients) for n, v in numbers.items()}
    return replace(given, broadcast=given.broadcast | each)


def _joined(parts: list[ClientInput]) -> ClientInput:
    """Several runs' clients as one cohort."""
    trees = ([getattr(p, f.name) for p in parts] for f in fields(ClientInput))
    return ClientInput(*map(concat, trees))

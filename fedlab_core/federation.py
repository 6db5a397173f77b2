"""A federated method as a few choices, and the round loop that plays it.

A `Method` says what a client minimises (`local`), how much each counts (`weigh`), what
the server makes of the models (`server`) and who is averaged with whom (`groups`); the
fifth choice, what a client keeps for itself, is here: nothing. `run` plays a method in
a `World`; `run_all` plays many, training all their clients of a round as one cohort.
"""

import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm.auto import tqdm

from fedlab_core.engine import Client, Local, Trained, derive_seed, train
from fedlab_core.errors import require
from fedlab_core.metrics import Scores, evaluate, state_bytes
from fedlab_core.models import initial_state
from fedlab_core.tree import Tree, is_finite, stack, take
from fedlab_core.world import World


@dataclass(frozen=True)
class Members:
    """What the server knows of the clients whose models it is about to average."""

    counts: Tensor  # samples held per class
    ids: Tensor
    loss: Tensor  # mean training loss of the round

    @property
    def sizes(self) -> Tensor:
        """Samples held, m_k."""
        return self.counts.sum(1)

    @classmethod
    def holding(cls, counts: Tensor) -> "Members":
        """Clients with these counts, to ask a rule what it would do with them."""
        return cls(counts, torch.arange(len(counts)), torch.zeros(len(counts)))


class Weigh(Protocol):
    """How much each member counts: weights of 0 or more that sum to one."""

    @property
    def name(self) -> str: ...

    @property
    def scalars(self) -> int:
        """How many numbers a client reports once, besides its models."""
        ...

    def __call__(self, members: Members) -> Tensor: ...


class Server(Protocol):
    """What the server makes of the members' models: the group's next model."""

    def __call__(self, before: Tree, after: Tree, weights: Tensor) -> Tree: ...


class Groups(Protocol):
    """Who is averaged with whom: a list of client ids for each group."""

    def __call__(self, clients: int) -> list[list[int]]: ...


def everyone(clients: int) -> list[list[int]]:
    """One group: the usual federation."""
    return [list(range(clients))]


def nobody(clients: int) -> list[list[int]]:
    """Every client alone: local training, nothing is shared."""
    return [[k] for k in range(clients)]


@dataclass(frozen=True)
class Method:
    """The choices, and a name. A combination without sense is refused when built."""

    name: str
    local: Local
    weigh: Weigh
    server: Server
    groups: Groups = everyone

    def __post_init__(self) -> None:
        alone = self.groups is nobody and self.weigh.scalars > 0
        require(
            not alone,
            f"{self.name}: weigh={self.weigh.name} compares the members of a group, "
            "but groups=nobody leaves every client alone: use groups=everyone",
        )


@dataclass
class History:
    """One row a round; `accuracy` says which of the usual three numbers it reports."""

    method: str
    seed: int
    rows: list[dict] = field(default_factory=list)
    states: Tree = field(default_factory=dict)  # the final model of every group
    diverged: bool = False

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table, with the method and the seed."""
        return pd.DataFrame(self.rows).assign(method=self.method, seed=self.seed)

    def accuracy(self, which: str = "last", k: int = 5) -> float:
        """Test accuracy: "last" round, "best" round, or "mean" of the last k."""
        known = which in ("last", "best", "mean")
        require(known, f"unknown accuracy {which!r}: choose from last, best, mean")
        curve = [row["accuracy"] for row in self.rows]
        require(len(curve) > 0, "this history has no round yet")
        require(k >= 1, f"k must be 1 or more, not {k}")
        if which == "best":
            return max(curve)
        return curve[-1] if which == "last" else float(np.mean(curve[-k:]))


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation to be played: a method in a world, for some rounds, from a seed.

    `participants` clients are drawn each round (all by default) from the seed alone, so
    that every method meets the same ones. `observe` adds columns to the history: it is
    called each round with a `Round`.
    """

    world: World
    method: Method
    rounds: int
    seed: int = 0
    participants: int | None = None
    observe: Callable[["Round"], dict] | None = None
    start: Tree | None = None

    def __post_init__(self) -> None:
        require(self.rounds >= 1, f"rounds must be 1 or more, not {self.rounds}")
        require(self.seed >= 0, f"seed must be 0 or more, not {self.seed}")
        clients, asked = len(self.world), self.participants
        fits = asked is None or 1 <= asked <= clients
        require(fits, f"participants must be 1 to {clients}, not {asked}")


@dataclass(frozen=True)
class Round:
    """What an observer may look at."""

    world: World
    number: int
    ids: list[int]
    before: Tree  # models of all groups at the round's start
    trained: Trained
    weights: list[Tensor]  # one tensor a group
    after: Tree
    scores: Scores


def draw_participants(
    clients: int, take_part: int | None, seed: int, t: int
) -> list[int]:
    """The ids that take part in round t, in ascending order."""
    if take_part is None or take_part == clients:
        return list(range(clients))
    rng = np.random.default_rng([seed, t, 0x5E1EC7])
    return sorted(int(k) for k in rng.choice(clients, take_part, replace=False))


Request = tuple[list[Client], Tree, Local]


def simulate(play: Run) -> Generator[Request, Trained, History]:
    """The round loop: yields what it wants trained, and is sent the trained cohort."""
    w, method, seed = play.world, play.method, play.seed
    groups = method.groups(len(w))
    home = {k: g for g, members in enumerate(groups) for k in members}
    held = [torch.from_numpy(i) for i in w.partition.indices]
    first = play.start or initial_state(w.make, derive_seed(seed, 0xF1257))
    device = w.x.device
    models = stack([{n: v.to(device) for n, v in first.items()}] * len(groups))
    history = History(method.name, seed, states=models)
    sent = 0
    for t in range(play.rounds):
        ids = draw_participants(len(w), play.participants, seed, t)
        cohort = [Client(held[k], (seed, t, k)) for k in ids]
        begin = take(models, [home[k] for k in ids])
        trained = yield cohort, begin, method.local
        after, weights = _aggregate(w, method, groups, ids, models, trained)
        scores = evaluate(w.model, after, w.x_test, w.y_test, len(w.classes))
        talking = sum(len(groups[home[k]]) > 1 for k in ids)  # alone: nothing is sent
        sent += 2 * talking * state_bytes(first)
        sent += 4 * method.weigh.scalars * len(w) * (t == 0)
        row = {
            "round": t + 1,
            "accuracy": float(scores.accuracy.mean()),
            "loss": float(scores.loss.mean()),
            "train_loss": float(trained.loss.mean()),
            "participants": len(ids),
            "steps": int(trained.steps.sum()),
            "bytes": sent,
        }
        if play.observe:
            seen = Round(w, t + 1, ids, models, trained, weights, after, scores)
            row |= play.observe(seen)
        models = history.states = after
        history.rows.append(row)
        if not is_finite(after):
            history.diverged = True
            break
    return history


def _aggregate(w, method, groups, ids, models, trained) -> tuple[Tree, list[Tensor]]:
    """Every group's next model; a group without a participant keeps the one it had."""
    after, weights = [], []
    for g, members in enumerate(groups):
        inside = set(members)
        rows = [i for i, k in enumerate(ids) if k in inside]
        before = take(models, g)
        if not rows:
            after.append(before)
            weights.append(torch.zeros(0))
            continue
        who = torch.tensor([ids[i] for i in rows])
        known = Members(w.counts[who], who, trained.loss[rows].cpu())
        weights.append(method.weigh(known))
        after.append(method.server(before, take(trained.states, rows), weights[-1]))
    return stack(after), weights


def run_all(
    plays: Sequence[Run], *, engine: str = "auto", progress: bool | None = None
) -> list[History]:
    """Play several runs side by side; those that can share a cohort train as one.

    Runs share a cohort when they use the same kind of model and images and the same
    `Local`. A progress bar counts rounds; `progress=False`, the variable
    FEDLAB_PROGRESS=0 and output to a file hide it.
    """
    pools = _pools([play.world for play in plays])
    games = [simulate(play) for play in plays]
    wanted = {i: next(game) for i, game in enumerate(games)}
    done: dict[int, History] = {}
    hide = _hide_progress() if progress is None else not progress
    with tqdm(total=sum(p.rounds for p in plays), disable=hide, unit="round") as bar:
        while wanted:
            answers = _answer(plays, pools, wanted, engine)
            for i in list(wanted):
                bar.update()
                try:
                    wanted[i] = games[i].send(answers[i])
                except StopIteration as end:
                    done[i] = end.value
                    del wanted[i]
    return [done[i] for i in range(len(plays))]


def _hide_progress() -> bool | None:
    """Hidden if FEDLAB_PROGRESS is 0; None lets tqdm see whether anyone is watching."""
    return True if os.environ.get("FEDLAB_PROGRESS") == "0" else None


def run(world: World, method: Method, rounds: int, seed: int = 0, **options) -> History:
    """Play one method for some rounds; `options` are those of `Run` and `run_all`."""
    how = {k: options.pop(k) for k in ("engine", "progress") if k in options}
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
    keys = []
    for w in worlds:
        big = _data(w) if w.x.nbytes > _COPY_BYTES else None
        keys.append((repr(w.model), w.x.shape[1:], w.x.device, big))
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


def _answer(
    plays: Sequence[Run], pools: list[_Pool], wanted: dict[int, Request], engine: str
) -> dict[int, Trained]:
    """Train what the runs ask for, one cohort for those that can share one."""
    together: dict[tuple, list[int]] = {}
    for i, (_, _, local) in wanted.items():
        together.setdefault((id(pools[i]), local), []).append(i)
    answers = {}
    for members in together.values():
        cohort, first = [], 0
        for i in members:
            begin = pools[i].begins[_data(plays[i].world)]
            cohort += [replace(c, indices=c.indices + begin) for c in wanted[i][0]]
        starts = [wanted[i][1] for i in members]
        start = {n: torch.cat([s[n] for s in starts]) for n in starts[0]}
        pool, model = pools[members[0]], plays[members[0]].world.model
        local = wanted[members[0]][2]
        trained = train(model, pool.x, pool.y, cohort, start, local, engine=engine)
        for i in members:
            mine = slice(first, first + len(wanted[i][0]))
            first = mine.stop
            answers[i] = Trained(
                take(trained.states, mine), trained.loss[mine], trained.steps[mine]
            )
    return answers

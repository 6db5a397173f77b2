"""The server's half of a method: the core's round, with clients that are elsewhere.

A `Federation` is a `Simulation` whose clients are asked: it yields questions and is
sent what came back. Weights, the server's step, groups and the record of a round are
the core's own. A client that did not answer is, in its round, one that was not drawn:
it counts for nothing, neither in the model nor in what a server remembers.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Whole, checked
from fedlab_core.data import Dataset
from fedlab_core.engine import Client, Trained, count_steps
from fedlab_core.errors import InputError, require
from fedlab_core.methods.fedcollab import Solved
from fedlab_core.methods.kmeans import OfModels
from fedlab_core.partition import Partition
from fedlab_core.rounds import GroupOf, Method, World
from fedlab_core.rounds.evaluation import Evaluated
from fedlab_core.rounds.presence import participants_of
from fedlab_core.rounds.records import Run, RunState
from fedlab_core.rounds.reports import Reports
from fedlab_core.rounds.simulation import Simulation
from fedlab_core.rounds.validate_hooks import groups_of
from fedlab_core.rounds.worlds import Proxy, world
from fedlab_core.tree import Tree, stack, take
from fedlab_flower import discriminators, scalars
from fedlab_flower.half import Half
from fedlab_flower.memory import NEVER
from fedlab_flower.messages import (
    JUDGE,
    TRAIN,
    Ask,
    Facts,
    Reply,
    Talk,
    Trees,
    enough,
    told,
)


@dataclass(frozen=True)
class Needed:
    """How few answers are enough, and by whom models are judged."""

    answers: int | None = None  # in a round; None: of all that were asked
    clients_judge: bool = False


@checked
@dataclass(frozen=True)
class Told:
    """A method's weights, of what clients told when they joined: not their labels."""

    weigh: Any  # the method's own
    numbers: dict[int, Tensor]
    name: str
    scalars: Whole

    def __call__(self, members: Any) -> Tensor:
        numbers = torch.cat([self.numbers[k] for k in members.ids.tolist()])
        return scalars.weights(self.weigh, members.sizes, numbers)


class Sizes:
    """A world as far as a server may know it: how many clients, with how much each."""

    def __init__(self, w: World, groups: str):
        self._world, self._groups = w, groups
        self.counts, self.holders, self.view = w.counts, w.holders, w.view
        self.classes, self.model, self.make = w.classes, w.model, w.make

    def __len__(self) -> int:
        return len(self._world)

    def __getattr__(self, name: str) -> Any:
        raise InputError(
            f"groups={self._groups} cannot be deployed: to begin it looks at `{name}` "
            "of the world, which no server has; everyone, nobody, fixed coalitions, "
            "IFCA, CFL, FeSEM, KMeans and FedCollab can"
        )


@checked
def deployable(method: Method) -> Method:
    """The method, if it can run where no server sees a client's labels."""
    weigh = method.weigh
    require(
        not weigh.scalars or scalars.known(weigh),
        f"{method.name} cannot be deployed: weigh={weigh.name} looks at the labels of "
        "all clients; give it told(counts) and by(sizes, told) of what they tell",
    )
    return method


def server_world(
    data: Dataset,
    sizes: list[int],
    make: Callable[[], nn.Module],
    device: str = "cpu",
    proxy: Proxy | None = None,
) -> World:
    """A world of clients that are elsewhere: their sizes, and blanks for samples."""
    some = Partition("none", {}, (torch.zeros(1, dtype=torch.int64).numpy(),))
    none = {"owners_train": None, "targets_train": None}
    seen = replace(data, x_train=data.x_test[:2], y_train=data.y_test[:2], **none)
    w = world(seen, some, make, device, proxy=proxy)
    ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
    held = [
        torch.arange(a, b).numpy() for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    blank, label = torch.zeros_like(w.x[:1]), torch.zeros_like(w.y[:1])
    many = max(ends[-1], 2)
    return replace(
        w,
        x=blank.expand(many, *blank.shape[1:]),
        y=label.expand(many).contiguous(),
        partition=Partition("elsewhere", {"sizes": sizes}, tuple(held)),
        counts=torch.tensor(sizes)[:, None],
    )


class Federation(Simulation):
    """A run with clients that are asked; `talk` is what is said in it."""

    def __init__(self, run: Run, needed: Needed, state: RunState | None = None):
        self.needed, self.group_of = needed, list[int]()
        self.ready = state is not None
        self.likes: dict[str, Trees] = {}
        if state is None:
            state = RunState([], [], 0, memory={"run": secrets.token_hex(8)})
            state.memory["counted"] = {}
        super().__init__(run, state)
        if needed.clients_judge:
            self.judge = cast(Any, self._judged)

    def talk(self) -> Talk[None]:
        """The questions before round one, where none was played, and all rounds."""
        if not self.ready:
            memory = self.state.memory
            self.group_of = yield from self._first_groups()
            self.state = self.now = replace(self._begun(), memory=memory)
            self.ready = True
        yield from cast(Talk[None], self.play())

    def _begun(self) -> RunState:
        known, method = self.group_of, self.method
        groups = replace(method.groups, begin=lambda *_: known)
        self.method = replace(method, groups=groups)
        try:
            return super()._begun()
        finally:
            self.method = method

    @property
    def _remembers(self) -> bool:
        """Whether the server holds what clients keep: it never does."""
        return False

    def _first_groups(self) -> Talk[GroupOf]:
        """The group of every client, asking them if the method does."""
        groups, w, seed = self.method.groups, self.world, self.run.seed
        if isinstance(groups.begin, OfModels):
            model = {"model": self._first(0)}
            found = yield from self._everybody("alone", 0, None, {}, model)
            models = stack([reply.trees["model"] for reply in found.values()])
            return groups.begin(w, seed, models)
        if isinstance(groups.begin, Solved):
            found = yield from discriminators.estimate(
                self.method, w, seed, self._everybody
            )
            return groups.begin(w, seed, found)
        return groups.begin(cast(World, Sizes(w, groups.name)), seed)

    def _everybody(
        self,
        kind: str,
        t: int,
        trees: Mapping[int, Trees] | None,
        facts: dict[str, int],
        like: Any,
    ) -> Talk[dict[int, Reply]]:
        """Everybody's answers to a question before round one: nobody may be missing."""
        ids = list(range(len(self.world)) if trees is None else trees)
        asks = []
        for k in ids:
            sent = {} if trees is None else trees[k]
            mine = like if trees is None else like[k]
            filled = {n: tree for n, tree in sent.items() if tree}
            asks.append(Ask(kind, k, self._facts(k, t) | facts, filled, mine))
        return enough((yield asks), len(asks), f"before round 1, {kind}")

    def _facts(self, k: int, t: int) -> Facts:
        memory = self.now.memory
        last = memory["counted"].get(k, NEVER)
        facts: Facts = {"client": k, "round": t, "seed": self.run.seed}
        facts["run"] = memory["run"]
        return facts | {"counted": last, "clients": len(self.world)}

    def _asked(
        self, kind: str, t: int, ids: list[int], trees: Callable[[int, int], Trees]
    ) -> Talk[dict[int, Reply]]:
        """The answers of a round, of those clients that gave one."""
        asks = []
        for row, k in enumerate(ids):
            sent = {name: tree for name, tree in trees(row, k).items() if tree}
            ask = Ask(kind, k, self._facts(k, t), sent)
            asks.append(replace(ask, like=self._like(ask)))
        least = len(ids) if self.needed.answers is None else self.needed.answers
        least = min(least, len(ids)) if kind != JUDGE else 1
        return enough((yield asks), least, f"round {t + 1}, {kind}")

    def _like(self, ask: Ask) -> Trees:
        """An answer's form: that of a client that has only blanks."""
        if ask.kind == JUDGE:
            number = torch.zeros((), dtype=torch.float64)
            return told(accuracy=number, loss=number)
        key = f"{ask.kind} {len(ask.trees)}"
        if key not in self.likes:
            held = Partition("blank", {}, (torch.arange(2).numpy(),))
            two = torch.tensor([[2]])
            blank = replace(self.world, partition=held, counts=two)
            method = replace(self.method, training=_brief(self.method.training))
            facts = ask.facts | {"counted": NEVER}
            made = Ask(ask.kind, 0, facts, {"first": self.first} | ask.trees)
            self.likes[key] = (
                _Blank(method, blank, 0, engine="looped").answer(made).trees
            )
        return self.likes[key]

    def _round(self, t: int) -> Any:
        """Make of `now`, a copy of the state before a round, the one after it."""
        run, w, method, now = self.run, self.world, self.method, self.now
        if not (ids := participants_of(run, t)):
            return (yield from self._nobody(t))
        if method.groups.pick:
            ids = yield from self._picked(t, ids)
        exchange, seed = method.rule.exchange, run.seed
        reports = Reports(w, exchange, now.reports) if exchange else None
        if reports and reports.exchange.when == "before":
            ids = yield from self._reported(t, ids, reports)
        cohort = [Client(w.client(k), (seed, t, k)) for k in ids]
        given, answers = self._given(t, ids, cohort, reports)

        def sent(row: int, k: int) -> Trees:
            mine = given.of(row)
            trees = {"start": mine.start, "sent": mine.broadcast}
            own = method.personal.own_model and method.personal.own_begin == "first"
            if own and k not in now.memory["counted"]:
                trees["first"] = self.first
            return trees

        found = yield from self._asked(TRAIN, t, ids, sent)
        rows = [row for row, k in enumerate(ids) if k in found]
        ids, cohort = list(found), [cohort[row] for row in rows]
        given, answers = given.of(rows), take(answers, rows)
        trained = self._trained(found, cohort)
        uploads = answers | trained.uploads
        if reports:
            after = _stacked(found, "report")
            reports.ask = lambda *_: after
            uploads |= reports.close(ids, cohort, trained.states)
            now.reports = reports.known
        now.memory = now.memory | {
            "counted": now.memory["counted"] | dict.fromkeys(ids, t)
        }
        now.bytes += self._bytes(ids, given, uploads)
        if method.groups.regroup:
            self._regroup(t, ids, trained.states)
        before = now.models
        weights = self._aggregate(t, ids, trained, uploads)
        yield from self._record(t, ids, before, trained, weights, uploads)

    def _trained(self, found: dict[int, Reply], cohort: list[Client]) -> Trained:
        """The clients' training, as the engine gives it."""
        models, sent = (_stacked(found, name) for name in ("model", "sent"))
        said = found.values()
        here = self.world.x.device
        return Trained(
            states={n: v.to(here) for n, v in models.items()},
            loss=self.world.view.like.new_tensor([r.facts["loss"] for r in said]),
            steps=count_steps(cohort, self.method.training),
            uploads={n: v.to(here) for n, v in sent.items()},
        )

    def _picked(self, t: int, ids: list[int]) -> Talk[list[int]]:
        """Clients that named the group whose model suits them; they are in it now."""
        w, now, groups = self.world, self.now, self.method.groups
        assert groups.pick is not None
        models = {f"model-{g}": s.model for g, s in enumerate(now.servers)}
        found = yield from self._asked("losses", t, ids, lambda *_: models)
        ids, losses = list(found), _stacked(found, "told")["losses"]
        picked = groups.pick(now.group_of, ids, lambda: losses)
        now.group_of = groups_of(picked, groups.name, len(w), len(models))
        return ids

    def _reported(self, t: int, ids: list[int], reports: Reports) -> Talk[list[int]]:
        """Clients that reported on the model they are sent, before they train."""
        now = self.now
        start = [server.begin for server in now.servers]

        def sent(row: int, k: int) -> Trees:
            return {"start": start[now.group_of[k]]}

        found = yield from self._asked("report", t, ids, sent)
        here, told_ = self.world.x.device, _stacked(found, "report")
        said = {n: v.to(here) for n, v in told_.items()}
        reports.ask = lambda *_: said
        return list(found)

    def _judged(self, run: Run, t: int, *_: Any) -> Talk[Evaluated]:
        """How good the groups' models, or their own, are to the clients."""
        now, everyone = self.now, list(range(len(self.world)))

        def sent(row: int, k: int) -> Trees:
            return {"model": now.servers[now.group_of[k]].model}

        found = yield from self._asked(JUDGE, t, everyone, sent)
        said = _stacked(found, "told")
        right, loss = said["accuracy"], said["loss"]
        row = {"accuracy": float(right.mean()), "loss": float(loss.mean())}
        row |= {"worst": float(right.min()), "spread": float(right.std())}
        whole = torch.full((len(everyone),), torch.nan, dtype=right.dtype)
        whole[list(found)] = right
        return Evaluated(row, clients=whole)


class _Blank(Half):
    """A client that has two blank samples, and keeps nothing."""

    def kept(self, ask: Ask) -> Any:
        return _Nowhere()


class _Nowhere:
    def recall(self, counted: int) -> Trees:
        return {}

    def keep(self, *_: Any) -> None: ...


def _brief(training: Any) -> Any:
    """The same training, of a step or two."""
    return replace(training, epochs=1, iterations=None, cap=None)


def _stacked(found: dict[int, Reply], name: str) -> Tree:
    """A tree of all answers, with a client axis; without it, none."""
    trees = [reply.trees.get(name, {}) for reply in found.values()]
    return stack(trees)

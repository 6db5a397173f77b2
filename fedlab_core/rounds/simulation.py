"""The round loop: a method in a world, round by round.

The first page of `fedlab_core` draws one round, file by file.
A simulation yields what it wants trained and is sent what came of it: so `run_all` can
train the clients of many runs side by side.
"""

from collections.abc import Generator
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fedlab_core.client.rule import ClientInput
from fedlab_core.engine import Client, Trained, begin_states
from fedlab_core.engine.plan import lr_sums
from fedlab_core.errors import require
from fedlab_core.keys import derive_seed, undrawn
from fedlab_core.models import initial_state
from fedlab_core.rounds.evaluation import evaluate_round
from fedlab_core.rounds.groups import Regrouping
from fedlab_core.rounds.history import OWN, History
from fedlab_core.rounds.method import COMMON
from fedlab_core.rounds.presence import participants_of
from fedlab_core.rounds.records import Round, Run, RunState, TrainRequest
from fedlab_core.rounds.reports import Reports, losses_of
from fedlab_core.rounds.server import Gathered
from fedlab_core.rounds.validate_hooks import (
    during,
    groups_of,
    regrouped,
    server_of,
    weights_of,
)
from fedlab_core.rounds.weigh import Members
from fedlab_core.tree import (
    Tree,
    as_slice,
    count,
    is_finite,
    nest,
    repeat,
    stack,
    subtree,
    take,
)

Requests = Generator[TrainRequest, Trained, None]


class Simulation:
    """A run under way: its `state` after the last round, and `now`, in the next one.

    It begins anew, or goes on from a state that a run like it was in.
    """

    def __init__(self, run: Run, state: RunState | None = None):
        self.run, self.world, self.method = run, run.world, run.method
        self.waits = "cpu" if run.keep == "host" else run.world.x.device
        self.first, self.judge = self._first(0), evaluate_round
        self.now = self.state = state or self._begun()
        getattr(run.observe, "memory", {}).update(self.state.memory)

    def _begun(self) -> RunState:
        run, w, groups = self.run, self.world, self.method.groups
        group_of = groups_of(groups.begin(w, run.seed), groups.name, len(w))
        begun = max(groups.models or 0, max(group_of) + 1)
        firsts = [self._first(g if groups.models else 0) for g in range(begun)]
        servers = [run.method.server.begin(m, w.view) for m in firsts]
        return RunState(servers, group_of, bytes=4 * run.method.weigh.scalars * len(w))

    @property
    def history(self) -> History:
        """The history of the run so far."""
        s, run = self.state, self.run
        clients = None if s.clients is None else s.clients.numpy()
        own = {"clients": clients, "diverged_at": s.diverged_at}
        own |= {"metric": run.world.judged_by, "stayed": self._stayed}
        return History(run.method.name, run.seed, s.rows, s.models, s.group_of, **own)

    def play(self) -> Requests:
        """The round loop."""
        while not self._over:
            t, self.now = len(self.state.rows), replace(self.state)
            with during(f"round {t + 1} of {self.method.name}"):
                yield from self._round(t)
            self.state = self.now

    @property
    def _over(self) -> bool:
        """Whether there is no further round: all are played, or the last ended it."""
        run, rows = self.run, self.state.rows
        if len(rows) >= run.rounds or self.state.diverged_at:
            return True
        judged = bool(run.stop and rows and "loss" in rows[-1])
        return judged and bool(run.stop and run.stop(rows))

    def _first(self, g: int) -> Tree:
        """The model that group g begins from."""
        w, run = self.world, self.run
        if run.start is not None and g == 0:
            first = run.start
        else:
            seed = (run.seed, 0xF1257) + ((g,) if g else ())
            first = initial_state(w.make, derive_seed(*seed))
        return {n: v.to(w.x.device) for n, v in first.items()}

    def _round(self, t: int) -> Requests:
        """Make of `now`, a copy of the state before a round, the one after it."""
        run, w, method, now = self.run, self.world, self.method, self.now
        if not (ids := participants_of(run, t)):
            return (yield from self._nobody(t))
        cohort = [Client(w.client(k), (run.seed, t, k)) for k in ids]
        if method.groups.pick:
            there = [server.model for server in now.servers]
            picked = method.groups.pick(
                now.group_of, ids, lambda: losses_of(w, there, ids)
            )
            now.group_of = groups_of(picked, method.groups.name, len(w), len(there))
        exchange = method.rule.exchange
        reports = Reports(w, exchange, now.reports) if exchange else None
        given, answers = self._given(t, ids, cohort, reports)
        trained = yield TrainRequest(cohort, given, method.training, method.rule)
        if self._remembers:
            now.kept = now.kept.keep(ids, trained.kept, given.state, self.waits)
        if rule := method.personal.own_model:
            own = self._own_given(ids, given)
            request = TrainRequest(cohort, own, method.training, rule, counts=False)
            models = (yield request).states
            now.own_models = now.own_models.keep(ids, models, models, self.waits)
        uploads = answers | trained.uploads
        if reports:
            uploads |= reports.close(ids, cohort, trained.states)
            now.reports = reports.known
        now.bytes += self._bytes(ids, given, uploads)
        if method.groups.regroup:
            self._regroup(t, ids, trained.states)
        before = now.models
        weights = self._aggregate(t, ids, trained, uploads)
        yield from self._record(t, ids, before, trained, weights, uploads)

    def _nobody(self, t: int) -> Requests:
        """A round without a participant: it is written down, and changes nothing."""
        none, before = torch.zeros(0), self.now.models
        weights, trained = [none] * len(self.now.servers), Trained({}, none, none)
        return self._record(t, [], before, trained, weights, {})

    def _record(
        self,
        t: int,
        ids: list[int],
        before: Tree,
        trained: Trained,
        weights: list[Tensor],
        uploads: Tree,
    ) -> Requests:
        """Write the round down: its cost, how good it is, what else is looked at."""
        run, now, after = self.run, self.now, self.now.models
        row, scores, personal = self._row(t, ids, trained), None, None
        if t + 1 == run.rounds or (t + 1) % run.judge_every == 0:
            kept = now.kept if self.method.personal.kept else now.own_models
            found = yield from self.judge(run, t, after, now.group_of, kept)
            row |= found.row
            scores, personal = found.scores, found.models
            now.clients = now.clients if found.clients is None else found.clients
        if run.observe:
            seen = Round(
                world=self.world,
                number=t + 1,
                ids=ids,
                before=before,
                trained=trained,
                weights=weights,
                after=after,
                group_of=list(now.group_of),
                scores=scores,
                kept=trained.kept,
                uploads=uploads,
                servers=list(now.servers),
                personal=personal,
                row=dict(row),
                stayed=self._stayed,
            )
            said, own = run.observe(seen), dict.fromkeys((*row, *OWN))
            good = isinstance(said, dict)
            require(good, f"observe must give a dict, not {type(said).__name__}")
            taken = ", ".join(name for name in own if name in said)
            text = f"observe: {taken} is a round's own; these are: {', '.join(own)}"
            require(not taken, text)
            row |= said
            now.memory = dict(getattr(run.observe, "memory", {}))
        now.rows = [*now.rows, row]
        now.diverged_at = None if is_finite(after) else t + 1

    @property
    def _remembers(self) -> bool:
        """Whether clients keep something from round to round."""
        return bool(self.method.rule.begin) or self.method.training.remembers

    @cached_property
    def _stayed(self) -> tuple[str, ...]:
        """Names of what each client keeps in place of the group's, and never sends."""
        personal, begin = self.method.personal, self.method.rule.begin
        one = {} if personal.sent or not begin else begin(self.first, {})
        return tuple(subtree(one, personal.kept or ""))

    def _given(
        self, t: int, ids: list[int], cohort: list[Client], reports: Reports | None
    ) -> tuple[ClientInput, Tree]:
        """The participants' input, and their answers before training."""
        w, method, now = self.world, self.method, self.now
        start = self._rows(ids, [server.begin for server in now.servers])
        broadcast = self._rows(ids, [server.broadcast for server in now.servers])
        broadcast |= self._common(t, ids, cohort)
        answers: Tree = {}
        if reports:
            shared, answers = reports.open(ids, cohort, start, now.group_of)
            broadcast |= shared
        given = ClientInput(start, {}, broadcast)
        if not self._remembers:
            return given, answers

        def begin(places: list[int]) -> Tree:
            some = given.of(places)
            return begin_states(w.model, method.training, method.rule, some)

        state = now.kept.recall(ids, begin)
        here = {n: v.to(w.x.device) for n, v in state.items()}
        return ClientInput(start, here, broadcast), answers

    def _rows(self, ids: list[int], trees: list[Tree]) -> Tree:
        """Each client's group's tree, with a client axis."""
        if len(trees) == 1:
            return repeat(trees[0], len(ids))
        return take(stack(trees), [self.now.group_of[k] for k in ids])

    def _common(self, t: int, ids: list[int], cohort: list[Client]) -> Tree:
        """Facts that every client may be told, as far as the rule needs them."""
        w, sizes, needs = self.world, self.world.counts.sum(1), self.method.rule.needs
        told = {
            "share": (sizes / sizes.sum())[ids],
            "clients": torch.full((len(ids),), float(len(w))),
            "round": torch.full((len(ids),), float(t)),
        }
        if "lr_sum" in needs:
            told["lr_sum"] = lr_sums(cohort, self.method.training)
        like = w.view.like
        return {n: v.to(like) for n, v in told.items() if n in needs}

    def _own_given(self, ids: list[int], given: ClientInput) -> ClientInput:
        """The participants' own models, to be trained beside the group's."""

        def begin(places: list[int]) -> Tree:
            if self.method.personal.own_begin == "group":
                return take(given.start, places)
            return repeat(self.first, len(places))

        kept = self.now.own_models.recall(ids, begin)
        start = {n: v.to(self.world.x.device) for n, v in kept.items()}
        return ClientInput(start, {}, nest("round", given.start))

    def _bytes(self, ids: list[int], given: ClientInput, uploads: Tree) -> int:
        """Models both ways, but what stays, and more; alone, nothing is sent."""
        group_of = self.now.group_of
        together = np.bincount(group_of).tolist()
        talking = sum(together[group_of[k]] > 1 for k in ids)
        down = {n: v for n, v in given.broadcast.items() if n not in COMMON}
        extra = (count(down) + count(uploads)) / len(ids)
        model = self.now.servers[0].model
        shared = count(model) - sum(model[n].numel() for n in self._stayed)
        return 4 * talking * (2 * shared + round(extra))

    def _regroup(self, t: int, ids: list[int], models: Tree) -> None:
        groups, w, now = self.method.groups, self.world, self.now
        assert groups.regroup is not None
        seen = Regrouping(
            group_of=now.group_of,
            ids=ids,
            before=now.servers,
            models=models,
            sizes=w.counts.sum(1),
            view=w.view,
            key=(self.run.seed, t),
        )
        said = groups.regroup(seen)
        now.group_of, parents = regrouped(said, groups.name, len(w), len(now.servers))
        now.servers = [now.servers[g] for g in parents]

    def _aggregate(
        self, t: int, ids: list[int], trained: Trained, uploads: Tree
    ) -> list[Tensor]:
        """Every group's next model; a group without a participant keeps its own."""
        method, w, now, weights = self.method, self.world, self.now, []
        everyone, losses, here = torch.tensor(ids), trained.loss.cpu(), w.x.device
        servers = list(now.servers)
        for g, before in enumerate(servers):
            there = [row for row, k in enumerate(ids) if now.group_of[k] == g]
            if not there:
                weights.append(torch.zeros(0))
                continue
            rows = as_slice(there)
            members = Members(
                counts=w.counts[everyone[rows]],
                ids=everyone[rows],
                loss=losses[rows],
                steps=trained.steps[rows],
            )
            with undrawn(f"weigh={method.weigh.name}", here, "a seed"):
                said = method.weigh(members)
            weights.append(weights_of(said, method.weigh.name, members.loss))
            gathered = Gathered(
                before=before,
                models=take(trained.states, rows),
                weights=weights[-1],
                members=members,
                uploads=take(uploads, rows),
                clients=now.group_of.count(g),
                view=w.view,
                key=(self.run.seed, t, g),
            )
            with undrawn(f"server={method.server.name}", here, "its `key`"):
                after = method.server.step(gathered)
            servers[g] = server_of(after, method.server.name, before)
        now.servers = servers
        return weights

    def _row(self, t: int, ids: list[int], trained: Trained) -> dict:
        row = {
            "round": t + 1,
            "train_loss": float(trained.loss[trained.steps > 0].mean()),
            "participants": len(ids),
            "steps": int(trained.steps.sum()),
            "bytes": self.now.bytes,
        }
        alone, own = len(self.now.servers) == 1, {*row, *OWN}
        for g, server in enumerate(self.now.servers):
            taken = ", ".join(n for n in server.metrics if n in own)
            said = f"server={self.method.server.name}: metrics {taken}"
            require(not taken, f"{said}: a round's own name")
            row |= {n if alone else f"{n}.{g}": v for n, v in server.metrics.items()}
        return row

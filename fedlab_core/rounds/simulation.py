"""The round loop: a method in a world, round by round.

The first page of `fedlab_core` draws one round, file by file.
A simulation yields what it wants trained and is sent what came of it, so that `play`
can train the clients of many runs side by side.
"""

from collections.abc import Callable, Generator

import numpy as np
import torch
from torch import Tensor

from fedlab_core.client.rule import ClientInput, Rule
from fedlab_core.engine import Client, Trained, begin_states
from fedlab_core.engine.plan import lr_sums
from fedlab_core.errors import require
from fedlab_core.keys import derive_seed
from fedlab_core.models import initial_state
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.evaluation import evaluate_round
from fedlab_core.rounds.groups import Regrouping
from fedlab_core.rounds.method import COMMON
from fedlab_core.rounds.records import (
    OWN,
    History,
    Round,
    Run,
    TrainRequest,
    draw_participants,
)
from fedlab_core.rounds.reports import Reports, losses_of
from fedlab_core.rounds.server import Gathered
from fedlab_core.rounds.validate_hooks import during, groups_of, server_of, weights_of
from fedlab_core.rounds.weigh import Members
from fedlab_core.tree import Tree, as_slice, count, is_finite, nest, repeat, stack, take

Requests = Generator[TrainRequest, Trained, None]


class Simulation:
    """One run under way: the groups' models, and what everyone remembers.

    Where it does not `begin`, who made it has to say where the run is.
    """

    def __init__(self, run: Run, begin: bool = True):
        self.run, self.world, self.method = run, run.world, run.method
        waits = "cpu" if run.keep == "host" else run.world.x.device
        self.kept, self.own_models = ClientStates(waits), ClientStates(waits)
        exchange = run.method.rule.exchange
        self.reports = Reports(run.world, exchange) if exchange else None
        self.history = History(run.method.name, run.seed)
        self.first = self._first(0)
        if begin:
            self._begin()

    def _begin(self) -> None:
        run, w, groups = self.run, self.world, self.method.groups
        self.group_of = groups_of(groups.begin(w, run.seed), groups.name, len(w))
        begun = max(groups.models or 0, max(self.group_of) + 1)
        firsts = [self._first(g if groups.models else 0) for g in range(begun)]
        self.servers = [run.method.server.begin(m, w.view) for m in firsts]
        self.bytes = 4 * run.method.weigh.scalars * len(w)

    @property
    def played(self) -> int:
        """How many rounds are over."""
        return len(self.history.rows)

    def play(self, after: Callable[[], object] = lambda: None) -> Requests:
        """The round loop; `after` is called after every round."""
        while self.played < self.run.rounds and not self.history.diverged:
            with during(f"round {self.played + 1} of {self.method.name}"):
                yield from self.round(self.played)
            after()

    def _first(self, g: int) -> Tree:
        """The model that group g begins from."""
        w, run = self.world, self.run
        if run.start is not None and g == 0:
            first = run.start
        else:
            seed = (run.seed, 0xF1257) + ((g,) if g else ())
            first = initial_state(w.make, derive_seed(*seed))
        return {n: v.to(w.x.device) for n, v in first.items()}

    def round(self, t: int) -> Requests:
        """Play one round."""
        run, w, method = self.run, self.world, self.method
        ids = draw_participants(len(w), run.participants, run.seed, t)
        cohort = [Client(w.client(k), (run.seed, t, k)) for k in ids]
        if method.groups.pick:
            models = [server.model for server in self.servers]
            picked = method.groups.pick(
                self.group_of, ids, lambda: losses_of(w, models, ids)
            )
            self.group_of = groups_of(picked, method.groups.name, len(w), len(models))
        given, answers = self._given(t, ids, cohort)
        trained = yield TrainRequest(cohort, given, method.training, method.rule)
        if self._remembers:
            self.kept.keep(ids, trained.kept)
        if method.personal.own_model:
            yield from self._own_models(ids, cohort, given, method.personal.own_model)
        uploads = answers | trained.uploads
        if self.reports:
            uploads |= self.reports.close(ids, cohort, trained.states)
        self._count_bytes(ids, given, uploads)
        if method.groups.regroup:
            self._regroup(t, ids, trained.states)
        before = stack([server.model for server in self.servers])
        weights = self._aggregate(t, ids, trained, uploads)
        yield from self._record(t, ids, before, trained, weights, uploads)

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
        run, history = self.run, self.history
        after = history.states = stack([server.model for server in self.servers])
        history.group_of = list(self.group_of)
        row, scores, personal = self._row(t, ids, trained), None, None
        if t + 1 == run.rounds or (t + 1) % run.judge_every == 0:
            kept = self.kept if self.method.personal.kept else self.own_models
            found = yield from evaluate_round(run, t, after, self.group_of, kept)
            row |= found.row
            scores, personal = found.scores, found.models
            if found.clients is not None:
                history.clients = found.clients.numpy()
        if run.observe:
            seen = Round(
                world=self.world,
                number=t + 1,
                ids=ids,
                before=before,
                trained=trained,
                weights=weights,
                after=after,
                group_of=list(self.group_of),
                scores=scores,
                kept=trained.kept,
                uploads=uploads,
                servers=list(self.servers),
                personal=personal,
                row=dict(row),
            )
            said, own = run.observe(seen), dict.fromkeys((*row, *OWN))
            good = isinstance(said, dict)
            require(good, f"observe must give a dict, not {type(said).__name__}")
            taken = ", ".join(name for name in own if name in said)
            text = f"observe: {taken} is a round's own; these are: {', '.join(own)}"
            require(not taken, text)
            row |= said
        history.rows.append(row)
        if not is_finite(after):
            history.diverged_at = t + 1

    @property
    def _remembers(self) -> bool:
        """Whether clients keep something from round to round."""
        return bool(self.method.rule.begin) or self.method.training.remembers

    def _given(
        self, t: int, ids: list[int], cohort: list[Client]
    ) -> tuple[ClientInput, Tree]:
        """What the participants begin with, and what they answered before training."""
        w, method = self.world, self.method
        start = self._rows(ids, [server.begin for server in self.servers])
        broadcast = self._rows(ids, [server.broadcast for server in self.servers])
        broadcast |= self._common(t, ids, cohort)
        answers: Tree = {}
        if self.reports:
            shared, answers = self.reports.open(ids, cohort, start, self.group_of)
            broadcast |= shared
        given = ClientInput(start, {}, broadcast)
        if not self._remembers:
            return given, answers

        def begin(places: list[int]) -> Tree:
            some = given.of(places)
            return begin_states(w.model, method.training, method.rule, some)

        state = self.kept.recall(ids, begin)
        here = {n: v.to(w.x.device) for n, v in state.items()}
        return ClientInput(start, here, broadcast), answers

    def _rows(self, ids: list[int], trees: list[Tree]) -> Tree:
        """Each client's group's tree, with a client axis."""
        if len(trees) == 1:
            return repeat(trees[0], len(ids))
        return take(stack(trees), [self.group_of[k] for k in ids])

    def _common(self, t: int, ids: list[int], cohort: list[Client]) -> Tree:
        """What every client can be told, of that what its rule needs."""
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

    def _own_models(
        self, ids: list[int], cohort: list[Client], given: ClientInput, rule: Rule
    ) -> Requests:
        """Train the participants' own models, beside the group's."""

        def begin(places: list[int]) -> Tree:
            if self.method.personal.own_begin == "group":
                return take(given.start, places)
            return repeat(self.first, len(places))

        kept = self.own_models.recall(ids, begin)
        start = {n: v.to(self.world.x.device) for n, v in kept.items()}
        own = ClientInput(start, {}, nest("round", given.start))
        request = TrainRequest(cohort, own, self.method.training, rule, counts=False)
        trained = yield request
        self.own_models.keep(ids, trained.states)

    def _count_bytes(self, ids: list[int], given: ClientInput, uploads: Tree) -> None:
        """Models both ways, and what goes with them; alone, nothing is sent."""
        together = np.bincount(self.group_of).tolist()
        talking = sum(together[self.group_of[k]] > 1 for k in ids)
        down = {n: v for n, v in given.broadcast.items() if n not in COMMON}
        extra = (count(down) + count(uploads)) / len(ids)
        self.bytes += 4 * talking * (2 * count(self.servers[0].model) + round(extra))

    def _regroup(self, t: int, ids: list[int], models: Tree) -> None:
        regroup, w = self.method.groups.regroup, self.world
        assert regroup is not None
        sizes, key = w.counts.sum(1), (self.run.seed, t)
        now = Regrouping(self.group_of, ids, self.servers, models, sizes, w.view, key)
        group_of, parents = regroup(now)
        name, there = self.method.groups.name, len(self.servers)
        parents = groups_of(parents, name, len(parents), there)
        self.group_of = groups_of(group_of, name, len(w), len(parents))
        self.servers = [self.servers[g] for g in parents]

    def _aggregate(
        self, t: int, ids: list[int], trained: Trained, uploads: Tree
    ) -> list[Tensor]:
        """Every group's next model; a group without a participant keeps its own."""
        method, w, weights = self.method, self.world, []
        everyone, losses = torch.tensor(ids), trained.loss.cpu()
        for g, before in enumerate(self.servers):
            there = [row for row, k in enumerate(ids) if self.group_of[k] == g]
            if not there:
                weights.append(torch.zeros(0))
                continue
            rows = as_slice(there)
            who, loss, steps = everyone[rows], losses[rows], trained.steps[rows]
            members = Members(w.counts[who], who, loss, steps)
            weights.append(weights_of(method.weigh(members), method.weigh.name, loss))
            now = Gathered(
                before=before,
                models=take(trained.states, rows),
                weights=weights[-1],
                members=members,
                uploads=take(uploads, rows),
                clients=self.group_of.count(g),
                view=w.view,
                key=(self.run.seed, t, g),
            )
            after = method.server.step(now)
            self.servers[g] = server_of(after, method.server.name, before)
        return weights

    def _row(self, t: int, ids: list[int], trained: Trained) -> dict:
        row = {
            "round": t + 1,
            "train_loss": float(trained.loss[trained.steps > 0].mean()),
            "participants": len(ids),
            "steps": int(trained.steps.sum()),
            "bytes": self.bytes,
        }
        alone = len(self.servers) == 1
        for g, now in enumerate(self.servers):
            row |= {n if alone else f"{n}.{g}": v for n, v in now.metrics.items()}
        return row

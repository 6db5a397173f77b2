"""The round loop: a method played in a world.

`simulate` plays a `Run` round by round, and asks for training where it needs some;
`runs` answers, for one run or for many at once.
"""

from collections.abc import Generator

import numpy as np
import torch
from torch import Tensor

from fedlab_core.client.local import ClientInput, Local
from fedlab_core.engine import Client, Trained, begin_memories
from fedlab_core.engine.plan import make_plan
from fedlab_core.keys import derive_seed
from fedlab_core.models import initial_state
from fedlab_core.rounds.client_state import Memories
from fedlab_core.rounds.evaluation import evaluate_round
from fedlab_core.rounds.history import (
    History,
    Round,
    Run,
    TrainRequest,
    draw_participants,
)
from fedlab_core.rounds.method import COMMON, Gathered, Members, Regrouping
from fedlab_core.rounds.reports import Reports, losses_of
from fedlab_core.tree import (
    Tree,
    as_slice,
    count,
    is_finite,
    nest,
    repeat,
    stack,
    take,
)

Requests = Generator[TrainRequest, Trained, None]


def simulate(play: Run) -> Generator[TrainRequest, Trained, History]:
    """The round loop: yields what it wants trained, and is sent the trained cohort."""
    game = _Simulation(play)
    for t in range(play.rounds):
        yield from game.round(t)
        if game.history.diverged:
            break
    return game.history


class _Simulation:
    """One run under way: the groups' models, and what everyone remembers."""

    def __init__(self, play: Run):
        self.play, self.world, self.method = play, play.world, play.method
        w, groups = play.world, play.method.groups
        self.group_of = list(groups.begin(w, play.seed))
        begun = max(groups.models or 0, max(self.group_of) + 1)
        firsts = [self._first(g if groups.models else 0) for g in range(begun)]
        self.first = firsts[0]
        sizes = np.bincount(self.group_of, minlength=begun).tolist()
        begin = play.method.server.begin
        self.servers = [begin(m, w, n) for m, n in zip(firsts, sizes, strict=True)]
        waits = "cpu" if play.keep == "host" else w.x.device
        self.memories, self.own = Memories(waits), Memories(waits)
        exchange = play.method.local.exchange
        self.board = Reports(w, exchange) if exchange else None
        self.history = History(play.method.name, play.seed)
        self.sent = 4 * play.method.weigh.scalars * len(w)

    def _first(self, g: int) -> Tree:
        """The model that group g begins from."""
        w, play = self.world, self.play
        if play.start is not None and g == 0:
            first = play.start
        else:
            seed = (play.seed, 0xF1257) + ((g,) if g else ())
            first = initial_state(w.make, derive_seed(*seed))
        return {n: v.to(w.x.device) for n, v in first.items()}

    def round(self, t: int) -> Requests:
        """Play one round."""
        play, w, method, local = self.play, self.world, self.method, self.method.local
        ids = draw_participants(len(w), play.participants, play.seed, t)
        cohort = [Client(w.client(k), (play.seed, t, k)) for k in ids]
        if method.groups.pick:
            models = [n.model for n in self.servers]
            self.group_of = method.groups.pick(
                self.group_of, ids, lambda: losses_of(w, models, ids)
            )
        given, answers = self._given(t, ids, cohort)
        trained = yield TrainRequest(cohort, given, local)
        memory = trained.memory
        if local.remembers and not local.forget:
            self.memories.keep(ids, memory)
        if method.personal.own_model:
            yield from self._own_models(ids, cohort, given, method.personal.own_model)
        uploads = answers | {
            n: v for n, v in memory.items() if n.split(".")[0] in local.uploads
        }
        if self.board:
            uploads |= self.board.close(ids, cohort, trained.states)
        self._count_bytes(ids, given, uploads)
        if method.groups.regroup:
            self._regroup(t, ids, trained.states)
        before = stack([n.model for n in self.servers])
        weights = self._aggregate(t, ids, trained, uploads)
        after = self.history.states = stack([n.model for n in self.servers])
        self.history.group_of = list(self.group_of)
        row = self._row(t, ids, trained)
        last = t + 1 == play.rounds
        scores = None
        if last or (t + 1) % play.judge_every == 0:
            kept = self.memories if method.personal.kept else self.own
            judged = yield from evaluate_round(play, t, after, self.group_of, kept)
            row |= judged.row
            scores = judged.scores
            if judged.clients is not None:
                self.history.clients = judged.clients.numpy()
        if play.observe:
            row |= play.observe(
                Round(
                    w,
                    t + 1,
                    ids,
                    before,
                    trained,
                    weights,
                    after,
                    list(self.group_of),
                    scores,
                    memory,
                    uploads,
                    list(self.servers),
                )
            )
        self.history.rows.append(row)
        if not is_finite(after):
            self.history.diverged_at = t + 1

    def _given(
        self, t: int, ids: list[int], cohort: list[Client]
    ) -> tuple[ClientInput, Tree]:
        """What the participants begin with, and what they answered before training."""
        w, local = self.world, self.method.local
        start = self._rows(ids, [n.begin for n in self.servers])
        sent = self._rows(ids, [n.broadcast for n in self.servers])
        sent |= self._common(t, ids, cohort)
        answers: Tree = {}
        if self.board:
            shared, answers = self.board.open(ids, cohort, start, self.group_of)
            sent |= shared
        given = ClientInput(start, {}, sent)
        if not local.remembers or local.forget:
            return given, answers

        def first(places: list[int]) -> Tree:
            return begin_memories(w.model, local, given.of(places))

        memory = self.memories.recall(ids, first)
        here = {n: v.to(w.x.device) for n, v in memory.items()}
        return ClientInput(start, here, sent), answers

    def _rows(self, ids: list[int], trees: list[Tree]) -> Tree:
        """Each client's group's tree, with a client axis."""
        if len(trees) == 1:
            return repeat(trees[0], len(ids))
        return take(stack(trees), [self.group_of[k] for k in ids])

    def _common(self, t: int, ids: list[int], cohort: list[Client]) -> Tree:
        """What every client can be told, of that what its rule listens for."""
        w, sizes, local = self.world, self.world.counts.sum(1), self.method.local
        told = {
            "share": (sizes / sizes.sum())[ids],
            "clients": torch.full((len(ids),), float(len(w))),
            "round": torch.full((len(ids),), float(t)),
        }
        if "lr_sum" in local.listens:
            told["lr_sum"] = make_plan(cohort, local).lr_sum
        like = next(w.model.parameters())
        return {n: v.to(like) for n, v in told.items() if n in local.listens}

    def _own_models(
        self, ids: list[int], cohort: list[Client], given: ClientInput, local: Local
    ) -> Requests:
        """Train the participants' own models beside the group's."""

        def first(places: list[int]) -> Tree:
            return repeat(self.first, len(places))

        kept = self.own.recall(ids, first)
        start = {n: v.to(self.world.x.device) for n, v in kept.items()}
        trained = yield TrainRequest(
            cohort,
            ClientInput(start, {}, nest("round", given.start)),
            local,
            counts=False,
        )
        self.own.keep(ids, trained.states)

    def _count_bytes(self, ids: list[int], given: ClientInput, uploads: Tree) -> None:
        """Models both ways, and what goes with them; alone, nothing is sent."""
        together = np.bincount(self.group_of).tolist()
        talking = sum(together[self.group_of[k]] > 1 for k in ids)
        down = {n: v for n, v in given.broadcast.items() if n not in COMMON}
        extra = (count(down) + count(uploads)) / len(ids)
        self.sent += 4 * talking * (2 * count(self.servers[0].model) + round(extra))

    def _regroup(self, t: int, ids: list[int], models: Tree) -> None:
        regroup = self.method.groups.regroup
        assert regroup is not None
        now = Regrouping(
            self.group_of, ids, self.servers, models, self.world, (self.play.seed, t)
        )
        self.group_of, parents = regroup(now)
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
            weights.append(method.weigh(members))
            now = Gathered(
                before,
                take(trained.states, rows),
                weights[-1],
                members,
                take(uploads, rows),
                self.group_of.count(g),
                w,
                (self.play.seed, t, g),
            )
            self.servers[g] = method.server(now)
        return weights

    def _row(self, t: int, ids: list[int], trained: Trained) -> dict:
        row = {
            "round": t + 1,
            "train_loss": float(trained.loss.mean()),
            "participants": len(ids),
            "steps": int(trained.steps.sum()),
            "bytes": self.sent,
        }
        alone = len(self.servers) == 1
        for g, now in enumerate(self.servers):
            row |= {n if alone else f"{n}.{g}": v for n, v in now.metrics.items()}
        return row

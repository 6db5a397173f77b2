"""Clients' reports besides their models, and the share that others get of them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedlab_core.client.exchange import Exchange
from fedlab_core.client.rule import losses
from fedlab_core.engine import Client, client_means
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, repeat, stack, take

_NOISE = 5  # what a client's key is for, beside the engine's


def reported(
    world: World, exchange: Exchange, cohort: list[Client], states: Tree
) -> Tree:
    """Clients' reports on these models: means, with the noise they add."""
    told = client_means(
        world.model, states, world.x, world.y, cohort, exchange.of, exchange.batch
    )
    if not exchange.noise:
        return told
    keys = fold(keys_of(torch.tensor([c.key for c in cohort])), _NOISE)
    return {
        n: v + exchange.noise * normal(keys, v[0].numel()).view(v.shape).to(v)
        for n, v in told.items()
    }


def losses_of(world: World, models: list[Tree], ids: list[int]) -> Tensor:
    """The loss of every model on each client's samples: a row a client."""
    cohort = [Client(world.client(k), (0, 0, k)) for k in ids]
    found = []
    for model in models:
        states = repeat(model, len(ids))
        told = client_means(world.model, states, world.x, world.y, cohort, losses)
        found.append(told["loss"])
    return torch.stack(found, dim=1)


@dataclass
class Reports:
    """Clients' reports of a round, and what is known of rounds before."""

    world: World
    exchange: Exchange
    known: dict[int, Tree] = field(default_factory=dict)  # after training, by client
    ask: Callable[..., Tree] = reported

    def open(
        self, ids: list[int], cohort: list[Client], start: Tree, group_of: list[int]
    ) -> tuple[Tree, Tree]:
        """The shares sent to the participants, and the answers they gave before."""
        exchange = self.exchange
        if exchange.when == "before":
            answers = self.ask(self.world, exchange, cohort, start)
            known = {k: take(answers, row) for row, k in enumerate(ids)}
        else:
            answers, known = {}, self.known
        if exchange.share is None:
            return {}, answers
        rows: dict[int, Tree] = {}
        for g in sorted({group_of[k] for k in ids}):
            who = sorted(k for k in known if group_of[k] == g)
            mine = [k for k in ids if group_of[k] == g]
            if who:
                told = stack([known[k] for k in who])
            else:  # as many numbers as one client would tell
                told = take(reported(self.world, exchange, cohort[:1], start), slice(0))
            shared = exchange.share(told, who, mine)
            rows |= {k: take(shared, i) for i, k in enumerate(mine)}
        return stack([rows[k] for k in ids]), answers

    def close(self, ids: list[int], cohort: list[Client], states: Tree) -> Tree:
        """The participants' reports on their trained models, kept for others."""
        if self.exchange.when != "after":
            return {}
        told = self.ask(self.world, self.exchange, cohort, states)
        rows = {k: take(told, row) for row, k in enumerate(ids)}
        self.known = self.known | rows  # another dict: the one of before stays
        return told

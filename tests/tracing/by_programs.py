"""A federation played by traced programs alone, as far as a method has them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fedlab_browser.tracing import MethodPrograms, Reader
from fedlab_browser.tracing.draws import drawn
from fedlab_browser.tracing.trace_method import CHUNK
from fedlab_core import Method, Training
from fedlab_core.engine import Client, batch_order
from fedlab_core.keys import fold, keys_of
from fedlab_core.rounds import ServerState
from fedlab_core.tree import Tree, concat

ABOUT = ("counts", "ids", "loss", "steps")


@dataclass
class Ran:
    """How often a part was played by its program."""

    parts: Counter = field(default_factory=Counter)


@dataclass
class Weighed:
    """A weighing rule that asks its programs."""

    rule: Any
    ask: Callable

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)

    def __call__(self, members) -> Tensor:
        about = {n: getattr(members, n) for n in ABOUT}
        return self.ask("weigh", len(members.ids), **about).outputs["weights"].clone()


@dataclass
class Asked:
    """A method's hooks, answered by its programs instead."""

    method: Method
    programs: MethodPrograms
    ran: Ran

    def ask(self, part: str, k: int | None, **given) -> Reader:
        named, members = self.programs.programs, self.programs.members
        reader = Reader(named[part] if k is None else members[part][k])
        reader.put(**given)
        reader.run()
        self.ran.parts[part] += 1
        return reader

    def begin(self, model, view) -> ServerState:
        said = self.ask("begin", None, model=model)
        kept = self.method.server.begin(model, view)  # what a program does not say
        return replace(kept, **_trees(said, kept))

    def step(self, g) -> ServerState:
        about = {n: getattr(g.members, n) for n in ABOUT}
        trees = {n: getattr(g.before, n) for n in ("model", "memory", "broadcast")}
        more = {"models": g.models, "weights": g.weights, "uploads": g.uploads}
        more |= {"start": g.before.begin, "clients": torch.tensor(float(g.clients))}
        given = {**about, **trees, **more}
        if self.programs.loop:
            given |= self.searched(g, given)
        said = self.ask("server", len(g.members.ids), **given)
        kept = self.method.server.step(g)
        return replace(kept, **_trees(said, kept))

    def searched(self, g, given) -> dict[str, Tree]:
        """The known and the found, once the server has learned on its samples."""
        loop, k = self.programs.loop, len(g.members.ids)
        begun = self.ask("search", k, **given)
        same = {n: begun.tree(n) for n in ("known", "found", "buffers")}
        learn = Reader(self.programs.members["learn"][k])
        x, y = g.view.proxy_set("the server")
        learn.put(x=x, y=y, **same)
        seed, t, group = g.key
        who = Client(torch.arange(loop["samples"]), (seed, t, loop["who"] + group))
        plan = Training(epochs=loop["epochs"], batch_size=loop["batch"])
        order = batch_order(who, plan)
        marks = fold(keys_of(torch.tensor(who.key)), torch.arange(len(order)))
        for step, at in enumerate(order):
            inside = torch.arange(loop["batch"]) < len(at)
            padded = torch.zeros(loop["batch"]).index_put((inside,), at.float())
            paces = {n: torch.tensor(v[step]) for n, v in loop["paces"].items()}
            learn.put(at=padded, weight=inside / len(at), paces=paces)
            for name, how in learn.program.draws.items():
                learn.put(**{name: drawn(marks[step], how)})
            learn.run()
            self.ran.parts["learn"] += 1
        changed = ("found", "buffers") if order else ()
        return same | {n: learn.tree(n) for n in changed}

    def report(self, net, params, x, y) -> Tree:
        reader = Reader(self.programs.programs["report"])
        reader.put(params=params)
        parts: list[Tree] = []
        for some in torch.arange(len(x)).split(CHUNK):
            at = torch.arange(CHUNK) % len(some)  # its first rows are those asked for
            for name, data in (("x", x), ("y", y)):
                if name in reader.inputs:
                    reader.inputs[name][: len(some)] = data[some]
            reader.put(at=at)
            reader.run()
            told = reader.tree("told")
            parts.append({n: v[: len(some)] for n, v in told.items()})
        self.ran.parts["report"] += 1
        return concat(parts)

    def share(self, known, who, ids) -> Tree:
        rows = []
        for k in ids:
            first = [i for i, j in enumerate(who) if j == k]
            order = first + [i for i, j in enumerate(who) if j != k]
            part = "share" if first else "apart"
            told = {n: v[order] for n, v in known.items()}
            rows.append(self.ask(part, len(who), told=told).tree("broadcast"))
        return concat(rows)


def _trees(said: Reader, kept: ServerState) -> dict[str, Any]:
    found = {n: said.tree(n) for n in ("model", "memory", "broadcast")}
    return found | {"start": None if kept.start is None else said.tree("start")}


def by_programs(method: Method, programs: MethodPrograms, ran: Ran) -> Method:
    """The method with everything asked of its programs that they can answer."""
    asked, rule, server = Asked(method, programs, ran), method.rule, method.server
    if "server" not in programs.refused:
        server = replace(server, begin=asked.begin, step=asked.step)
    if (exchange := rule.exchange) is not None:
        sharing = {"share": asked.share} if exchange.share else {}
        told = replace(exchange, of=asked.report, **sharing)
        rule = replace(rule, exchange=told)
    weigh = Weighed(method.weigh, asked.ask)
    return replace(method, rule=rule, weigh=weigh, server=server)

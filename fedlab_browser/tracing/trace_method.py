"""A method's choices as programs: what a round needs besides the clients' training.

Programs have fixed shapes: how members are weighed, what the server makes of them and
what is shared are traced for as many members as are asked for. A group's first state
(`begin`), what a client reports of a stretch of samples (`report`), and a model's
outputs (`judge`) are one program each. A server that learns weights in every round is
three: how its search begins (`search`), a step of it (`learn`), and its end (`server`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from fedlab_browser.tracing.client import ClientPrograms, client_programs
from fedlab_browser.tracing.function import program_of
from fedlab_browser.tracing.learning import Learning, in_steps
from fedlab_browser.tracing.program import Program
from fedlab_core.arguments import bare, checked
from fedlab_core.client import PLAIN, Batch, ClientInput, Training
from fedlab_core.engine import Client
from fedlab_core.engine.step import Task, value_of
from fedlab_core.errors import InputError
from fedlab_core.methods.server_steps import SERVER
from fedlab_core.models.network import Network
from fedlab_core.rounds import Gathered, Members, Method, ServerState, World
from fedlab_core.rounds.method import COMMON, nothing
from fedlab_core.rounds.reports import Reports
from fedlab_core.tree import (
    Tree,
    as_tree,
    copied,
    flatten,
    gradient,
    nest,
    repeat,
    stack,
    tree_map,
    with_grad,
)

Part = Literal[
    "client", "own", "adapt",
    "weigh", "search", "learn", "server", "share", "apart",
    "begin", "report", "judge",
]  # fmt: skip
PARTS: tuple[Part, ...] = get_args(Part)
OF_CLIENTS, OF_MEMBERS = PARTS[:3], PARTS[3:9]
CHUNK = 64  # samples whose means are reported, or outputs asked for, at once


class _Unseen(tuple):
    """A key that nobody may draw from: what came of it would be one run's."""

    def __iter__(self):
        raise InputError("the server cannot be traced: it draws random numbers")

    def __getitem__(self, place):
        raise InputError("the server cannot be traced: it asks which round it is")


@dataclass(frozen=True, eq=False)
class MethodPrograms:
    """Programs of a method, by part; `refused` says why a part has none.

    "client", "own" (the model of a client's own) and "adapt" are programs of a client;
    "weigh", "server", "search" and "learn" are one for each number of members; so are
    "share", what is made for the first of so many who have reported, and "apart", for
    somebody else. Between "search" and "server", "learn" is run as `loop` says.
    """

    name: str
    clients: dict[str, ClientPrograms]
    programs: dict[str, Program]
    members: dict[str, dict[int, Program]]
    refused: dict[str, str]
    loop: dict[str, Any] = field(default_factory=dict)

    @property
    def every(self) -> dict[str, Program]:
        """All programs, as "client/step", "weigh/3" or "judge"."""
        found = {f"{part}/{n}": program for part, of in self.clients.items()
                 for n, program in of.parts.items()}  # fmt: skip
        found |= self.programs
        return found | {f"{part}/{k}": program for part, of in self.members.items()
                        for k, program in of.items()}  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        return {
            "method": self.name,
            "programs": {n: program.plain() for n, program in self.every.items()},
            "numbers": {part: of.numbers for part, of in self.clients.items()},
            "refused": self.refused,
            "loop": self.loop,
        }


@checked
def trace(
    method: Method,
    world: World,
    members: Iterable[int] | None = None,
    parts: Sequence[Part] = PARTS,
) -> MethodPrograms:
    """All of a method that can be a program, or some parts of it.

    What depends on how many members a group has is traced for each of `members`, from
    one to all clients if they are not given.
    """
    counts = list(range(1, len(world) + 1)) if members is None else list(members)
    tracer = _Tracer(method, world)
    found = MethodPrograms(method.name, {}, {}, {}, {})
    for part in [p for p in tracer.there() if p in parts]:
        make: Callable = getattr(tracer, part)
        try:
            if part in OF_CLIENTS:
                found.clients[part] = make()
            elif part in OF_MEMBERS:
                nobody = [0] * (part == "apart")  # has reported, in the first round
                found.members[part] = {k: make(k) for k in [*nobody, *counts]}
            else:
                found.programs[part] = make()
        except InputError as error:
            found.refused[part] = str(error)
    if "learn" in found.members:
        found.loop.update(tracer.loop())
    return found


class _Tracer:
    """A method in a world, and an example of everything that a round hands around."""

    def __init__(self, method: Method, world: World):
        self.method, self.world = method, world
        self.network = Network(world.model, training=True)
        self.model = {n: v.clone() for n, v in world.model.state_dict().items()}
        self.begun = method.server.begin(self.model, world.view)
        self.learns: Learning | None = in_steps(method.server.step)
        self.reports = None
        if method.rule.exchange:
            self.reports = Reports(world, method.rule.exchange)

    def there(self) -> list[str]:
        """The parts that the method has."""
        personal, exchange = self.method.personal, self.method.rule.exchange
        has = {
            "search": self.learns is not None,
            "learn": self.learns is not None,
            "report": exchange is not None,
            "share": (shares := exchange is not None and exchange.share is not None),
            "apart": shares,
            "own": personal.own_model is not None,
            "adapt": personal is not nothing and personal.adapt is not None,
        }
        return [part for part in PARTS if has.get(part, True)]

    def task(self, training: Training, rule=PLAIN) -> Task:
        return Task(self.network, self.world.x, self.world.y, training, rule)

    def client(self) -> ClientPrograms:
        return self.trained

    @cached_property
    def trained(self) -> ClientPrograms:
        method = self.method
        task = self.task(method.training, method.rule)
        given = ClientInput(repeat(self.begun.begin, 1), {}, self.broadcast())
        return client_programs(task, given, method.training.batch_size)

    def own(self) -> ClientPrograms:
        method, rule = self.method, self.method.personal.own_model
        assert rule is not None
        task, start = self.task(method.training, rule), repeat(self.model, 1)
        given = ClientInput(start, {}, nest("round", start))
        return client_programs(task, given, method.training.batch_size)

    def adapt(self) -> ClientPrograms:
        training = self.method.personal.adapt
        assert training is not None
        given = ClientInput(repeat(self.model, 1))
        return client_programs(self.task(training), given, training.batch_size)

    def broadcast(self) -> Tree:
        """Tensors that one client is sent besides the model."""
        needs = self.method.rule.needs
        sent = repeat(self.begun.broadcast, 1)
        sent |= {n: torch.ones(1) for n in COMMON if n in needs}
        if self.reports:
            cohort = [Client(self.world.client(0), (0, 0, 0))]
            shared, _ = self.reports.open([0], cohort, repeat(self.model, 1), [0])
            sent |= shared
        return sent

    def report(self) -> Program:
        exchange, world = self.method.rule.exchange, self.world
        assert exchange is not None
        net = Network(world.model)

        def report(params: Tree, x: Tensor, y: Tensor, at: Tensor) -> dict[str, Tree]:
            return {"told": exchange.of(net, params, x[at], y[at])}

        at = torch.arange(CHUNK) % len(world.x)
        given = {"params": self.model, "x": world.x, "y": world.y, "at": at}
        return program_of(report, "what clients report", **given)

    def share(self, k: int) -> Program:
        return self._shared(k, asks=0)

    def apart(self, k: int) -> Program:
        return self._shared(k, asks=k)

    def _shared(self, k: int, asks: int) -> Program:
        exchange = self.method.rule.exchange
        assert exchange is not None and exchange.share is not None
        share, who = exchange.share, list(range(k))

        def shared(told: Tree) -> dict[str, Tree]:
            return {"broadcast": share(told, who, [asks])}

        return program_of(shared, f"what {k} members share", told=self.told(k))

    def weigh(self, k: int) -> Program:
        weigh, classes = self.method.weigh, len(self.world.classes)
        counts = torch.arange(k * classes).reshape(k, classes) % 7 + 1

        def weights(
            counts: Tensor, ids: Tensor, loss: Tensor, steps: Tensor
        ) -> dict[str, Tensor]:
            return {"weights": weigh(bare(Members, counts, ids, loss, steps))}

        given = dict.fromkeys(("loss", "steps"), torch.ones(k))
        what = f"weigh={weigh.name}"
        return program_of(weights, what, counts=counts, ids=torch.arange(k), **given)

    def begin(self) -> Program:
        server, view = self.method.server, self.world.view

        def begin(model: Tree) -> dict[str, Tree]:
            return _said(server.begin(model, view))

        return program_of(
            begin, f"the beginning of server={server.name}", model=self.model
        )

    def search(self, k: int) -> Program:
        what = f"the search of server={self.method.server.name}"
        return program_of(self.searched, what, **self.ended(k))

    def searched(self, **given: Any) -> dict[str, Tree]:
        """Trees of a search as it begins."""
        assert self.learns is not None
        known, found = self.learns.begin(self.gathered(**given))
        buffers = self.network.split(given["start"])[1]
        return {"known": known, "found": found, "buffers": buffers}

    def learn(self, k: int) -> Program:
        learns, (x, y) = self.learns, self.world.view.proxy_set("the server")
        assert learns is not None
        task, (like, _) = self.task(Training()), self.network.split(self.model)

        def learn(x, y, at, weight, paces, known, found, buffers) -> dict[str, Tree]:
            after = buffers

            def slope(w: Tensor, batch: Batch) -> Tensor:
                nonlocal after
                params = with_grad(copied(as_tree(w, like)))
                value, after, _ = value_of(task, params, after, batch, ClientInput({}))
                return flatten(gradient(value, params))

            key = torch.zeros((), dtype=torch.int64)
            batch = bare(Batch, x[at], y[at], weight, key)
            found = learns.step(known, found, batch, paces, slope)
            return {"found": found, "buffers": after}

        loop, what = self.loop(), f"a step of server={self.method.server.name}"
        n, paces = loop["batch"], dict.fromkeys(loop["paces"], torch.tensor(0.5))
        places = {"at": torch.arange(n), "weight": torch.full((n,), 1 / n)}
        given = {"x": x, "y": y, **places, "paces": paces}
        return program_of(learn, what, **given, **self.searched(**self.ended(k)))

    def loop(self) -> dict[str, Any]:
        """Numbers of the loop around "learn": samples, batches, epochs and paces."""
        learns, (x, _) = self.learns, self.world.view.proxy_set("the server")
        assert learns is not None
        return {
            "samples": len(x),
            "batch": min(learns.batch, len(x)),
            "epochs": learns.epochs,
            "who": SERVER,  # and the group's number: whose key the batches' order has
            "paces": learns.paces(-(-len(x) // learns.batch)),
        }

    def server(self, k: int) -> Program:
        server, learns = self.method.server, self.learns

        def step(**given: Any) -> dict[str, Tree]:
            return _said(server.step(self.gathered(**given)))

        def end(
            known: Tree, found: Tree, buffers: Tree, **given: Any
        ) -> dict[str, Tree]:
            assert learns is not None
            now = self.gathered(**given)
            state, learned = learns.finish(now, known, found, buffers)
            return _said(state) | {"learned": learned}

        what = f"server={server.name}"
        if learns is None:
            return program_of(step, what, **self.ended(k))
        return program_of(end, what, **self.searched(**self.ended(k)), **self.ended(k))

    def gathered(
        self, model, memory, broadcast, start, models, weights, uploads, clients,
        **about,
    ) -> Gathered:  # fmt: skip
        """A round as a server has it in hand, put together from an example's parts."""
        members = bare(Members, *about.values())
        before = bare(ServerState, model, memory, broadcast, start, {})
        key, view = _Unseen((0, 0, 0)), self.world.view
        now = (before, models, weights, members, uploads, clients, view, key)
        return bare(Gathered, *now)

    def ended(self, k: int) -> dict[str, Any]:
        """The parts of what a server has in hand of k members: an example."""
        begun = self.begun
        models = stack([tree_map(lambda v, by=row: v.roll(by), self.model)
                        for row in range(k)])  # fmt: skip
        counts = torch.ones(k, len(self.world.classes), dtype=torch.int64)
        about = {"counts": counts, "ids": torch.arange(k)}
        about |= dict.fromkeys(("loss", "steps"), torch.ones(k))
        return dict(
            model=self.model, memory=begun.memory, broadcast=begun.broadcast,
            start=begun.begin, models=models,
            weights=torch.full((k,), 1 / k), uploads=self.uploads(k),
            clients=torch.tensor(float(k)), **about,
        )  # fmt: skip

    def uploads(self, k: int) -> Tree:
        """Tensors of the shapes that members send besides their models."""
        if not self.method.server.needs:
            return {}
        sent: Tree = {}
        finish = self.trained.finish
        if finish:
            shapes = {n: finish.shapes[n] for n in finish.outputs}
            named = ((n.partition("upload."), v) for n, v in shapes.items())
            sent = {n[2]: torch.ones(k, *v[1:]) for n, v in named if n[1]}
        return self.told(k) | sent

    def told(self, k: int) -> Tree:
        """Reports of members on their samples, if the rule has some."""
        exchange = self.method.rule.exchange
        if exchange is None:
            return {}
        net, w, two = Network(self.world.model), self.world, slice(0, 2)
        values = exchange.of(net, self.model, w.x[two], w.y[two])
        return {n: v[:1].expand(k, *v.shape[1:]) for n, v in values.items()}

    def judge(self) -> Program:
        net, world = Network(self.world.model), self.world

        def outputs(params: Tree, x: Tensor, at: Tensor) -> dict[str, Tensor]:
            return {"logits": net(params, x[at])}

        at = torch.arange(CHUNK) % len(world.x_test)
        given = {"params": self.model, "x": world.x_test, "at": at}
        return program_of(outputs, "the network", **given)


def _said(state: ServerState) -> dict[str, Tree]:
    """Trees of a server's state; "start" only if it is not the model."""
    start = {} if state.start is None else state.start
    return {
        "model": state.model,
        "memory": dict(state.memory),
        "broadcast": dict(state.broadcast),
        "start": start,
    }

"""The two objects that a Flower app names: its client and its server.

    client = client_app(method, make, data)
    server = server_app(method, make, own, clients=3, rounds=20)

`method` and `make` are the same on both sides, and held to it. `data(k)` gives what
client k holds, read where it runs; `own()` what the server has: classes and a test
set, and no sample of a client's. A number of `Plan` that the run's configuration names
too (`flwr run . --run-config "rounds=5"`) is taken from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

import torch
from torch import nn

from fedlab_core.arguments import Count, Device, Positive, Seed, checked
from fedlab_core.data import Dataset
from fedlab_core.engine.cohort import Engine
from fedlab_core.engine.determinism import exact
from fedlab_core.errors import InputError, require
from fedlab_core.partition import Partition
from fedlab_core.rounds import Method
from fedlab_core.rounds.checkpoint import Checkpoint
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import nothing
from fedlab_core.rounds.records import Presence, Run, RunState
from fedlab_core.rounds.worlds import Proxy
from fedlab_core.tree import Tree
from fedlab_flower import scalars
from fedlab_flower.federation import Federation, Needed, Told, deployable, server_world
from fedlab_flower.flower import (
    QUERIES,
    ClientApp,
    Context,
    Grid,
    Message,
    ServerApp,
    answered,
    asked,
    prompt,
)
from fedlab_flower.half import Half, agreement, own_world
from fedlab_flower.messages import HELLO, Ask, Reply, told
from fedlab_flower.strategy import Line, Rounds

# A method, or what makes one of the run's configuration.
Made = Method | Callable[[Mapping[str, Any]], Method]
Make = Callable[[], nn.Module]


@checked
@dataclass(frozen=True)
class Plan:
    """How a federation is run: how long, with whom, and what is done without whom.

    `enough` answers make a round; by default all that were asked for. `limit` is how
    many seconds a question waits, `wait` how many the run waits for its clients to
    come. `judge` says by whose test models are judged: by default the server's, and
    the clients' own where a method makes them models of their own. A `checkpoint` is
    written after every round, and gone on from.
    """

    clients: Count
    rounds: Count = 20
    seed: Seed = 0
    participants: Count | Presence | None = None
    enough: Count | None = None
    limit: Positive = 600.0
    wait: Positive = 600.0
    judge: Literal["server", "clients"] | None = None
    judge_every: Count = 1
    checkpoint: str = ""

    def of(self, config: Mapping[str, Any]) -> "Plan":
        """The same with what a run's configuration says instead."""
        names = {f.name for f in fields(self)}
        return replace(self, **{n: v for n, v in config.items() if n in names})


def _made(method: Made, config: Mapping[str, Any]) -> Method:
    return deployable(method if isinstance(method, Method) else method(config))


@checked
def client_app(
    method: Made,
    make: Make,
    data: Callable[[int], Dataset],
    *,
    device: Device = "cpu",
    engine: Engine = "auto",
    mods: Sequence[Any] = (),
) -> ClientApp:
    """The client of a federation: `data(k)` are the samples of client k, who is here.

    A node's configuration says who it is, and where it may keep what it remembers:
    `--node-config 'partition-id=0 memory="/a/folder"'`. The test set of `data(k)` is
    its own; without one it judges no model. `mods` are Flower's, around its training.
    """
    if isinstance(method, Method):
        deployable(method)

    @cache
    def half(k: int, memory: str, config: tuple) -> Half:
        chosen, mine = _made(method, dict(config)), data(k)
        where = f"data({k})"
        require(isinstance(mine, Dataset), f"{where} must be a Dataset")
        w = own_world(mine, k, make, str(device))
        same = agreement(chosen, mine, w.model)
        tested = len(mine.y_test) > 0
        return Half(chosen, w, k, memory, tested, same, engine)

    def respond(message: Message, context: Context) -> Message:
        try:
            own, ask = context.node_config, asked(message)
            k = own.get("partition-id")
            named = isinstance(k, int) and k >= 0
            require(named, "name this node: --node-config partition-id=0")
            assert isinstance(k, int)
            mistaken = ask.client not in (k, -1)
            require(not mistaken, f"this is client {k}, not client {ask.client}")
            config = tuple(sorted(context.run_config.items()))
            reply = half(k, str(own.get("memory", "")), config).answer(ask)
        except InputError as error:
            return answered(message, str(error))
        return answered(message, reply)

    app = ClientApp()
    app.train(mods=list(mods))(respond)
    app.evaluate()(respond)
    for kind in QUERIES:
        app.query(kind)(respond)
    return app


@checked
def server_app(
    method: Made,
    make: Make,
    own: Callable[[], Dataset],
    *,
    proxy: Proxy | None = None,
    start: Tree | None = None,
    done: Callable[[History], object] | None = None,
    device: Device = "cpu",
    **plan: Any,
) -> ServerApp:
    """The server of a federation; what else there is to say is a `Plan`'s.

    `own()` has the classes, what a sample looks like and the server's test set; `proxy`
    takes samples out of that for a server that learns. `done` is given the history.
    """
    if isinstance(method, Method):
        deployable(method)
    planned = Plan(**plan)
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        config = context.run_config
        chosen, now = _made(method, config), planned.of(config)
        with exact():
            data = own()
            line = Line(
                prompt(grid), now.clients, now.limit, _greeting(chosen, data, make)
            )
            run = _run(
                chosen, now, line.gather(now.wait), data, make, device, proxy, start
            )
            history = _played(run, now, line)
        if done:
            done(history)

    return app


def _greeting(method: Method, data: Dataset, make: Make) -> Ask:
    """The first question to a node: who it is, and whether it is of this federation."""
    some = replace(data, x_train=data.x_test[:2], y_train=data.y_test[:2])
    w = own_world(some, 0, make)
    facts: Any = {"client": -1, "round": 0, "run": "", "seed": 0}
    like = {}
    if method.weigh.scalars:
        counts = torch.ones(1, len(data.classes), dtype=torch.int64)
        like = told(weight=scalars.told(method.weigh, counts))
    same = agreement(method, data, w.model)
    return Ask(HELLO, -1, facts | same, like=like)


def _run(
    method: Method,
    plan: Plan,
    said: list[Reply],
    data: Dataset,
    make: Make,
    device: Any,
    proxy: Proxy | None,
    start: Tree | None,
) -> Run:
    """The run that clients of these sizes make."""
    sizes = [int(reply.facts["samples"]) for reply in said]
    w = server_world(data, sizes, make, str(device), proxy)
    weigh = method.weigh
    if weigh.scalars:
        numbers = {k: r.trees["told"]["weight"] for k, r in enumerate(said)}
        weighed = Told(weigh, numbers, weigh.name, weigh.scalars)
        method = replace(method, weigh=weighed)
    if plan.enough is not None and method.groups.fits:
        method.groups.fits(plan.clients, plan.enough)
    if _clients_judge(method, plan):
        none = ", ".join(str(k) for k, r in enumerate(said) if not r.facts["tested"])
        text = (
            f"clients judge models here, but {none} have no test samples of their own"
        )
        require(not none, text)
    return Run(
        w,
        method,
        plan.rounds,
        plan.seed,
        plan.participants,
        start=start,
        judge_every=plan.judge_every,
    )


def _clients_judge(method: Method, plan: Plan) -> bool:
    own = method.personal is not nothing
    require(
        not (own and plan.judge == "server"),
        f"{method.name} gives clients models of their own, which no server has: "
        'judge="clients"',
    )
    return own or plan.judge == "clients"


def _played(run: Run, plan: Plan, line: Line) -> History:
    """The history of a run to its end, from its checkpoint if there is one."""
    state: RunState | None = None
    checkpoint = None
    if plan.checkpoint:
        about = "a federation on Flower"
        checkpoint = Checkpoint(plan.checkpoint, about, every=0.0, strict=True)
        (state,) = checkpoint.load([run])
    needed = Needed(plan.enough, _clients_judge(run.method, plan))
    federation = Federation(run, needed, state)

    def after() -> None:
        if checkpoint:
            checkpoint.keep([run], [federation.state])
            require(not checkpoint.refused, checkpoint.refused)

    rounds = Rounds(federation, line, after)
    left = run.rounds - len(federation.state.rows)
    if left and not federation.state.diverged_at:
        first = rounds.arrays()
        rounds.start(line.grid, first, num_rounds=left, timeout=plan.limit)
    return federation.history


@checked
def parts_of(
    data: Dataset, partition: Partition, tests: Partition | None = None
) -> Callable[[int], Dataset]:
    """A function of k that gives what client k holds, to try it on one machine.

    Its test set is that of `tests`, or everybody's.
    """

    def part(k: int) -> Dataset:
        known = f"there is no client {k} here: they are 0 to {len(partition) - 1}"
        require(k < len(partition), known)
        held = partition.indices[k]
        mine = replace(
            data,
            x_train=data.x_train[held],
            y_train=data.y_train[held],
            owners_train=None,
            targets_train=None,
        )
        if tests is None:
            return mine
        own = tests.indices[k]
        none = {"owners_test": None, "targets_test": None}
        return replace(mine, x_test=data.x_test[own], y_test=data.y_test[own], **none)

    return part

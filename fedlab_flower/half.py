"""The client's half of a method: what one client answers, by the core's own engine.

A client is told the seed, the round and who it is, and draws what it draws in a
simulation: the same samples in the same order.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_core.client.rule import PLAIN, ClientInput, Rule
from fedlab_core.data import Dataset
from fedlab_core.engine import Client, Trained, begin_states, train
from fedlab_core.engine.cohort import Engine
from fedlab_core.engine.determinism import exact
from fedlab_core.errors import require
from fedlab_core.methods.clustering import trained_alone
from fedlab_core.methods.kmeans import OfModels
from fedlab_core.metrics import evaluate_own
from fedlab_core.partition import Partition
from fedlab_core.rounds import Method, World
from fedlab_core.rounds.identity import digest
from fedlab_core.rounds.reports import losses_of, reported
from fedlab_core.rounds.worlds import world
from fedlab_core.tree import Tree, nest, repeat, subtree, take
from fedlab_flower import discriminators, scalars
from fedlab_flower.memory import Memory
from fedlab_flower.messages import HELLO, JUDGE, TRAIN, Ask, Facts, Reply, Trees, told


def own_world(
    data: Dataset, k: int, make: Callable[[], nn.Module], device: str = "cpu"
) -> World:
    """The world of client k alone: all samples of `data` are its own."""
    if not len(data.y_test):  # nothing to be judged by, but a world asks for a test
        data = replace(data, x_test=data.x_train[:1], y_test=data.y_train[:1])
    none = [np.zeros(0, np.int64)] * k
    held = (*none, np.arange(len(data.y_train)))
    return world(data, Partition("own", {"client": k}, held), make, device)


def agreement(method: Method, data: Dataset, model: nn.Module) -> dict[str, str]:
    """Hashes of what a server and its clients must have in common."""
    kind = (data.shape, data.classes, data.mean, data.std)
    names = {n: (v.dtype, tuple(v.shape)) for n, v in model.state_dict().items()}
    return {"method": digest(method), "data": digest(kind), "model": digest(str(names))}


@dataclass(frozen=True, eq=False)
class Half:
    """One client: its method, its world, whether it has a test of its own."""

    method: Method
    world: World
    client: int
    memory: str = ""  # the folder for what it keeps
    tested: bool = True
    same: dict[str, str] | None = None  # what it must have in common with the server
    engine: Engine = "auto"

    def answer(self, ask: Ask) -> Reply:
        """The answer to a question, whatever its kind."""
        known = _ANSWERS.get(ask.kind)
        require(known is not None, f"nobody knows how to answer {ask.kind!r:.40}")
        assert known is not None
        facts = {n: ask.facts[n] for n in ("round", "run")}
        with exact():
            reply = known(self, ask)
        return replace(reply, facts={"client": self.client} | facts | reply.facts)

    def key(self, ask: Ask) -> list[Client]:
        """Its work in a round, as a cohort of one."""
        seed, t = int(ask.facts["seed"]), int(ask.facts["round"])
        mine = self.world.client(self.client)
        return [Client(mine, (seed, t, self.client))]

    def kept(self, ask: Ask) -> Memory:
        """Its memory in the run that a question is of."""
        return Memory(self.memory, str(ask.facts["run"]), self.client)


def _hello(half: Half, ask: Ask) -> Reply:
    weigh, facts = half.method.weigh, Facts(half.same or {})
    counts = half.world.counts[[half.client]]
    facts["samples"], facts["tested"] = int(counts.sum()), int(half.tested)
    if weigh.scalars:
        return Reply(facts, told(weight=scalars.told(weigh, counts)))
    return Reply(facts)


def _losses(half: Half, ask: Ask) -> Reply:
    numbered = sorted((int(n[6:]), n) for n in ask.trees if n.startswith("model-"))
    models = [_here(half, ask.trees[name]) for _, name in numbered]
    found = losses_of(half.world, models, [half.client])[0]
    return Reply({}, told(losses=found.cpu()))


def _report(half: Half, ask: Ask) -> Reply:
    exchange = half.method.rule.exchange
    assert exchange is not None
    start = _row(half, ask.trees["start"])
    found = reported(half.world, exchange, half.key(ask), start)
    return Reply({}, {"report": _back(found)})


def _alone(half: Half, ask: Ask) -> Reply:
    begin = half.method.groups.begin
    assert isinstance(begin, OfModels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(ask.facts["seed"])
        models = trained_alone(half.world, begin.training, begin.alone, seed)
    return Reply({}, {"model": {n: v[half.client].cpu() for n, v in models.items()}})


def _train(half: Half, ask: Ask) -> Reply:
    method, w, cohort = half.method, half.world, half.key(ask)
    memory, counted = half.kept(ask), int(ask.facts["counted"])
    rule, personal, remembers = method.rule, method.personal, keeps(method)
    before = memory.recall(counted) if remembers else {}
    start, broadcast = (_row(half, ask.trees.get(n, {})) for n in ("start", "sent"))
    given, after = ClientInput(start, {}, broadcast), Trees()
    if rule.begin or method.training.remembers:
        state = begin_states(w.model, method.training, rule, given)
        kept = _row(half, before.get("state", {}))
        whole = kept.keys() >= state.keys()
        given = replace(given, state=kept if whole else state | kept)
    trained = _trained(half, cohort, given)
    after["state"] = _back(trained.kept)
    if own := personal.own_model:
        if "own" in before or personal.own_begin == "first":
            begin = _row(half, before.get("own") or ask.trees["first"])
        else:
            begin = start
        beside = ClientInput(begin, {}, nest("round", start))
        after["own"] = _back(_trained(half, cohort, beside, own).states)
    trees = {"model": _back(trained.states), "sent": _back(trained.uploads)}
    exchange = rule.exchange
    if exchange and exchange.when == "after":
        trees["report"] = _back(reported(w, exchange, cohort, trained.states))
    if remembers:
        memory.keep(counted, before, int(ask.facts["round"]), after)
    filled = {name: tree for name, tree in trees.items() if tree}
    return Reply({"loss": float(trained.loss[0])}, filled)


def keeps(method: Method) -> bool:
    """Whether a client keeps something from round to round."""
    own = bool(method.rule.begin or method.personal.own_model)
    return own or method.training.remembers


def _trained(
    half: Half, cohort: list[Client], given: ClientInput, rule: Rule | None = None
) -> Trained:
    w, method = half.world, half.method
    rule, training = rule or method.rule, method.training
    return train(w.model, w.x, w.y, cohort, given, training, rule, engine=half.engine)


def _judge(half: Half, ask: Ask) -> Reply:
    require(half.tested, "has no test samples of its own to judge a model by")
    w, personal = half.world, half.method.personal
    states, counted = _row(half, ask.trees["model"]), int(ask.facts["counted"])
    if personal.adapt:
        given, how = ClientInput(states), personal.adapt
        cohort = half.key(ask)
        states = train(
            w.model, w.x, w.y, cohort, given, how, PLAIN, engine=half.engine
        ).states
    elif keeps(half.method) and (personal.own_model or personal.kept):
        kept = half.kept(ask).recall(counted)
        mine = kept.get("own", {})
        if name := personal.kept:
            mine = subtree(kept.get("state", {}), name)
        states |= _row(half, mine)
    own = evaluate_own(w.model, states, w.x_test, w.y_test, [_all(w.x_test)])
    found = {"accuracy": own.accuracy[0].cpu(), "loss": own.loss[0].cpu()}
    return Reply({}, told(**found))


def _all(x: Tensor) -> Tensor:
    return torch.arange(len(x))


def _here(half: Half, tree: Tree) -> Tree:
    return {n: v.to(half.world.x.device) for n, v in tree.items()}


def _row(half: Half, tree: Tree) -> Tree:
    """One client's tree as a cohort's of one."""
    return repeat(_here(half, tree), 1)


def _back(stacked: Tree) -> Tree:
    return {n: v.detach().cpu() for n, v in take(stacked, 0).items()}


def _of_pairs(said: Callable[[Method, World, int, Ask], Reply]) -> Callable:
    return lambda half, ask: said(half.method, half.world, half.client, ask)


_ANSWERS: dict[str, Callable[[Half, Ask], Reply]] = {
    HELLO: _hello,
    TRAIN: _train,
    JUDGE: _judge,
    "losses": _losses,
    "report": _report,
    "alone": _alone,
    "step": _of_pairs(discriminators.step),
    "score": _of_pairs(discriminators.score),
    "moments": _of_pairs(discriminators.moments),
}

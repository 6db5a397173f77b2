"""Traced = stacked = looped, for every method: each is played by its programs alone."""

import json

import pytest
import torch

import fedlab_core as fl
from fedlab_browser.tracing import MethodPrograms, Program, client, trace, trace_method
from fedlab_browser.tracing.client import client_programs
from fedlab_core import METHODS, World
from fedlab_core.engine import cohort
from tests.methods.plainly import LOCAL
from tests.methods.test_all import BRIEF, furnished  # noqa: F401
from tests.tracing.by_programs import Ran, by_programs
from tests.tracing.trained import train_traced

NEAR = 2e-6  # relative, after three rounds; in float32, where one step is 6e-8
# These servers learn, and not in one search for weights: theirs have no program.
LEARNS = {"fedlaw-swa", "feddf", "fedbe", "server-ft"}


def read_back(programs: MethodPrograms) -> MethodPrograms:
    """The programs as they are read back from JSON alone."""
    plain = json.loads(json.dumps(programs.plain()))["programs"]
    for name, program in programs.every.items():
        vars(program).update(vars(Program.of(plain[name])))
    return programs


def apart(mine: fl.History, theirs: fl.History) -> float:
    pairs = [(mine.states[n].double(), v.double()) for n, v in theirs.states.items()]
    return max(float((a - b).norm() / b.norm()) for a, b in pairs if b.norm() > 0)


@pytest.fixture
def traced_clients(monkeypatch):
    """The looped engine, with programs instead of loops; counts the cohorts.

    What was traced once is not traced again.
    """
    seen, kept = [], []

    def train(*given):
        seen.append(1)
        return train_traced(*given)

    def once(task, given, batch):
        key = task.training, task.rule, batch
        for known, programs in kept:
            if known == key:
                return programs
        kept.append((key, client_programs(task, given, batch)))
        return kept[-1][1]

    monkeypatch.setattr(cohort, "train_looped", train)
    monkeypatch.setattr(client, "client_programs", once)
    monkeypatch.setattr(trace_method, "client_programs", once)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_programs_do_what_the_engines_do(furnished: World, name, traced_clients):  # noqa: F811
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    here = {"seed": 3, "participants": 4}
    stacked = fl.federate(furnished, method, 3, **here, engine="stacked")
    alone = method.groups == METHODS["fedavg"]().groups
    members = [4] if alone and not method.rule.exchange else None
    programs = read_back(trace(method, furnished, members))
    ran = Ran()
    played = by_programs(method, programs, ran)
    mine = fl.federate(furnished, played, 3, **here, engine="looped")
    assert apart(mine, stacked) <= NEAR
    assert mine.group_of == stacked.group_of
    rows = zip(mine.rows, stacked.rows, strict=True)
    assert all(a["accuracy"] == pytest.approx(b["accuracy"], abs=0.01) for a, b in rows)
    assert traced_clients, "nobody trained by programs"
    learns = {"server"} if name in LEARNS else set()
    assert set(programs.refused) == learns
    used = {"weigh", "begin", "server"} - ({"begin", "server"} if learns else set())
    has = {part for part in ("report", "share") if part in programs.members}
    has |= {"report"} & programs.programs.keys()
    has |= {"search", "learn"} & programs.members.keys()
    if name == "local":
        used = {"begin"}
    assert used | has <= ran.parts.keys()


AT_THE_SERVER: list[trace_method.Part] = ["weigh", "search", "learn", "begin", "server"]
SEARCHES = {
    "gamma": fl.gws(LOCAL, server_epochs=5, batch=16),
    "lambda": fl.attentive(LOCAL, server_epochs=5, batch=16, parameters="quad"),
    "equal": fl.fedlaw(LOCAL, server_epochs=5, start="equal", x_lr=0.05),
    "halved": fl.fedlaw(LOCAL, server_epochs=5, halve_every=2, global_lr=0.5),
    "none": fl.fedlaw(LOCAL, server_epochs=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_what_it_is_told_to_be(furnished: World, name):  # noqa: F811
    method, ran = SEARCHES[name], Ran()
    programs = read_back(trace(method, furnished, [6], AT_THE_SERVER))
    mine = fl.federate(furnished, by_programs(method, programs, ran), 2, seed=3)
    wanted = fl.federate(furnished, method, 2, seed=3)
    assert not programs.refused and apart(mine, wanted) <= NEAR
    per_epoch = -(-programs.loop["samples"] // programs.loop["batch"])
    steps = 2 * per_epoch * programs.loop["epochs"]
    assert ran.parts["learn"] == steps == 2 * len(programs.loop["paces"]["root"])


@pytest.mark.slow
@pytest.mark.parametrize("statistics", ["average", "running"])
def test_a_search_with_batchnorm_and_dropout(small_data, statistics):
    """Mini-batches of 16, 14 of them in the last; the dropout is drawn from keys."""
    who = fl.iid(small_data.y_train, 3)
    how = {"hidden": (8,), "dropout": 0.2, "batch_norm": True}
    make = fl.build("mlp", small_data.shape, 10, **how)
    world, ran = fl.world(small_data, who, make, proxy=fl.Proxy(3)), Ran()
    method = fl.fedlaw(LOCAL, batch=16, server_epochs=3, statistics=statistics)
    programs = trace(method, world, [3], AT_THE_SERVER)
    mine = fl.federate(world, by_programs(method, programs, ran), 2)
    assert not programs.refused and ran.parts["learn"] == 2 * 2 * 3
    assert apart(mine, fl.federate(world, method, 2)) <= NEAR


@pytest.mark.parametrize(
    "options, why",
    [
        ({"early_stop": 3}, "it asks which round it is"),
        ({"statistics": "reestimate"}, "it draws random numbers"),
    ],
)
def test_a_search_that_is_not_every_rounds_alone_is_refused(furnished, options, why):  # noqa: F811
    method = fl.fedlaw(LOCAL, **options)
    programs = trace(method, furnished, [2], ["search", "learn", "server"])
    assert programs.refused == {"server": f"the server cannot be traced: {why}"}
    assert not programs.members and not programs.loop


def test_looped_and_stacked_are_what_programs_are_held_to(furnished):  # noqa: F811
    """The two engines themselves are not farther apart than programs may be."""
    method = METHODS["scaffold"](LOCAL)
    pair = [fl.federate(furnished, method, 2, engine=e) for e in ("looped", "stacked")]
    assert 0 <= apart(*pair) <= NEAR


@pytest.mark.slow
def test_another_rule_is_told_apart(furnished, traced_clients):  # noqa: F811
    """The comparison can fail: FedProx's programs are not FedAvg's."""
    plain = fl.federate(furnished, METHODS["fedavg"](LOCAL), 2, seed=3)
    other = METHODS["fedprox"](LOCAL, mu=0.1)
    traced = fl.federate(furnished, other, 2, seed=3, engine="looped")
    assert traced_clients and apart(traced, plain) > 100 * NEAR
    assert torch.isfinite(traced.states["head.weight"]).all()

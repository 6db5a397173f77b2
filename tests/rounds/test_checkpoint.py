"""Runs that go on where they were: the same bits as those that nothing ended."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import fedlab_core as fl
from fedlab_core import METHODS, Proxy, Run, World, engine, run_all
from fedlab_core.rounds.checkpoint import Checkpoint, _packed
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.records import Round, RunState
from fedlab_core.rounds.simulation import Simulation
from tests.methods.plainly import LOCAL
from tests.methods.test_all import BRIEF

ROUNDS, CUT = 5, 3


class Ended(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture(scope="module")
def furnished(small_data) -> World:
    who = fl.dirichlet(small_data.y_train, 6, 0.5, seed=1)
    make = fl.build("mlp", small_data.shape, 10, hidden=(16,))
    return fl.world(small_data, who, make, proxy=Proxy(3))


class Watch:
    """An observer that remembers what it has seen, and may end the run in a round."""

    def __init__(self, ends: int | None = None):
        self.ends, self.memory = ends, {}

    def __call__(self, now: Round) -> dict:
        if now.number == self.ends:
            raise Ended
        self.memory["sum"] = self.memory.get("sum", 0.0) + float(now.trained.loss.sum())
        return {"sum": self.memory["sum"]}


def runs(w: World, method: fl.Method, ends: int | None = None) -> list[Run]:
    return [Run(w, method, ROUNDS, k, 3, observe=Watch(ends)) for k in (3, 4)]


def same(one: list, other: list) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.rows == b.rows and a.group_of == b.group_of
        assert a.states.keys() == b.states.keys()
        assert all(torch.equal(a.states[n], b.states[n]) for n in a.states)


def cut(w: World, method: fl.Method, path: Path, **how) -> Checkpoint:
    """Runs that end in round `CUT`, with what they kept of the rounds before."""
    kept = Checkpoint(path, "these", every=0.0)
    with pytest.raises(Ended):
        run_all(runs(w, method, CUT), checkpoint=kept, **how)
    return Checkpoint(path, "these", every=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_goes_on_bit_for_bit(furnished, tmp_path, name, engine):
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    whole = run_all(runs(furnished, method), engine=engine)
    kept = cut(furnished, method, tmp_path / "c", engine=engine)
    found = run_all(runs(furnished, method), engine=engine, checkpoint=kept)
    same(found, whole)
    assert kept.refused == "" and kept.spent > 0


def test_only_what_was_left_is_played(furnished, tmp_path):
    kept = cut(furnished, fl.fedavg(LOCAL), tmp_path / "c")
    numbers = []

    class Noting(Watch):
        def __call__(self, now: Round) -> dict:
            numbers.append(now.number)
            return super().__call__(now)

    left = [replace(r, observe=Noting()) for r in runs(furnished, fl.fedavg(LOCAL))]
    run_all(left, checkpoint=kept)
    assert numbers == sorted(numbers) == [CUT, CUT, CUT + 1, CUT + 1, ROUNDS, ROUNDS]


@pytest.mark.slow
def test_own_tests_lists_of_groups_and_momentum_go_on(small_data, tmp_path):
    local = fl.Training(lr=0.05, batch_size=16, momentum=0.9, keep_velocity=True)
    who = fl.dirichlet(small_data.y_train, 6, 0.5, seed=1)
    make = fl.build("mlp", small_data.shape, 10, hidden=(16,))
    own = [np.arange(k, 60, 6) for k in range(6)]
    w = fl.world(small_data, who, make, tests=own)
    for method in (fl.fedavg(local), fl.cfl(local), fl.ditto(local)):
        whole = run_all(runs(w, method))
        found = run_all(
            runs(w, method), checkpoint=cut(w, method, tmp_path / method.name)
        )
        same(found, whole)
        kept = Checkpoint(tmp_path / "d", every=0.0)
        run_all(runs(w, method), checkpoint=kept)
        over = run_all(runs(w, method), checkpoint=Checkpoint(tmp_path / "d"))
        for several in (found, over):
            for a, b in zip(several, whole, strict=True):
                assert a.clients is not None and b.clients is not None
                assert (a.clients == b.clients).all()


@pytest.mark.slow
def test_a_run_that_is_over_stays_over(furnished, tmp_path):
    """One diverges in its first round; the other goes on alone."""
    wild = fl.fedavg(replace(LOCAL, lr=1e9), name="wild")

    def both(ends: int | None = None) -> list[Run]:
        tame = Run(furnished, fl.fedavg(LOCAL), ROUNDS, 3, 3, observe=Watch(ends))
        return [Run(furnished, wild, ROUNDS, 3, 3), tame]

    whole = run_all(both())
    assert whole[0].diverged and not whole[1].diverged
    with pytest.raises(Ended):
        run_all(both(CUT), checkpoint=Checkpoint(tmp_path / "c", every=0.0))
    found = run_all(both(), checkpoint=Checkpoint(tmp_path / "c"))
    assert [h.diverged_at for h in found] == [h.diverged_at for h in whole]
    assert found[1].rows == whole[1].rows


@pytest.mark.slow
@pytest.mark.parametrize("ends", [1, 2])
def test_runs_of_unequal_rounds_go_on_from_whole_ones(furnished, tmp_path, ends):
    """FedAvg asks for training once a round, Ditto twice: one is in mid-round then."""

    def both(stops: bool = False) -> list[Run]:
        watches = [Watch(CUT if stops and k == ends else None) for k in (1, 2)]
        made = zip((fl.fedavg(LOCAL), fl.ditto(LOCAL)), watches, strict=True)
        return [Run(furnished, m, ROUNDS, 3, 3, observe=watch) for m, watch in made]

    kept = Checkpoint(tmp_path / "c", every=0.0)
    with pytest.raises(Ended):
        run_all(both(stops=True), checkpoint=kept)
    again = Checkpoint(tmp_path / "c")
    same(run_all(both(), checkpoint=again), run_all(both()))
    assert again.refused == "" and again.spent > 0


@pytest.mark.parametrize("name", ["ditto", "feddc", "ifca", "rfedavg", "cfl"])
def test_a_round_leaves_the_state_before_it_as_it_was(furnished, name):
    """So that it can be written at any time, the middle of a round included."""
    run = runs(furnished, METHODS[name](LOCAL, **BRIEF.get(name, {})))[0]
    simulation, before = Simulation(run), None
    play = simulation.play()
    asked, w = next(play), furnished
    while asked is not None:
        if simulation.state is not before:
            before, tensors = simulation.state, {}
            written = _packed(before, tensors)
        how = (asked.cohort, asked.given, asked.training, asked.rule)
        asked = next_of(play, engine.train(w.model, w.x, w.y, *how))
        now: dict = {}
        assert _packed(before, now) == written
        assert all(torch.equal(now[n], v) for n, v in tensors.items())
    assert len(simulation.state.rows) == ROUNDS


def next_of(play, trained):
    try:
        return play.send(trained)
    except StopIteration:
        return None


def test_every_field_of_a_state_is_written_and_read(tmp_path, furnished):
    """None is named in `checkpoint`: one that is added later is kept as well."""
    tree = {"w": torch.arange(3.0), "n": torch.tensor(7)}
    kept = ClientStates({4: tree, 0: {}}, ("w", "n"))
    servers = [fl.ServerState(tree, {"m": tree["w"]}, start=tree, metrics={"lr": 0.5})]
    state = RunState(
        servers=servers, group_of=[0, 0], bytes=2**40, kept=kept, own_models=kept,
        reports={1: tree}, rows=[{"round": 1, "loss": math.nan}, {"x": tree["w"]}],
        clients=torch.ones(2), diverged_at=2, memory={"sum": {3: [1.5, tree["n"]]}},
    )  # fmt: skip
    blank = RunState([], [], 0)
    for f in fields(RunState):
        assert repr(getattr(state, f.name)) != repr(getattr(blank, f.name)), f.name
    these = runs(furnished, fl.fedavg(LOCAL))
    Checkpoint(tmp_path / "c").keep(these, [state, blank])
    found, empty = Checkpoint(tmp_path / "c").load(these)
    assert repr(found) == repr(state) and repr(empty) == repr(blank)


def test_runs_that_are_done_are_not_played_again(furnished, tmp_path):
    kept = Checkpoint(tmp_path / "c", every=0.0)
    whole = run_all(runs(furnished, fl.fedavg(LOCAL)), checkpoint=kept)
    again = Checkpoint(tmp_path / "c")
    ends = runs(furnished, fl.fedavg(LOCAL), ends=ROUNDS)  # if one round were played
    same(run_all(ends, checkpoint=again), whole)
    again.remove()
    again.remove()
    assert not list(tmp_path.iterdir())


def test_it_is_kept_as_often_as_asked(furnished, tmp_path):
    kept = Checkpoint(tmp_path / "c", every=3600.0)
    run_all(runs(furnished, fl.fedavg(LOCAL)), checkpoint=kept)
    assert not list(tmp_path.iterdir())


def spoiled(path: Path, how: str) -> None:
    """A checkpoint that is not what it should be."""
    if how == "cut short":
        path.write_bytes(path.read_bytes()[:-100])
    elif how == "no head":
        save_file(load_file(path), path)
    elif how == "another's":
        save_file({"x": torch.zeros(1)}, path, {"fedlab": json.dumps([1])})
    elif how == "deep":
        save_file({"x": torch.zeros(1)}, path, {"fedlab": "[" * 100_000})
    elif how == "a place too few":
        with safe_open(path, "pt") as file:
            head = json.loads(file.metadata()["fedlab"])
        head["states"] = head["states"][1:]
        save_file(load_file(path), path, {"fedlab": json.dumps(head)})
    elif how == "the former format":
        about = {"about": "these", "runs": [], "spent": 1.0, "note": "", "places": []}
        save_file({"x": torch.zeros(1)}, path, {"fedlab": json.dumps(about)})
    elif how == "text":
        path.write_text("hello")
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    ["cut short", "no head", "another's", "deep", "a place too few",
     "the former format", "text", "a folder"],
)  # fmt: skip
def test_what_cannot_be_read_is_not_gone_on_from(furnished, tmp_path, how):
    method = fl.fedavg(LOCAL)
    kept = cut(furnished, method, tmp_path / "c")
    spoiled(tmp_path / "c", how)
    kept.every = 3600.0
    found = run_all(runs(furnished, method), checkpoint=kept)
    same(found, run_all(runs(furnished, method)))
    assert "is not gone on from" in kept.refused and kept.spent == 0.0
    assert "\n" not in kept.refused
    former = "it was written by another version" in kept.refused
    assert former == (how == "the former format")


@pytest.mark.slow
def test_of_other_runs_nothing_is_taken(furnished, tmp_path):
    cut(furnished, fl.fedavg(LOCAL), tmp_path / "c")
    for kept, method in (
        (Checkpoint(tmp_path / "c", "others"), fl.fedavg(LOCAL)),
        (Checkpoint(tmp_path / "c", "these"), fl.feddisco(LOCAL)),
    ):
        run_all(runs(furnished, method), checkpoint=kept)
        assert "it is about other runs" in kept.refused


@pytest.mark.slow
def test_a_disk_that_is_full_ends_no_run(furnished, tmp_path):
    method, away = fl.fedavg(LOCAL), tmp_path / "no folder" / "c"
    for path in (Path("/dev/full/c"), away / "deeper" / "c"):
        kept = Checkpoint(path, every=0.0)
        found = run_all(runs(furnished, method), checkpoint=kept)
        same(found, run_all(runs(furnished, method)))
        assert "cannot be written" in kept.refused

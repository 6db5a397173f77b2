"""A run's numbers are its own: whoever else runs, and whatever lay in a checkpoint."""

import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import torch
from torch import nn

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.keys import fold, uniform
from fedlab_core.rounds.checkpoint import Checkpoint, fingerprint
from fedlab_core.rounds.identity import digest
from tests.models_cases import DATA, LOCAL, SPLIT

FACTOR = 0.5


def mlp(hidden: int = 16, act: nn.Module | None = None) -> nn.Module:
    act = nn.ReLU() if act is None else act
    return nn.Sequential(nn.Linear(8, hidden), act, nn.Linear(hidden, 3))


def run(
    data: fl.Dataset = DATA, split=SPLIT, make=mlp, method=None, seed: int = 0, **more
) -> fl.Run:
    there = fl.world(data, split, make)
    return fl.Run(there, method or fl.fedavg(LOCAL), 3, seed, **more)


def scaled(by: float):
    return lambda time: by * torch.ones_like(time)


def by_a_name(time):
    return FACTOR * torch.ones_like(time)


def scheduled(schedule) -> fl.Method:
    return fl.fedavg(replace(LOCAL, schedule=schedule))


def changed() -> fl.Dataset:
    x = DATA.x_train.copy()
    x[0, 0] += 1
    return replace(DATA, x_train=x)


OTHERS = {
    "learning rate": lambda: run(method=fl.fedavg(replace(LOCAL, lr=0.3))),
    "a number of the rule": lambda: run(method=fl.fedprox(LOCAL, mu=0.1)),
    "another number of the rule": lambda: run(method=fl.fedprox(LOCAL, mu=0.2)),
    "a number that a function closes over": lambda: run(method=scheduled(scaled(0.5))),
    "another such": lambda: run(method=scheduled(scaled(0.25))),
    "a number by a global name": lambda: run(method=scheduled(by_a_name)),
    "clients": lambda: run(split=fl.dirichlet(DATA.y_train, 6, 1.0)),
    "the split's seed": lambda: run(split=fl.dirichlet(DATA.y_train, 4, 1.0, seed=1)),
    "hidden units": lambda: run(make=lambda: mlp(32)),
    "activation": lambda: run(make=lambda: mlp(16, nn.Tanh())),
    "a number of a layer": lambda: run(make=lambda: mlp(16, nn.LeakyReLU(0.3))),
    "another number of a layer": lambda: run(make=lambda: mlp(16, nn.LeakyReLU(0.1))),
    "data": lambda: run(data=changed()),
    "seed": lambda: run(seed=1),
    "participants": lambda: run(participants=2),
    "weights": lambda: run(method=fl.fedavg(LOCAL, fl.Equal())),
    "start": lambda: run(start={n: v + 1 for n, v in mlp().state_dict().items()}),
}


def test_runs_that_differ_in_anything_have_other_fingerprints(monkeypatch):
    seen = {"": fingerprint(run())}
    for name, make in OTHERS.items():
        seen[name] = fingerprint(make())
    monkeypatch.setitem(globals(), "FACTOR", 0.25)
    seen["the global name's number"] = fingerprint(run(method=scheduled(by_a_name)))
    names = {}
    for name, mark in seen.items():
        assert mark not in names, f"{name} and {names[mark]} look alike"
        names[mark] = name


@pytest.mark.slow
def test_a_fingerprint_is_the_same_in_another_process():
    code = "from tests.rounds.test_runs_themselves import *\n"
    code += "print(fingerprint(run()), fingerprint(OTHERS['activation']()))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert said.stdout.split() == [
        fingerprint(run()),
        fingerprint(OTHERS["activation"]()),
    ], said.stderr


def test_all_methods_have_fingerprints_of_their_own_twice_the_same():
    first = {n: digest(entry.make(LOCAL)) for n, entry in fl.METHODS.items()}
    assert first == {n: digest(entry.make(LOCAL)) for n, entry in fl.METHODS.items()}
    assert len(set(first.values())) == len(first)


def test_a_training_without_adam_is_what_it_was_before_adam_was_there():
    """The digest is of a version whose `Training` ended with `rmsprop`."""
    assert digest(fl.Training(lr=0.1, momentum=0.9)) == "a032ee600b84ba42"
    adam = fl.Training(adam=(0.9, 0.99))
    others = fl.Training(), adam, replace(adam, decoupled=True)
    assert len({digest(t) for t in others}) == 3


def test_a_circle_and_a_set_have_digests():
    circle: list = [1]
    circle.append(circle)
    assert digest(circle) == digest(circle) != digest([1])
    assert digest({"a", "b"}) == digest({"b", "a"}) != digest({"a"})


@pytest.mark.parametrize("name", ["learning rate", "clients", "hidden units", "data"])
def test_a_checkpoint_of_another_experiment_is_not_gone_on_from(tmp_path, name):
    path = tmp_path / "c.st"
    fl.run_all([run()], checkpoint=Checkpoint(path, every=0.0))
    mine = Checkpoint(path, every=0.0)
    (got,) = fl.run_all([OTHERS[name]()], checkpoint=mine)
    (alone,) = fl.run_all([OTHERS[name]()])
    assert "it is about other runs" in mine.refused and got.rows == alone.rows


def test_a_checkpoint_of_the_same_experiment_is(tmp_path):
    """A path may be text."""
    path = tmp_path / "c.st"
    (first,) = fl.run_all([run()], checkpoint=Checkpoint(path, every=0.0))
    mine = Checkpoint(str(path), every=0.0)
    (got,) = fl.run_all([run()], checkpoint=mine)
    assert not mine.refused and got.rows == first.rows


def test_runs_in_threads_give_the_numbers_that_they_give_alone():
    there = fl.world(DATA, SPLIT, mlp)
    methods = [fl.fedavg(LOCAL), fl.scaffold(LOCAL), fl.fedprox(LOCAL, mu=0.1)]
    alone = [fl.federate(there, m, 3, seed=k).rows for k, m in enumerate(methods)]
    got: dict[int, list] = {}

    def play(k: int) -> None:
        got[k] = fl.federate(there, methods[k], 3, seed=k).rows

    threads = [threading.Thread(target=play, args=(k,)) for k in range(len(methods))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[k] for k in range(len(methods))] == alone


def test_an_observer_may_play_runs_of_its_own():
    there = fl.world(DATA, SPLIT, mlp)

    def inside(now):
        return {"other": fl.federate(there, fl.fedavg(LOCAL), 1).accuracy()}

    rows = fl.federate(there, fl.scaffold(LOCAL), 2, observe=inside).rows
    assert rows[0]["other"] == rows[1]["other"]


def test_a_process_wide_autocast_changes_nothing():
    plain = fl.federate(fl.world(DATA, SPLIT, mlp), fl.fedavg(LOCAL), 2).rows
    with torch.autocast("cpu", torch.bfloat16):
        assert (
            fl.federate(fl.world(DATA, SPLIT, mlp), fl.fedavg(LOCAL), 2).rows == plain
        )


def test_inference_mode_is_refused():
    with (
        torch.inference_mode(),
        pytest.raises(InputError, match="no training in inference_mode"),
    ):
        fl.run_all([])
    with torch.inference_mode(), pytest.raises(InputError, match="no world in infer"):
        fl.world(DATA, SPLIT, mlp)


class Constant(nn.Module):
    """A network with numbers that no state has: a layer in a list."""

    def __init__(self):
        super().__init__()
        self.one, self.others = nn.Linear(8, 3), [nn.Linear(8, 3)]

    def forward(self, x):
        return self.one(x) + self.others[0](x)


def test_numbers_that_no_state_has_are_the_same_in_every_world():
    """Whatever was drawn from PyTorch's generator before."""
    told = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        w = fl.world(DATA, SPLIT, Constant)
        told.append(fl.federate(w, fl.fedavg(LOCAL), 2).rows)
    assert told[0] == told[1]


def noisy(x, key):
    return x + torch.randn_like(x)


def keyed(x, key):
    drawn = uniform(fold(key, 1), x.numel() // max(1, key.numel()))
    return x + drawn.view(*key.shape, *x.shape[key.ndim :])


class Noisy(fl.Equal):
    """Weights that draw from PyTorch's generator."""

    def __call__(self, members):
        torch.rand(1)
        return super().__call__(members)


def noisy_loss(net, params, batch, given):
    drawn = torch.rand(len(batch.x))
    return batch.mean(drawn * net(params, batch.x)[:, 0])


@pytest.mark.parametrize("engine", ["looped", "stacked"])
def test_augmentation_that_draws_without_a_key_is_refused(engine):
    there = fl.world(DATA, SPLIT, mlp)
    said = "training of FedAvg draws from PyTorch's generator, .* use the key"
    with pytest.raises(InputError, match=said):
        fl.federate(there, fl.fedavg(replace(LOCAL, augment=noisy)), 1, engine=engine)
    fl.federate(there, fl.fedavg(replace(LOCAL, augment=keyed)), 1, engine=engine)


def test_losses_weights_and_servers_that_draw_without_a_key_are_refused():
    there, plain = fl.world(DATA, SPLIT, mlp), fl.fedavg(LOCAL)
    with pytest.raises(InputError, match="weigh=equal draws from PyTorch's generator"):
        fl.federate(there, replace(plain, weigh=Noisy()), 1)
    with pytest.raises(InputError, match="draws from PyTorch's generator"):
        mine = replace(plain, rule=replace(plain.rule, loss=noisy_loss))
        fl.federate(there, mine, 1, engine="looped")

    def step(gathered):
        torch.randn(1)
        return plain.server.step(gathered)

    server = replace(plain.server, name="mine", step=step)
    with pytest.raises(InputError, match="server=mine draws .* use its `key`"):
        fl.federate(there, replace(plain, server=server), 1)


def test_an_interrupt_in_the_middle_of_a_round_leaves_nothing_wrong():
    there, calls = fl.world(DATA, SPLIT, mlp), []

    def stops(net, params, batch, given):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return fl.Rule().loss(net, params, batch, given)

    before = fl.federate(there, fl.scaffold(LOCAL), 3).rows
    broken = fl.fedavg(LOCAL, rule=fl.Rule(loss=stops))
    with pytest.raises(KeyboardInterrupt):
        fl.federate(there, broken, 3, engine="looped")
    assert len(calls) >= 5
    assert fl.federate(there, fl.scaffold(LOCAL), 3).rows == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_that_is_forked_after_use_gives_the_same_numbers():
    """And is not kept waiting by a thread that was playing when it was forked."""
    code = """if True:
        import os, sys, threading, time
        from tests.rounds.test_runs_themselves import *
        import torch; torch.set_num_threads(1)
        there = fl.world(DATA, SPLIT, mlp)
        first = fl.federate(there, fl.fedavg(LOCAL), 2).rows
        playing = threading.Thread(
            target=fl.federate, args=(there, fl.fedavg(LOCAL), 400), daemon=True)
        playing.start()
        time.sleep(.2)
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)
            same = fl.federate(there, fl.fedavg(LOCAL), 2).rows == first
            os._exit(0 if same else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        os._exit(0)
    """
    command = [sys.executable, "-W", "ignore", "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert said.stdout.split() == ["0"], said.stderr

"""Trackers: a file, and each package through a small fake of its documented interface.

The real packages are not in the lock. What the fakes have is what their documentation
says: SummaryWriter, MlflowClient, wandb.init and trackio.init, and what those give.
"""

import csv
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import fedlab_core as fl
from fedlab_use.trackers import TRACKERS
from tests.methods.plainly import LOCAL


def watch(world, log: Any, rounds: int = 2) -> fl.History:
    with log:
        return fl.federate(world, fl.fedavg(LOCAL), rounds, observe=log)


class Fake:
    """Notes every call by the name it was made by."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def note(self, name: str, gives: Any = None):
        def call(*args, **options):
            self.calls.append((name, args, options))
            return gives

        return call


@pytest.fixture
def fake(monkeypatch) -> Fake:
    made = Fake()

    class SummaryWriter:
        def __init__(self, log_dir: str):
            made.calls.append(("writer", (log_dir,), {}))
            for name in ("add_scalar", "add_text", "flush", "close"):
                setattr(self, name, made.note(name))

    class MlflowClient:
        def __init__(self) -> None:
            run = SimpleNamespace(info=SimpleNamespace(run_id="r1"))
            self.get_experiment_by_name = made.note("get")
            self.create_experiment = made.note("experiment", "7")
            self.create_run = made.note("run", run)
            for name in ("log_param", "log_metric", "set_terminated"):
                setattr(self, name, made.note(name))

    run = SimpleNamespace(log=made.note("log"), finish=made.note("finish"))
    parts = {
        "torch.utils.tensorboard": {"SummaryWriter": SummaryWriter},
        "mlflow": {"MlflowClient": MlflowClient},
        "wandb": {"init": made.note("init", run)},
        "trackio": {"init": made.note("init", run)},
    }
    for name, things in parts.items():
        module = ModuleType(name)
        vars(module).update(things)
        monkeypatch.setitem(sys.modules, name, module)
    return made


def test_a_file_has_a_row_a_round_with_every_number(small_world, tmp_path):
    log = fl.tracker("csv", tmp_path / "log.csv", about={"who": "me"})
    h = watch(small_world, log)
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [r["who"] for r in rows] == ["me", "me"]
    for row, ours in zip(rows, h.rows, strict=True):
        assert {n: float(row[n]) for n in ours} == ours


def test_a_file_goes_on_with_the_run(small_world, tmp_path):
    for rounds in (1, 3):
        log = fl.tracker("csv", tmp_path / "log.csv")
        how = {"observe": log, "checkpoint": tmp_path / "run"}
        fl.federate(small_world, fl.fedavg(LOCAL), rounds, **how)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["round", "1", "2", "3"]


def test_it_sees_what_observers_before_it_said(small_world, tmp_path):
    log = fl.tracker("csv", tmp_path / "log.csv")
    both = fl.together([lambda now: {"mine": now.number}, log])
    fl.federate(small_world, fl.fedavg(LOCAL), 2, observe=both)
    assert (tmp_path / "log.csv").read_text().splitlines()[0].endswith(",mine")


def test_tensorboard_gets_scalars_by_round(small_world, fake, tmp_path):
    log = fl.tracker("tensorboard", tmp_path, "a", {"lr": 0.1})
    h = watch(small_world, log)
    assert fake.calls[0] == ("writer", (str(tmp_path / "a"),), {})
    assert fake.calls[1][0] == "add_text" and "lr: 0.1" in fake.calls[1][1][1]
    scalars = [args for name, args, _ in fake.calls if name == "add_scalar"]
    said = {(name, number): value for name, value, number in scalars}
    assert said == {(n, r["round"]): v for r in h.rows for n, v in r.items()}
    assert fake.calls[-1][0] == "close"


def test_mlflow_gets_metrics_of_a_run_of_its_own(small_world, fake):
    h = watch(small_world, fl.tracker("mlflow", "letters", "a", {"lr": 0.1}))
    names = [name for name, _, _ in fake.calls]
    assert names[:4] == ["get", "experiment", "run", "log_param"]
    assert fake.calls[2][1:] == (("7",), {"run_name": "a"})
    found = {(a[1], a[4]): a[2] for n, a, _ in fake.calls if n == "log_metric"}
    assert found == {(n, r["round"]): v for r in h.rows for n, v in r.items()}
    assert fake.calls[-1] == ("set_terminated", ("r1",), {})


@pytest.mark.parametrize("kind", ["wandb", "trackio"])
def test_runs_of_a_project_get_a_row_a_round(small_world, fake, kind):
    h = watch(small_world, fl.tracker(kind, "letters", "a", {"lr": 0.1}))
    (name, _, options), *logged, last = fake.calls
    assert name == "init" and options["project"] == "letters"
    assert options["name"] == "a" and options["config"] == {"lr": 0.1}
    assert [(a[0], o) for _, a, o in logged] == [
        (row, {"step": row["round"]}) for row in h.rows
    ]
    assert last[0] == "finish"


@pytest.mark.parametrize("kind", [k for k in TRACKERS if k != "csv"])
def test_what_is_not_installed_says_how_to_get_it(kind, monkeypatch, tmp_path):
    for name in ("torch.utils.tensorboard", "mlflow", "wandb", "trackio"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.InputError, match=f"not installed: pip install {kind}"):
        fl.tracker(kind, "x")


def test_no_place_and_no_such_kind_are_refused(tmp_path):
    with pytest.raises(fl.InputError, match="csv needs a place, as log.csv"):
        fl.tracker("csv")
    with pytest.raises(fl.InputError, match="kind must be csv, tensorboard"):
        fl.tracker("paper", "x")  # type: ignore
    with pytest.raises(fl.InputError, match="there is no folder"):
        fl.tracker("csv", tmp_path / "no" / "log.csv")

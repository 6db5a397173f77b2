"""Trackers: observers that write each round down elsewhere as it is played.

None of the packages that they write to is imported before it is asked for, and nothing
goes to another machine unless that package is told so by its own settings.
"""

import csv
import io
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from fedlab_core.arguments import checked
from fedlab_core.atomic_files import replacing, writable
from fedlab_core.errors import InputError, require
from fedlab_core.rounds.records import Round

Row = Mapping[str, float]
About = dict[str, Any]  # what a run was, by name: shown beside its curves
Kind = Literal["csv", "tensorboard", "mlflow", "wandb", "trackio"]


@checked
def tracker(
    kind: Kind, place: str | os.PathLike = "", run: str = "", about: About | None = None
) -> "Tracker":
    """An observer that logs the numbers of every round, for one run.

    `place` is a file (csv), a folder (tensorboard) or a project's name (mlflow, wandb,
    trackio); `run` names the run there, and `about` is what is noted of it. It is
    closed by `close()`, or by `with`.
    """
    require(bool(str(place)), f"tracker: {kind} needs a place, as {_USUAL[kind]}")
    return TRACKERS[kind](str(place), run or "run", about or {})


class Tracker(ABC):
    """An observer with a way out: `close` ends it, and so does `with`."""

    def __call__(self, now: Round) -> dict:
        numbers = {n: v.item() if hasattr(v, "item") else v for n, v in now.row.items()}
        numbers = {n: v for n, v in numbers.items() if isinstance(v, (int, float))}
        self.write(now.number, numbers)
        return {}

    @abstractmethod
    def write(self, number: int, row: Row) -> None:
        """Note a round's numbers."""

    @abstractmethod
    def close(self) -> None:
        """End the run where it is written."""

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Csv(Tracker):
    """A file with a row a round, whole after each; a checkpoint knows its rows."""

    def __init__(self, place: str, run: str, about: About):
        self.path, self.about = writable(place, "csv", force=True), about
        self.memory: dict = {"rows": []}

    def write(self, number: int, row: Row) -> None:
        self.memory["rows"] = [*self.memory["rows"], {**self.about, **row}]
        names = list(dict.fromkeys(n for r in self.memory["rows"] for n in r))
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, names, lineterminator="\n")
        table.writeheader()
        table.writerows(self.memory["rows"])
        with replacing(self.path) as file:
            file.write(text.getvalue().encode())

    def close(self) -> None:
        """Nothing is left to end: every round is in the file."""


class _TensorBoard(Tracker):
    """Scalars for `tensorboard --logdir place`, a folder a run."""

    def __init__(self, place: str, run: str, about: About):
        board = _package(
            "tensorboard", lambda: import_module("torch.utils.tensorboard")
        )
        self.writer = board.SummaryWriter(os.path.join(place, run))
        if about:
            table = "\n".join(f"    {n}: {v}" for n, v in about.items())
            self.writer.add_text("about", table)

    def write(self, number: int, row: Row) -> None:
        for name, value in row.items():
            self.writer.add_scalar(name, value, number)
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


class _Mlflow(Tracker):
    """A run of an experiment, where `MLFLOW_TRACKING_URI` says, or as usual.

    Through the client, not through MLflow's one active run: runs go side by side.
    """

    def __init__(self, place: str, run: str, about: About):
        self.mlflow = _package("mlflow", lambda: import_module("mlflow"))
        self.client = self.mlflow.MlflowClient()
        known = self.client.get_experiment_by_name(place)
        at = known.experiment_id if known else self.client.create_experiment(place)
        self.id = self.client.create_run(at, run_name=run).info.run_id
        for name, value in about.items():
            self.client.log_param(self.id, name, value)

    def write(self, number: int, row: Row) -> None:
        now = int(1000 * time.time())
        for name, value in row.items():
            self.client.log_metric(self.id, name, float(value), now, number)

    def close(self) -> None:
        self.client.set_terminated(self.id)


class _WandB(Tracker):
    """A run of a project; `WANDB_MODE=offline` keeps it on this machine."""

    def __init__(self, place: str, run: str, about: About):
        wandb = _package("wandb", lambda: import_module("wandb"))
        how = {"project": place, "name": run, "config": about}
        self.run = wandb.init(**how, reinit="create_new")

    def write(self, number: int, row: Row) -> None:
        self.run.log(row, step=number)

    def close(self) -> None:
        self.run.finish()


class _Trackio(Tracker):
    """A run of a project on this machine; `trackio show` draws it."""

    def __init__(self, place: str, run: str, about: About):
        trackio = _package("trackio", lambda: import_module("trackio"))
        self.run = trackio.init(project=place, name=run, config=about, embed=False)

    def write(self, number: int, row: Row) -> None:
        self.run.log(row, step=number)

    def close(self) -> None:
        self.run.finish()


_USUAL = {
    "csv": "log.csv",
    "tensorboard": "runs",
    "mlflow": "letters",
    "wandb": "letters",
    "trackio": "letters",
}
TRACKERS: dict[str, Callable[[str, str, About], Tracker]] = {
    "csv": _Csv,
    "tensorboard": _TensorBoard,
    "mlflow": _Mlflow,
    "wandb": _WandB,
    "trackio": _Trackio,
}


def _package(name: str, load: Callable[[], ModuleType]) -> Any:
    """A package that is imported now; if it is not there, how to get it."""
    try:
        return load()
    except ModuleNotFoundError as error:
        said = f"{error.name} is not installed: pip install {name}"
        raise InputError(f"tracker {name}: {said}") from None

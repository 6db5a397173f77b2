"""Runs under way on the disk, so that they go on after whatever ended them.

The file has the `RunState` of each run, whatever its fields are. A run that goes on
gives the same numbers, to the bit, as one that nothing ended.
"""

import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.atomic_files import replacing, telling
from fedlab_core.errors import InputError, require
from fedlab_core.models import initial_state
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.identity import digest
from fedlab_core.rounds.records import Run, RunState
from fedlab_core.rounds.server import ServerState
from fedlab_core.tree import CONTIGUOUS, Tree

_ABOUT, _TENSOR, _ITEMS, _KIND = "fedlab", "tensor", "items", "kind"
_SAMPLES = 64  # of a data set that are looked at; of its labels, all
FORMAT = 3  # how a file says it; one that says something else is not read
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_UNREADABLE += (RecursionError, SafetensorError)
_KINDS = {kind.__name__: kind for kind in (RunState, ClientStates, ServerState)}


@checked
@dataclass
class Checkpoint:
    """A file that keeps the states of runs, every so many seconds.

    The file knows its runs by `fingerprint`; `about` says more of them. From one that
    is about others, or cannot be read, nothing is taken. `refused` has why, or why none
    could be written, which ends no run; `say` is told at once. It is whole or not
    there, and stays until `remove`. If `strict`, one that cannot be gone on from is
    refused before it is replaced, and the end of the runs is kept, too.
    """

    path: str | os.PathLike
    about: str = ""
    every: NotNegative = 300.0
    note: str = ""
    spent: float = 0.0  # seconds that the runs in the file had taken
    refused: str = ""
    say: Callable[[str], object] = str
    strict: bool = False
    _runs: list[str] = field(default_factory=list)
    _kept: float = field(default_factory=time.monotonic)
    _begun: float = field(default_factory=time.monotonic)

    def load(self, runs: Sequence[Run]) -> Sequence[RunState | None]:
        """The states that these runs were in, if the file knows."""
        self._begun = self._kept = time.monotonic()
        self._runs = _names(runs)
        nothing: list[None] = [None] * len(runs)
        if not os.path.lexists(self.path):
            return nothing
        try:
            with safe_open(self.path, "pt") as file:
                head = _head(file)
                if dict(head).get("format") != FORMAT:
                    raise ValueError("it was written by another version")
                if [head["about"], head["runs"]] != [self.about, self._runs]:
                    raise ValueError("it is about other runs")
                states = _unpacked(head["states"], file.get_tensor)
                if len(states) != len(runs):
                    raise ValueError("it has not a place for each run")
                for run, state in zip(runs, states, strict=True):
                    if (n := len(state.rows)) > run.rounds:
                        raise ValueError(f"it is at round {n} of {run.rounds}")
                self.spent = float(head["spent"])
        except _UNREADABLE as error:
            self.refused = f"{self.path} is not gone on from: {error}"
            require(not self.strict, f"{self.refused}; remove it, or give another path")
            self.say(self.refused)
            return nothing
        return states

    @property
    def due(self) -> bool:
        """Whether it is time to keep the runs' states."""
        return time.monotonic() - self._kept >= self.every

    def keep(self, runs: Sequence[Run], states: Sequence[RunState]) -> None:
        """Write the state of each run."""
        tensors: Tree = {}
        spent = self.spent + time.monotonic() - self._begun
        names = self._runs or _names(runs)  # of before they began
        head = {"format": FORMAT, "about": self.about, "runs": names}
        head |= {"spent": spent, "note": self.note, "states": _packed(states, tensors)}
        try:
            with telling(self.path):
                Path(self.path).parent.mkdir(exist_ok=True)
            with replacing(self.path) as file:
                file.write(save(tensors, {_ABOUT: json.dumps(head)}))
        except InputError as error:
            self.refused = str(error)
            self.say(self.refused)
        self._kept = time.monotonic()

    def remove(self) -> None:
        """Take the file away: what it was kept for is done."""
        Path(self.path).unlink(missing_ok=True)


def kept_in(place: Checkpoint | str | os.PathLike) -> Checkpoint:
    """The checkpoint itself, or that of a path: kept every minute, and at the end."""
    if isinstance(place, Checkpoint):
        return place
    return Checkpoint(place, every=60.0, say=warnings.warn, strict=True)


def fingerprint(run: Run) -> str:
    """A short hash of a run's world, method, seed and start, not of who observes it."""
    w = run.world
    start = initial_state(w.make, run.seed) if run.start is None else run.start
    some = [x[:: max(1, len(x) // _SAMPLES)] for x in (w.x, w.x_test)]
    told = [len(w.x), len(w.x_test), *some, w.y, w.y_test, w.classes]
    told += [w.partition.indices, w.tests, w.proxy, w.model, start, run.method]
    told += [w.metric] if w.metric else []
    return digest([*told, run.seed, run.participants, run.judge_every])


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of runs, by which a file can tell them apart."""
    about = [f"{r.method.name}, seed {r.seed}" for r in runs]
    return [f"{a}, {fingerprint(r)}" for a, r in zip(about, runs, strict=True)]


def noted(path: Path) -> str:
    """The note of a checkpoint; nothing if it cannot be read."""
    try:
        with safe_open(path, "pt") as file:
            return str(_head(file)["note"])
    except _UNREADABLE:
        return ""


def _head(file: Any) -> Any:
    return json.loads((file.metadata() or {})[_ABOUT])


def _packed(value: Any, tensors: Tree) -> Any:
    """The same as plain JSON; tensors go to `tensors`, under numbers."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().clone(memory_format=CONTIGUOUS)
        return {_TENSOR: name, "device": str(value.device)}
    kind = type(value).__name__
    if kind in _KINDS or isinstance(value, dict):
        items = value if isinstance(value, dict) else vars(value)
        pairs = [[k, _packed(v, tensors)] for k, v in items.items()]
        return {_KIND: kind, _ITEMS: pairs}
    if isinstance(value, (list, tuple)):
        row = [_packed(v, tensors) for v in value]
        return row if isinstance(value, list) else {_KIND: "tuple", _ITEMS: row}
    return value.item() if hasattr(value, "item") else value


def _unpacked(value: Any, tensor: Callable[[str], Tensor]) -> Any:
    """Undo `_packed`."""
    if isinstance(value, list):
        return [_unpacked(v, tensor) for v in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensor(value[_TENSOR]).to(value["device"])
    if value[_KIND] == "tuple":
        return tuple(_unpacked(v, tensor) for v in value[_ITEMS])
    items = {k: _unpacked(v, tensor) for k, v in value[_ITEMS]}
    kind = _KINDS.get(value[_KIND])
    return kind(**items) if kind else items

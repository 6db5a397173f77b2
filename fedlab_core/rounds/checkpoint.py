"""Runs under way on the disk, so that they go on after whatever ended them.

Kept is what a round hands to the next one; all else is made anew from the seed. So a
run that goes on gives the same numbers, to the bit, as one that nothing ended.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.atomic_files import replacing, telling
from fedlab_core.errors import InputError
from fedlab_core.rounds.client_state import ClientStates
from fedlab_core.rounds.records import Run
from fedlab_core.rounds.server import ServerState
from fedlab_core.rounds.simulation import Simulation
from fedlab_core.tree import CONTIGUOUS, Tree, stack

Place = dict[str, Any]  # what a run's next round needs of those before it
_ABOUT, _TENSOR, _ITEMS = "fedlab", "tensor", "items"


@checked
@dataclass
class Checkpoint:
    """A file in which runs keep their place, every so many seconds.

    `about` says what the runs are: from a file that says something else, or cannot be
    read, nothing is taken. `refused` has why, or why none could be written, which ends
    no run; `say` is told at once. It is whole or not there, and stays until `remove`.
    """

    path: Path
    about: str = ""
    every: NotNegative = 300.0
    note: str = ""
    spent: float = 0.0  # seconds that the runs in the file had taken
    refused: str = ""
    say: Callable[[str], object] = str
    _kept: float = field(default_factory=time.monotonic)
    _begun: float = field(default_factory=time.monotonic)

    def load(self, runs: Sequence[str]) -> list[Place] | None:
        """Where each of these runs was, if the file knows."""
        self._begun = self._kept = time.monotonic()
        if not os.path.lexists(self.path):
            return None
        try:
            with safe_open(self.path, "pt") as file:
                head = _head(file)
                if [head["about"], head["runs"]] != [self.about, list(runs)]:
                    raise ValueError("it is about other runs")
                places = _unpacked(head["places"], file.get_tensor)
                self.spent = float(head["spent"])
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            self.refused = f"{self.path} is not gone on from: {error}"
            self.say(self.refused)
            return None
        return places

    @property
    def due(self) -> bool:
        """Whether it is time to keep the runs' places."""
        return time.monotonic() - self._kept >= self.every

    def keep(self, runs: Sequence[str], places: Sequence[Place]) -> None:
        """Write where each run is."""
        tensors: Tree = {}
        spent = self.spent + time.monotonic() - self._begun
        head = {"about": self.about, "runs": list(runs), "spent": spent}
        head["note"] = self.note
        head["places"] = _packed(list(places), tensors)
        try:
            with telling(self.path):
                self.path.parent.mkdir(exist_ok=True)
            with replacing(self.path) as file:
                file.write(save(tensors, {_ABOUT: json.dumps(head)}))
        except InputError as error:
            self.refused = str(error)
            self.say(self.refused)
        self._kept = time.monotonic()

    def remove(self) -> None:
        """Take the file away: what it was kept for is done."""
        self.path.unlink(missing_ok=True)


def place_of(simulation: Simulation) -> Place:
    """What the next round of a run needs of those before it."""
    s, h = simulation, simulation.history
    clients = None if h.clients is None else torch.from_numpy(h.clients)
    return {
        "servers": [dict(vars(server)) for server in s.servers],
        "group_of": list(s.group_of),
        "kept": _kept(s.kept),
        "own_models": _kept(s.own_models),
        "reports": dict(s.reports.known) if s.reports else {},
        "bytes": s.bytes,
        "rows": list(h.rows),
        "diverged_at": h.diverged_at,
        "clients": clients,
        "memory": dict(getattr(s.run.observe, "memory", {})),
    }


def gone_on(run: Run, place: Place) -> Simulation:
    """A run that goes on from a place where one like it once was."""
    s = Simulation(run, begin=False)
    s.servers = [ServerState(**server) for server in place["servers"]]
    s.group_of, s.bytes = place["group_of"], place["bytes"]
    for states, kept in ((s.kept, "kept"), (s.own_models, "own_models")):
        names = place[kept]["names"]
        states.of = place[kept]["of"]
        states.names = None if names is None else frozenset(names)
    if s.reports:
        s.reports.known = place["reports"]
    h, clients = s.history, place["clients"]
    h.rows, h.diverged_at = place["rows"], place["diverged_at"]
    h.clients = None if clients is None else clients.numpy()
    h.states = stack([server.model for server in s.servers])
    h.group_of = list(s.group_of)
    if place["memory"]:
        vars(run.observe)["memory"].update(place["memory"])
    return s


def _kept(states: ClientStates) -> Place:
    return {"of": dict(states.of), "names": states.names and sorted(states.names)}


def noted(path: Path) -> str:
    """The note of a checkpoint; nothing if it cannot be read."""
    try:
        with safe_open(path, "pt") as file:
            return str(_head(file)["note"])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        return ""


def _head(file: Any) -> Any:
    return json.loads((file.metadata() or {})[_ABOUT])


def _packed(value: Any, tensors: Tree) -> Any:
    """The same as plain JSON; tensors go to `tensors`, under numbers."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().clone(memory_format=CONTIGUOUS)
        return {_TENSOR: name, "device": str(value.device)}
    if isinstance(value, dict):
        pairs = [[k, _packed(v, tensors)] for k, v in value.items()]
        return {_ITEMS: pairs}
    if isinstance(value, (list, tuple)):
        return [_packed(v, tensors) for v in value]
    return value.item() if hasattr(value, "item") else value


def _unpacked(value: Any, tensor) -> Any:
    """What `_packed` was given."""
    if isinstance(value, list):
        return [_unpacked(v, tensor) for v in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensor(value[_TENSOR]).to(value["device"])
    return {k: _unpacked(v, tensor) for k, v in value[_ITEMS]}

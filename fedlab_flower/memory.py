"""The file of what a client keeps from round to round, at the client.

It is written whole or not at all, and holds two states: the one that the last round
began from and the one that it ended in. The server says with every question which
round of this client's it last counted, so that an answer that got lost, or a server
that went back to its checkpoint, finds the state that it takes the client to be in.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fedlab_core.atomic_files import replacing, telling
from fedlab_core.errors import InputError, require
from fedlab_core.tree import CONTIGUOUS, Tree
from fedlab_flower.messages import Trees

_ORDER = "order"
NEVER = -1  # the round of a client that none was counted of


@dataclass(frozen=True)
class Memory:
    """The memory of one client in one run; without a folder, nothing can be kept."""

    folder: str
    run: str
    client: int

    @property
    def path(self) -> Path:
        """Its file. A run's name is the server's word, and no way out of the folder."""
        sound = re.fullmatch(r"[0-9a-f]{16}", self.run)
        require(bool(sound), f"run {self.run!r:.40} is not the name of a run")
        return Path(self.folder) / f"{self.run}-{self.client}.safetensors"

    def recall(self, counted: int) -> Trees:
        """The trees kept after that round; none if none was counted."""
        if counted == NEVER:
            return {}
        try:
            with safe_open(self.path, "pt") as file:
                about = json.loads((file.metadata() or {})[_ORDER])
                keys = about[str(counted)]  # the names in their order
                found: Trees = {}
                for tree, name in keys:
                    tensor = file.get_tensor(f"{counted}|{tree}|{name}")
                    found.setdefault(tree, {})[name] = tensor
                return found
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            lost = f"what it kept after round {counted + 1} of run {self.run} is not in"
            folder = self.folder or "any folder"
            raise InputError(f"{lost} {folder} ({type(error).__name__})") from None

    def keep(self, counted: int, before: Trees, when: int, after: Trees) -> None:
        """Write the state that a round began from, and the one that it ended in."""
        require(
            bool(self.folder),
            "this method keeps something at every client: name a folder for it in the "
            """node's configuration, --node-config 'memory="/a/folder" ...'""",
        )
        states = {counted: before, when: after}
        tensors: Tree = {}
        order: dict[str, list[tuple[str, str]]] = {}
        for round_, trees in states.items():
            order[str(round_)] = [(tree, n) for tree, of in trees.items() for n in of]
            for tree, n in order[str(round_)]:
                v = trees[tree][n].detach().cpu()
                plain = v.clone(memory_format=CONTIGUOUS)
                tensors[f"{round_}|{tree}|{n}"] = plain
        with telling(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as file:
            file.write(save(tensors, {_ORDER: json.dumps(order)}))

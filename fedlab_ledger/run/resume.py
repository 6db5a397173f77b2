"""Checkpoints of long runs: a kill costs minutes of them, not hours.

The files are in the folder `.under_way` of the ledger, one for each setting and seeds
that are being played. A run goes on only from a file that the same code, torch,
threads and device have left, so that a line is what its provenance says.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from fedlab_core.atomic_files import sweep
from fedlab_core.rounds.checkpoint import Checkpoint, noted
from fedlab_ledger.model.cells import Setting
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run.jobs import Job

FOLDER = ".under_way"
OFTEN = 300.0  # seconds between two times that a run keeps its place


@dataclass(frozen=True)
class UnderWay:
    """Checkpoints of a ledger's runs: their folder, how often, and what made them."""

    ledger: Path
    every: float
    made_by: dict[str, Any]  # code, torch, threads, device
    say: Callable[[str], object] = str  # is told of a file that cannot be resumed
    used: list[Checkpoint] = field(default_factory=list)  # by the job that is played

    def of(self, job: Job, s: Setting, columns: Sequence[str]) -> Checkpoint:
        """Checkpoint of the runs of a job's setting, watched for these columns."""
        what = [s.key, list(job.seeds), sorted(set(columns))]
        name = sha256(json.dumps(what).encode()).hexdigest()[:16]
        path = self.ledger / FOLDER / f"{name}.safetensors"
        about = json.dumps([what, self.made_by], sort_keys=True)
        cells = [cell.key(job.scale) for cell in job.cells]
        note = json.dumps([cells, job.seeds])
        self.used.append(Checkpoint(path, about, self.every, note, say=self.say))
        return self.used[-1]

    def over(self) -> None:
        """Remove checkpoints of runs whose lines are stored, and an empty folder."""
        for checkpoint in self.used:
            checkpoint.remove()
        self.used.clear()
        self._leave()

    def tidy(self, found: Found) -> None:
        """Remove checkpoints of a player killed after it had stored its lines."""
        for path in (self.ledger / FOLDER).glob("*.safetensors"):
            with suppress(ValueError):
                cells, seeds = json.loads(noted(path))
                if all(set(seeds) <= found.of(key).keys() for key in cells):
                    path.unlink(missing_ok=True)
        self._leave()

    def _leave(self) -> None:
        sweep(self.ledger / FOLDER)
        with suppress(OSError):  # others are in it, or it was never made
            (self.ledger / FOLDER).rmdir()

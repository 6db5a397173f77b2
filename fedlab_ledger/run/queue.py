"""Queue file: tables to play, in order of worth, a line a table or a part of one.

# table | row | column; nothing stands for all
feddisco/table3 | FedAvg |
fedlaw/table3 | FedLAW | FMNIST MLP, α=0.1
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from fedlab_core.engine import choose_engine
from fedlab_core.errors import InputError, require
from fedlab_ledger.model.cells import Cell, Table
from fedlab_ledger.model.describe import how_many
from fedlab_ledger.run.build import data_of, maker_of
from fedlab_ledger.run.jobs import Job


@dataclass(frozen=True)
class Wanted:
    """A line of a queue: a table, and which rows and columns of it."""

    table: str
    row: str = ""
    column: str = ""

    def of(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells of that row and column: so named, else so named in part.

        "FedAvg" is the row of that name and not "FedAvg + Disco", where a table has it.
        """
        for name in ("row", "column"):
            asked = vars(self)[name]
            exact = [c for c in cells if vars(c)[name] == asked]
            cells = exact or [c for c in cells if asked in vars(c)[name]]
        return list(cells)


def read_queue(path: Path, tables: Mapping[str, Table]) -> list[Wanted]:
    """The lines of a queue file, all checked before any is played."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"--queue: {path} cannot be read: {why}") from None
    wanted = []
    for n, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where, parts = f"--queue: {path}:{n}", [p.strip() for p in line.split("|")]
        table = parts[0]
        require(table in tables, f"{where}: there is no table {table!r}")
        ways = list(_ways(table, parts[1:]))
        found = [asked for asked in ways if asked.of(tables[table].cells)]
        text = " | ".join(parts[1:])
        require(bool(found), f"{where}: no cell of {table} has {text!r}: row | column")
        wanted.append(found[0])
    require(bool(wanted), f"--queue: {path} asks for nothing")
    return wanted


def _ways(table: str, parts: Sequence[str]) -> Iterator[Wanted]:
    """Readings as row | column; a name may hold a bar: "last | attentive LAW"."""
    for i in range(1, len(parts) + 1) or [1]:
        yield Wanted(table, " | ".join(parts[:i]), " | ".join(parts[i:]))


def each_alone(waiting: Iterable[Job]) -> list[Job]:
    """The same jobs, cut into one a seed unless their clients train stacked.

    Seeds gain by training together only there: see `choose_engine`. By itself, a
    seed's lines are stored as soon as it is over, and less memory is needed.
    """
    made = []
    for job in waiting:
        if len(job.seeds) > 1 and not _stacked(job):
            made += [replace(job, seeds=(seed,)) for seed in job.seeds]
        else:
            made.append(job)
    return made


def _stacked(job: Job) -> bool:
    """Whether a job's clients train stacked; True if its data are missing.

    Missing data are reported when the job's turn has come.
    """
    s = job.settings[0]
    try:
        data = data_of(s)
    except InputError:
        return True
    clients = s.participants or how_many(s.scenario) or 2
    like = torch.zeros(1, *data.shape)
    return choose_engine(maker_of(s, data)(), clients, like) == "stacked"

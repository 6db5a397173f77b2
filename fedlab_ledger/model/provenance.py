"""Provenance of the ledger's numbers: the command, and the facts of the runs.

Every number that a page shows has both, so that a reader who doubts it can redo it.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedlab_ledger.model.cells import Cell, Table
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.verdict import counting

USUAL_SEEDS = (0, 1, 2)  # those of `run` without --seeds
PROGRAM = "python -m fedlab_core"


def command(cell: Cell, scale: str, lines: Sequence[Line]) -> str:
    """Command that makes these lines of a cell."""
    place = ["--row", cell.row, "--column", cell.column]
    return _run([f"{cell.paper}/{cell.table}"], scale, place, lines)


def table_command(table: Table, scale: str, lines: Sequence[Line]) -> str:
    """Command that makes a whole table at that scale."""
    return _run([table.path], scale, [], lines)


def _run(
    names: Sequence[str], scale: str, more: Sequence[str], lines: Sequence[Line]
) -> str:
    words = [*names, "--scale", scale, *more]
    seeds = sorted({line["seed"] for line in lines})
    if lines and tuple(seeds) != USUAL_SEEDS:
        words += ["--seeds", *map(str, seeds)]
    if any(not line["device"].startswith("cpu") for line in lines):
        words += ["--device", "cuda"]
    return f"{PROGRAM} run {shlex.join(words)}"


@dataclass(frozen=True)
class Provenance:
    """Seeds, device, versions, dates and seconds of some lines."""

    seeds: tuple[int, ...]
    device: str
    torch: str
    commit: str
    dates: str
    seconds: float  # of all runs, each counted once

    @property
    def text(self) -> str:
        """The provenance in a few words."""
        about = [self.device, f"torch {self.torch}", f"commit {self.commit}"]
        return ", ".join([*about, self.dates, took(self.seconds)])


def provenance(lines: Sequence[Line]) -> Provenance:
    """Provenance that these lines share, with every value that occurs."""
    days = sorted(line["date"][:10] for line in lines)
    dates = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return Provenance(
        tuple(sorted({line["seed"] for line in lines})),
        _all(line["device"] for line in lines),
        _all(line["torch"] for line in lines),
        _all(line["commit"] for line in lines),
        dates,
        sum(line["seconds"] for line in different(lines)),
    )


def _all(values: Iterable[str]) -> str:
    return " and ".join(sorted(set(values)))


def took(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def lines_of(cell: Cell, scale: str, found: Found) -> list[Line]:
    """Lines of a cell at that scale that count, in order of seeds."""
    return list(counted(cell, scale, found).values())


def counted(cell: Cell, scale: str, found: Found) -> dict[int, Line]:
    """Lines of a cell that count, by seed: of its own seeds, or of the rule's."""
    lines = found.of(cell.key(scale)) if scale in cell.settings else {}
    wanted = counting(scale, lines) if cell.seeds is None else cell.seeds
    return {seed: line for seed, line in lines.items() if seed in wanted}


def different(lines: Iterable[Line]) -> list[Line]:
    """One line of each run: several cells may report something of one."""
    once = {(v["seed"], v["date"], v["seconds"], v["device"]): v for v in lines}
    return list(once.values())

"""Jobs: cells that want the same runs, played together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedlab_core.arguments import Seed, checked
from fedlab_ledger.model.cells import Cell, Scale, Setting
from fedlab_ledger.model.lines import Found


@checked
@dataclass(frozen=True)
class Job:
    """Cells that want the same runs of the same seeds, at one scale."""

    scale: Scale
    settings: tuple[Setting, ...]  # the cells' own, and one to compare it with
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """Name of its first cell, and the number of the others."""
        first, *others = self.cells
        return f"{first.name} and {len(others)} more" if others else first.name

    @property
    def rounds(self) -> int:
        """Number of rounds to play."""
        return len(self.seeds) * sum(s.rounds for s in self.settings)


@checked
def jobs(
    cells: Iterable[Cell], scale: Scale, seeds: Sequence[Seed], found: Found
) -> list[Job]:
    """Jobs for missing lines, the longest-waiting first: never played before played.

    Cells without this scale are left out; cells of one setting become one job. Of cells
    with one key, and so with the same lines, the first stands for the others.
    """
    shared: dict[tuple, dict[str, Cell]] = {}
    since: dict[tuple, str] = {}
    for cell in cells:
        if scale not in cell.settings:
            continue
        there = found.of(cell.key(scale))
        missing = tuple(seed for seed in seeds if seed not in there)
        if not missing:
            continue
        at = (tuple(setting.key for setting in cell.runs(scale)), missing)
        shared.setdefault(at, {}).setdefault(cell.key(scale), cell)
        last = max((line["date"] for line in there.values()), default="")
        since[at] = min(since.get(at, last), last)
    made = []
    for at in sorted(shared, key=lambda a: since[a]):
        mine = tuple(shared[at].values())
        made.append(Job(scale, mine[0].runs(scale), at[1], mine))
    return made


def alone(cell: Cell, scale: Scale, seeds: Sequence[int]) -> Job:
    """The job of one cell."""
    return Job(scale, cell.runs(scale), tuple(seeds), (cell,))

"""Lines of cells whose runs were played for others: another number of the same curve.

A table's mean of the last rounds and its rounds to a target are two numbers of one run.
What a run stores is enough for both, so that the second one needs no training.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fedlab_ledger.model.cells import Cell, Table
from fedlab_ledger.model.lines import Found, Line, found_in
from fedlab_ledger.model.measures import column_of, measure
from fedlab_ledger.model.store import Store


@dataclass
class SharedRuns:
    """Lines that are there, by the setting of their run, whichever cell has them."""

    tables: Iterable[Table]
    found: Found
    scale: str
    _keys: dict[str, list[str]] = field(default_factory=dict)  # cells' keys, by setting

    def __post_init__(self) -> None:
        for cell in (c for table in self.tables for c in table.cells):
            if self.scale in cell.settings:
                keys = self._keys.setdefault(cell.settings[self.scale].key, [])
                keys.append(cell.key(self.scale))

    def added(
        self, cells: Iterable[Cell], seeds: Sequence[int], store: Store | None
    ) -> tuple[Found, int]:
        """The ledger with what was missing, and how much; a store keeps it."""
        taken: dict[tuple[str, str], list[Line]] = {}
        for line in self.missing(cells, seeds):
            taken.setdefault((line["paper"], line["table"]), []).append(line)
        new = list(taken.values())
        if store and new:
            store.ready(taken)
            for lines in new:
                store.append(lines)
        there = [v for by_seed in self.found.lines.values() for v in by_seed.values()]
        found = found_in([(there, []), *((lines, []) for lines in new)])
        return (found if new else self.found), sum(map(len, new))

    def missing(self, cells: Iterable[Cell], seeds: Sequence[int]) -> Iterator[Line]:
        """Lines of these cells and seeds that are not there, but whose runs are."""
        for key, cell in {c.key(self.scale): c for c in cells if self._has(c)}.items():
            there = self.found.of(key)
            for seed in seeds:
                line = None if seed in there else self._line(cell, seed)
                if line:
                    yield line

    def _has(self, cell: Cell) -> bool:
        return self.scale in cell.settings

    def _line(self, cell: Cell, seed: int) -> Line | None:
        """A cell's line from a run that was played for another one, if there is one."""
        column = column_of(cell.metric)
        mine = self._run(cell.settings[self.scale].key, seed, column)
        other = cell.against.get(self.scale)
        theirs = self._run(other.key, seed) if other else None
        if mine is None or (other and theirs is None):
            return None
        line = {k: v for k, v in mine.items() if k != "seen"}
        line |= {"seen": {column: mine["seen"][column]}} if column else {}
        line |= {"key": cell.key(self.scale), "paper": cell.paper, "table": cell.table}
        line |= {"row": cell.row, "column": cell.column}
        return line | {"value": measure(cell.metric, mine, theirs)}

    def _run(self, setting: str, seed: int, column: str | None = None) -> Line | None:
        """A stored line of a run, which has that column of its history."""
        for key in self._keys.get(setting, ()):
            line = self.found.of(key).get(seed)
            if line and (column is None or column in line.get("seen", {})):
                return line
        return None

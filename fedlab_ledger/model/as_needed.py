"""A ledger read as needed: a table's file when a number of the table is asked for.

A page that shows one paper reads, and so depends on, the files of that paper alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fedlab_ledger.model.cells import Table
from fedlab_ledger.model.lines import Found, Line, found_in
from fedlab_ledger.model.store import Store

Place = tuple[str, str]  # paper and table


@dataclass(frozen=True)
class AsNeeded(Mapping[str, dict[int, Line]]):
    """The lines of a store, by key and seed, of the tables declared to have them."""

    store: Store
    places: dict[str, list[Place]]  # by key, in the files' order
    _read: dict[Place, Found] = field(default_factory=dict)

    def __getitem__(self, key: str) -> dict[int, Line]:
        lines: dict[int, Line] = {}
        for place in self.places[key]:
            if place not in self._read:
                self._read[place] = found_in([self.store.lines(*place)])
            # of two lines with one seed, the one in the first file
            lines = self._read[place].of(key) | lines
        if not lines:
            raise KeyError(key)
        return lines

    def __iter__(self) -> Iterator[str]:
        return (key for key in self.places if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def as_needed(store: Store, tables: Iterable[Table]) -> Found:
    """Lines of these tables in a store; nothing is read yet."""
    places: dict[str, set[Place]] = {}
    for table in tables:
        for cell in table.cells:
            for scale in cell.settings:
                places.setdefault(cell.key(scale), set()).add((table.paper, table.name))
    ordered = {k: sorted(at, key=lambda p: store.path(*p)) for k, at in places.items()}
    return Found(AsNeeded(store, ordered))

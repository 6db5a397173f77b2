"""A paper's headline table at the paper's own scale: its numbers, ours, what they cost.

Which table that is, the paper's folder says, once for all pages. Each of its cells is
quoted with the lines that were measured of it at that scale, and at no other: where
there are none, with what a seed of it would take.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedlab_core.arguments import checked
from fedlab_ledger.judge.show import COMPARABLE, Shown, shown
from fedlab_ledger.model.cells import Cell, Table
from fedlab_ledger.model.headline import SCALE, Headline
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.provenance import counted, took

COSTS = "costs.jsonl"  # beside the ledger's folder
Tried = Mapping[str, Mapping[str, Any]]  # what was tried, by the key of a cell


@dataclass(frozen=True)
class Quoted:
    """A cell of a headline, with what was measured of it at the paper's scale."""

    shown: Shown
    lines: dict[int, Line]  # by seed
    tried: Mapping[str, Any] | None = None  # what a seed costs, if nothing is there

    @property
    def cell(self) -> Cell:
        return self.shown.cell

    @property
    def seeds(self) -> dict[int, float | None]:
        """Number of each seed; None where it has none."""
        return {seed: line["value"] for seed, line in self.lines.items()}

    @property
    def seconds(self) -> float | None:
        """Time that a seed was tried to take, if nothing is there."""
        return None if self.tried is None else self.tried["seconds"]

    @property
    def cost(self) -> str:
        """Time of a seed in words; nothing if that was not tried."""
        if self.tried is None:
            return ""
        return f"about {took(self.tried['seconds'])} a seed on {machine(self.tried)}"

    @property
    def off(self) -> float | None:
        """Our mean less the paper's number, if that is more than the tolerance."""
        cell, mean = self.cell, self.shown.verdict.mean
        if self.shown.status != COMPARABLE or cell.paper_value is None:
            return None
        apart = mean - cell.paper_value
        return apart if abs(apart) > cell.tolerance else None  # nan is not


@checked
def quoted(
    headline: Headline, found: Found, costs: Tried | None = None
) -> list[Quoted]:
    """A headline's cells in order, with what is there at the paper's scale."""
    known, made = costs or {}, []
    for cell in headline.cells:
        at_scale = shown(Table(cell.paper, cell.table, "", (cell,)), found, SCALE)[0]
        lines = counted(cell, SCALE, found)
        tried = None if lines else known.get(cell.key(SCALE))
        made.append(Quoted(at_scale, lines, tried))
    return made


def played(quotes: Sequence[Quoted]) -> list[Quoted]:
    """Quotes of which at least one seed was run."""
    return [q for q in quotes if q.lines]


def machine(line: Mapping[str, Any]) -> str:
    """The device in words: "one thread of a CPU", or the name of a GPU."""
    if not line["device"].startswith("cpu"):
        return line["device"]
    n = line["threads"]
    return "one thread of a CPU" if n == 1 else f"{n} threads of a CPU"


def read_costs(ledger: Path) -> Tried:
    """Costs that were tried, the last try of each run; none without the file."""
    path = ledger.parent / COSTS
    if not path.is_file():
        return {}
    lines = [json.loads(text) for text in path.read_text().splitlines() if text]
    return {line["key"]: line for line in lines}

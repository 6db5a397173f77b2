"""Searches for what did not come out, three claims a paper, and what was changed.

They are, among the claims that did not come out, those whose gain fell shortest of
the paper's, no two for one reason: where several methods fail alike, FedAvg's stands
for them, and where a paper prints no number, what speaks against it most. That they
were found by seeds 0, 1 and 2 makes them look larger than they are; so a search plays
other seeds, and first of all the same settings with nothing changed. One change at a
time, both sides of the claim alike, unless it says whose. With some seventy tries, one
or two hold by chance alone. What the first tries suggested was looked at once more, on
seeds not played with before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

from fedlab_core.errors import require
from fedlab_ledger.model import Cell, Claim, Setting, Table
from fedlab_ledger.model.cells import Scale
from fedlab_ledger.papers.common import Plain, joined
from fedlab_ledger.papers.numbers import known, read

FRESH = (3, 4, 5, 6, 7)
AGAIN = (8, 9, 10, 11, 12)  # for what the first tries suggested
SAME = "nothing but other seeds"
_ONE_SCALE = "a search at the scale at which the claim failed"


@dataclass(frozen=True)
class Try:
    """A change in words, of both sides of a claim, of one's, or of the other's.

    `seeds` are its own, if not those of the search, and `claim` is one like the
    search's, if it looks at that.
    """

    words: str
    both: Plain = field(default_factory=dict)
    mine: Plain = field(default_factory=dict)
    theirs: Plain = field(default_factory=dict)
    seeds: Sequence[int] = ()
    claim: Claim | None = None


@dataclass(frozen=True)
class Gap:
    """A claim that failed, what may be behind it, and what was tried.

    `checks` are the headline's numbers, as "table row | column", that were looked into
    by it: where they are off, a page says what came of it.
    """

    name: str
    claim: Claim
    suspects: str
    tries: tuple[Try, ...]
    scale: Scale = "small"
    seeds: Sequence[int] = FRESH
    found_by: Sequence[int] = (0, 1, 2)
    checks: Sequence[str] = ()

    @property
    def before(self) -> Claim:
        """The claim as it failed, with the seeds that it failed with."""
        words = f"in the ledger, seeds {self.found_by[0]} to {self.found_by[-1]}"
        return replace(self.claim, sentence=words, seeds=tuple(self.found_by))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claim anew, with every change."""
        return tuple(self._with(t) for t in self.tries)

    @property
    def table(self) -> Table:
        """Both sides' cells, a column a change."""
        cells = [c for claim in self.claims for c in (claim.cell, claim.beside)]
        return Table("gaps", self.name, self.claim.sentence, tuple(cells))

    def _with(self, t: Try) -> Claim:
        c = t.claim or self.claim
        sides = (c.cell, joined(t.both, t.mine)), (c.beside, joined(t.both, t.theirs))
        seeds = tuple(t.seeds or self.seeds)
        made = [self._cell(side, change, t.words, seeds) for side, change in sides]
        return Claim(
            "gaps",
            f"{self.name}: {t.words}",
            t.words,
            *made,
            sign=c.sign,
            said=c.gain,
            tolerance=c.tolerance,
            seeds=seeds,
            again=c.slug,
        )

    def _cell(
        self, cell: Cell, change: Plain, words: str, seeds: tuple[int, ...]
    ) -> Cell:
        alike = self.claim.cell.row == self.claim.beside.row
        changed = Setting(**joined(cell.settings[self.scale].plain(), change))
        return replace(
            cell,
            paper="gaps",
            table=self.name,
            row=f"{cell.row}, {cell.column}" if alike else cell.row,
            column=words,
            settings={self.scale: changed},
            paper_value=None,
            paper_spread=None,
            over=None,
            lacks=_ONE_SCALE,
            seeds=seeds,
            notes=self._notes(cell, change),
        )

    def _notes(self, cell: Cell, change: Plain) -> dict[str, str]:
        """The note on the cell at this scale; a change may be of what it says."""
        note = cell.notes.get(self.scale)
        but = f"{note}; apart from the change" if note and change else note
        return {self.scale: but} if but else {}


def changed(setting: Setting, change: Plain) -> Setting:
    """A setting with something laid over it."""
    return Setting(**joined(setting.plain(), change))


def gaps_of(path: Path, claims: Sequence[Claim]) -> tuple[Gap, ...]:
    """The searches of a file, for some of these claims."""
    named = {claim.name: claim for claim in claims}
    keys = {f.name for f in fields(Gap)} - {"name"}
    made = []
    for name, about in read(path).items():
        known(path, name, about, keys, ["claim", "suspects", "tries"])
        for one in about["tries"]:
            names = {f.name for f in fields(Try)}
            known(path, f"{name}.tries", one, names, ["words"])
        for one in (about, *about["tries"]):
            asked = one.get("claim", about["claim"])
            missing = f"{path.parent.name}/{path.name}: {name}: no claim {asked!r}"
            require(asked in named, missing)
        tries = tuple(
            Try(**one | {"claim": named.get(one.get("claim"))})
            for one in about["tries"]
        )
        more = {"claim": named[about["claim"]], "tries": tries}
        made.append(Gap(name, **about | more))
    return tuple(made)

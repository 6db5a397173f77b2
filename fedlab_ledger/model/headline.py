"""The cells that a paper is known by."""

from collections.abc import Iterable
from dataclasses import dataclass

from fedlab_core.arguments import checked
from fedlab_core.errors import require
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.claim import Claim

SCALE = "paper"  # at which a headline is quoted


@checked
@dataclass(frozen=True)
class Headline:
    """The cells that a paper is known by, in the order in which they are shown.

    `words` says what they are, in a line. `curves` is where the paper draws their
    accuracy round by round, if it does.
    """

    paper: str
    words: str
    cells: tuple[Cell, ...]
    curves: str = ""

    def __post_init__(self) -> None:
        require(bool(self.cells), f"{self.paper}: a headline without cells")
        other = sorted({c.paper for c in self.cells} - {self.paper})
        require(not other, f"{self.paper}: cells of {', '.join(other)}")
        missing = [c.name for c in self.cells if SCALE not in c.settings]
        require(not missing, f"no setting at the paper's scale: {missing[:1]}")

    @property
    def name(self) -> str:
        """Names of the tables that have them: Table 1 and Table 2."""
        places = (c.where.split(";")[0].split(",")[0] for c in self.cells)
        return " and ".join(dict.fromkeys(places))

    def claims(self, claims: Iterable[Claim]) -> list[Claim]:
        """A paper's claims that compare two of these cells, each pair once."""
        mine = {c.key(SCALE) for c in self.cells}
        kept: dict[tuple, Claim] = {}
        for claim in claims:
            if all(SCALE in side.settings for side in claim.sides):
                pair = tuple(side.key(SCALE) for side in claim.sides)
                if mine.issuperset(pair):
                    kept.setdefault(pair, claim)
        return list(kept.values())

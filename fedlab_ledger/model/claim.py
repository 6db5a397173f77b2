"""A claim of a paper: one cell beats another one, and by how much."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.errors import require
from fedlab_ledger.model.cells import Cell, Setting

_LETTERS = {"α": "alpha", "β": "beta", "γ": "gamma", "λ": "lambda", "ρ": "rho"}


@checked
@dataclass(frozen=True)
class Claim:
    """A claim that `cell` is above `beside` (sign 1), below it (-1), or as high (0).

    The gain is the difference of the cells' numbers in the paper; `said` is the gain
    where the paper gives that and not the numbers. Without either, only the sign is
    claimed. `tolerance` is in the cells' unit. `seeds` are for a search that plays
    others than the rule has, `again` is the slug of the claim that it looks for.

    `role` says whether it is the paper's main claim once more, of a gain in accuracy
    over the same training without the method ("main"), a comparison with other methods
    ("others"), or one of something else ("study"); `setting` where it is made.

    Two forms of a method are as good as each other wherever the method does nothing.
    `without` is then the same training without the method: a claim of no difference
    holds only where `beside` can be told from it.
    """

    paper: str
    name: str
    sentence: str
    cell: Cell
    beside: Cell
    sign: Literal[-1, 0, 1] = 1
    said: float | None = None
    tolerance: NotNegative = 1.0
    seeds: tuple[int, ...] | None = None
    again: str = ""
    without: Cell | None = None
    role: Literal["main", "others", "study"] = "study"
    setting: str = ""

    def __post_init__(self) -> None:
        units = sorted({c.unit for c in self.cells})
        require(len(units) == 1, f"{self.path}: compares {' with '.join(units)}")
        gain, tie = self.gain, self.sign == 0
        fits = gain is None or tie or math.copysign(1, gain) == self.sign and gain != 0
        require(fits, f"{self.path}: sign {self.sign}, but the paper's gain is {gain}")
        same = self.without is None or tie
        require(same, f"{self.path}: `without` is for a claim of no difference")
        points = self.sign == 1 and units[0] in ("%", "share")
        counts = self.role == "study" or points
        require(counts, f"{self.path}: role {self.role!r} is for gains in accuracy")

    @property
    def sides(self) -> tuple[Cell, Cell]:
        """The two cells that are compared."""
        return self.cell, self.beside

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All that has to be played to judge it."""
        return self.sides if self.without is None else (*self.sides, self.without)

    @property
    def published(self) -> Setting | None:
        """The paper's own setting for it, as far as that is declared."""
        return self.cell.settings.get("paper")

    @property
    def path(self) -> str:
        """Paper and name in one line."""
        return f"{self.paper}/{self.name}"

    @property
    def slug(self) -> str:
        """The claim in an address: lower letters, digits and dashes.

        Not a dot: a page's scripts read an address as a selector, too.
        """
        text = re.sub(r"(?<=\w)\+", " plus", self.path.lower())
        text = "".join(_LETTERS.get(c, c) for c in text)
        return re.sub(r"[^a-z0-9]+", "-", text).strip("-")

    @property
    def where(self) -> str:
        """The setting that it is made in; without one, the whole sentence."""
        return self.setting or self.sentence

    @property
    def source(self) -> str:
        """Words for whose gain it is, where that is not the paper's."""
        other = [c.source for c in self.sides if c.source != "the paper"]
        typed = self.said is not None and not self.again
        return other[0] if other and not typed else "the paper"

    @property
    def whose_gain(self) -> str:
        """Words for the gain: the paper's gain, or that of whose run it is."""
        paper = self.source == "the paper"
        return "the paper's gain" if paper else f"the gain of {self.source}"

    @property
    def gain(self) -> float | None:
        """The paper's gain, if it gives one."""
        a, b = self.cell.paper_value, self.beside.paper_value
        if self.said is not None:
            return self.said
        return None if a is None or b is None else a - b

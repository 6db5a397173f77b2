"""What the papers claim, as pairs of cells: this one beats that one, and by how much.

A claim is judged by seeds that both cells were played with, at one scale.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fedlab_core.arguments import NotNegative, checked
from fedlab_core.errors import require
from fedlab_ledger.cells import SCALES, Cell, Scale
from fedlab_ledger.lines import Found, Line
from fedlab_ledger.verdict import NONE, WORDS, Verdict, judge_gain


@checked
@dataclass(frozen=True)
class Claim:
    """That `cell` is above `beside` (sign 1), below it (-1), or as high (0).

    The gain is the difference of the cells' numbers in the paper; `said` is the gain
    where the paper gives that and not the numbers. Without either, only the sign is
    claimed. `tolerance` is in the cells' unit; `seeds` are those that count, or all.
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

    def __post_init__(self) -> None:
        units = sorted({self.cell.unit, self.beside.unit})
        require(len(units) == 1, f"{self.path}: compares {' with '.join(units)}")
        gain, tie = self.gain, self.sign == 0
        fits = gain is None or tie or math.copysign(1, gain) == self.sign and gain != 0
        require(fits, f"{self.path}: sign {self.sign}, but the paper's gain is {gain}")

    @property
    def sides(self) -> tuple[Cell, Cell]:
        """The two cells that are compared."""
        return self.cell, self.beside

    @property
    def path(self) -> str:
        """Paper and name in one line."""
        return f"{self.paper}/{self.name}"

    @property
    def gain(self) -> float | None:
        """The paper's gain, if it gives one."""
        a, b = self.cell.paper_value, self.beside.paper_value
        if self.said is not None:
            return self.said
        return None if a is None or b is None else a - b


@dataclass(frozen=True)
class Judged:
    """A claim with what was found, at one scale ("-": at none)."""

    claim: Claim
    scale: str
    verdict: Verdict


@checked
def judged(
    claims: Iterable[Claim], found: Found, scale: Scale | None = None
) -> list[Judged]:
    """Every claim with its verdict, at that scale or the largest with a common seed."""
    return [_judged(claim, found, scale or _scale(claim, found)) for claim in claims]


def _scale(claim: Claim, found: Found) -> str:
    for scale in reversed(SCALES):
        mine, theirs = (_values(claim, c, found, scale) for c in claim.sides)
        if mine.keys() & theirs.keys():
            return scale
    return "-"


def lines_by_seed(
    claim: Claim, cell: Cell, found: Found, scale: str
) -> dict[int, Line]:
    """What was measured of one of a claim's cells, with the seeds that count."""
    if scale not in cell.settings:
        return {}
    lines, wanted = found.of(cell.key(scale)), claim.seeds
    return {k: v for k, v in lines.items() if wanted is None or k in wanted}


def _values(
    claim: Claim, cell: Cell, found: Found, scale: str
) -> dict[int, float | None]:
    lines = lines_by_seed(claim, cell, found, scale)
    return {k: line["value"] for k, line in lines.items()}


def _judged(claim: Claim, found: Found, scale: str) -> Judged:
    mine, theirs = (_values(claim, c, found, scale) for c in claim.sides)
    if not mine.keys() & theirs.keys():
        why = "no seed that both were played with"
        return Judged(claim, scale, Verdict(NONE, why))
    gain = 0.0 if claim.sign == 0 else claim.gain
    sign, limit = claim.sign, claim.tolerance
    verdict = judge_gain(mine, theirs, gain, limit, scale=scale, sign=sign)
    return Judged(claim, scale, verdict)


def as_text(rows: list[Judged]) -> str:
    """Three lines a claim, and what the verdicts come to."""
    text = []
    for row in rows:
        claim, v = row.claim, row.verdict
        gain = "" if claim.gain is None else f", by {claim.gain:+.4g} {claim.cell.unit}"
        seeds = f"{row.scale}, {v.n} seed{'' if v.n == 1 else 's'}"
        text += [
            f"{claim.path}: {v.word} ({seeds})",
            f"  claim: {claim.sentence}{gain}",
            f"  here: {v.why}",
        ]
    counts = {word: sum(row.verdict.word == word for row in rows) for word in WORDS}
    said = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "none"
    return "\n".join([*text, f"{len(rows)} claims: {said}"]) + "\n"

"""Verdicts as they were before the rule of `verdict`, so that both can be counted.

A claim was read as holding if its difference had the claimed sign in every seed, or its
interval lay on that side of zero; with three seeds or more it was read as failed
otherwise, also where the interval contains zero and nothing can be told.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from fedlab_ledger.judge.claims import Judged
from fedlab_ledger.model.verdict import LEAST, NONE, WORDS

Reading = Literal["read as holding", "read as failed", "too few seeds"]
HELD, FAILED, FEW = READINGS = get_args(Reading)
_ROUNDING = 1e-9


def earlier(row: Judged) -> Reading:
    """How the same seeds were read before."""
    both = [k for k in row.mine if k in row.theirs]
    pairs = [(row.mine[k]["value"], row.theirs[k]["value"]) for k in both]
    x = [a - b for a, b in pairs if a is not None and b is not None]
    v, side = row.verdict, row.claim.sign
    clear = v.n > 1 and side * v.mean - v.half > _ROUNDING
    held = clear or all(side * d > _ROUNDING for d in x)
    if side == 0:
        held = abs(v.mean) <= row.claim.tolerance + _ROUNDING
    if held and x:
        return HELD
    return FEW if v.n < LEAST else FAILED


def crossed(rows: Sequence[Judged]) -> dict[Reading, dict[str, int]]:
    """How many claims that were judged were read so before, by their word now."""
    counts: dict[Reading, dict[str, int]] = {
        reading: dict.fromkeys(WORDS, 0) for reading in READINGS
    }
    for row in rows:
        if row.verdict.word != NONE:
            counts[earlier(row)][row.verdict.word] += 1
    return counts

"""Verdicts on the papers' claims: this cell beats that one, and by how much.

A claim is judged by the seeds that both cells were played with, at one scale.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from fedlab_core.arguments import checked
from fedlab_core.metrics import mean_interval
from fedlab_ledger.model.cells import SCALES, Cell, Scale
from fedlab_ledger.model.claim import Claim
from fedlab_ledger.model.describe import constants, dataset, methods, network, ran_on
from fedlab_ledger.model.lines import Found, Line
from fedlab_ledger.model.provenance import command
from fedlab_ledger.model.verdict import (
    CHANCE,
    LEAST,
    NO_VERDICT,
    NONE,
    OPPOSITE,
    SAME,
    WORDS,
    Verdict,
    counting,
    judge_forms,
    judge_gain,
    two_groups,
)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the lines behind it, at one scale ("-": at none).

    `mine` and `theirs` are the lines of both sides, by seed, that counted, `without`
    those of the training without the method, where the claim asks for it.
    """

    claim: Claim
    scale: str
    verdict: Verdict
    mine: dict[int, Line]
    theirs: dict[int, Line]
    without: dict[int, Line] = field(default_factory=dict)

    @property
    def stand_in(self) -> bool:
        """Whether it was judged on other data, networks or rounds than the paper's."""
        return self.scale not in ("paper", "-")

    @property
    def word(self) -> str:
        """The verdict's word, with a remark if a stand-in was judged."""
        judged_ = self.verdict.word != NONE
        return f"{self.verdict.word}{' on a stand-in' * (self.stand_in and judged_)}"

    @property
    def ran_on(self) -> str:
        """Data, network, clients, rounds and seeds; nothing where nothing was run."""
        if self.scale not in self.claim.cell.settings:
            return ""
        s, v = self.claim.cell.settings[self.scale], self.verdict
        return ran_on(s, v.n, v.lost)

    @property
    def by_seed(self) -> dict[int, float]:
        """The difference of each seed that has a number on both sides."""
        return paired(self.mine, self.theirs)

    @property
    def groups(self) -> tuple[np.ndarray, ...]:
        """The upper and the lower differences, where seeds fall into two groups."""
        return two_groups(np.array([*self.by_seed.values()])) or ()

    @property
    def diverged(self) -> int:
        """How many seeds have no number because a side of theirs diverged."""
        bad = [self._pair(k) for k in self._seeds - self.by_seed.keys()]
        return sum(any(line["diverged"] for line in lines) for lines in bad)

    @property
    def lost(self) -> str:
        """Reasons why some seeds have no number; empty if all have one."""
        far = len(self._seeds) - len(self.by_seed) - self.diverged
        said = [f"{self.diverged} diverged"] * bool(self.diverged)
        said += [f"{far} never came as far"] * bool(far)
        return ", ".join(said)

    @property
    def whole(self) -> dict[int, float]:
        """A gain in accuracy over all rounds, in points by seed; else nothing.

        The mean of the whole curve: whether a method is ahead all along, beside what
        the claim is judged by.
        """
        name = self.claim.cell.metric.partition("-")[0]
        if name not in ("acc", "last", "best", "mean", "at") or self.stand_in:
            return {}
        curves = {k: [v["curve"] for v in self._pair(k)] for k in sorted(self._seeds)}
        whole = {k: c for k, c in curves.items() if all(v and None not in v for v in c)}
        return {k: 100 * (fmean(a) - fmean(b)) for k, (a, b) in whole.items()}

    def _pair(self, seed: int) -> tuple[Line, Line]:
        return self.mine[seed], self.theirs[seed]

    def repeats(self, other: "Judged") -> bool:
        """Whether both are one and the same run: equal to the digit on equal seeds.

        So it is where a method does what another does, as FedNova with equal steps.
        """
        pairs = ((self.mine, other.mine), (self.theirs, other.theirs))
        common = self._seeds & other._seeds
        return len(common) >= min(LEAST, len(self._seeds), len(other._seeds)) and all(
            a[k]["value"] == b[k]["value"] and a[k]["curve"] == b[k]["curve"]
            for a, b in pairs
            for k in common
        )

    @property
    def _seeds(self) -> set[int]:
        return self.mine.keys() & self.theirs.keys()


def different(rows: Iterable[Judged]) -> list[Judged]:
    """Judged claims, each experiment once: of equal ones, the one with most seeds.

    The order stays; of equal ones with equally many seeds, the first is kept.
    """
    done = [row for row in rows if row.verdict.word != NONE]
    return once(done, lambda row: row.verdict.n)


def once(rows: Sequence[Any], seeds: Callable[[Any], int]) -> list[Any]:
    """Rows without those that repeat another of as many `seeds` or more, in order."""
    kept: list[Any] = []
    for i, row in sorted(enumerate(rows), key=lambda pair: -seeds(pair[1])):
        if not any(row.repeats(one) for _, one in kept):
            kept.append((i, row))
    return [row for _, row in sorted(kept, key=lambda pair: pair[0])]


def paired(mine: Mapping[int, Line], theirs: Mapping[int, Line]) -> dict[int, float]:
    """The difference of each seed that has a number on both sides."""
    both = {
        k: (mine[k]["value"], theirs[k]["value"]) for k in sorted(mine) if k in theirs
    }
    return {k: a - b for k, (a, b) in both.items() if a is not None and b is not None}


@checked
def judged(
    claims: Iterable[Claim], found: Found, scale: Scale | None = None
) -> list[Judged]:
    """Every claim with its verdict, at that scale or the largest that can decide."""
    return [_judged(claim, found, scale or _scale(claim, found)) for claim in claims]


def _scale(claim: Claim, found: Found) -> str:
    """The largest scale with enough seeds on both sides, or else with any."""
    for least in (LEAST, 1):
        for scale in reversed(SCALES):
            mine, theirs = (lines_by_seed(claim, c, found, scale) for c in claim.sides)
            if len(mine.keys() & theirs.keys()) >= least and scale != "tiny":
                return scale
    return "-"


def lines_by_seed(
    claim: Claim, cell: Cell, found: Found, scale: str
) -> dict[int, Line]:
    """Lines of one of a claim's cells, by seed, for the seeds that count."""
    if scale not in cell.settings:
        return {}
    lines = found.of(cell.key(scale))
    wanted = counting(scale, lines) if claim.seeds is None else claim.seeds
    return {k: v for k, v in lines.items() if k in wanted}


def _judged(claim: Claim, found: Found, scale: str) -> Judged:
    mine, theirs = (lines_by_seed(claim, c, found, scale) for c in claim.sides)
    if scale == "tiny":
        verdict = Verdict(NONE, "tiny runs show that it works, nothing else")
        return Judged(claim, scale, verdict, mine, theirs)
    gain = 0.0 if claim.sign == 0 else claim.gain
    verdict = judge_gain(
        _values(mine),
        _values(theirs),
        gain,
        claim.tolerance,
        sign=claim.sign,
        own_scale=scale == "paper",
        broken=sum(theirs[k]["diverged"] is not None for k in mine if k in theirs),
        whose=claim.source,
    )
    if claim.without is None:
        return Judged(claim, scale, verdict, mine, theirs)
    without = lines_by_seed(claim, claim.without, found, scale)
    verdict = judge_forms(verdict, _values(theirs), _values(without))
    return Judged(claim, scale, verdict, mine, theirs, without)


def _values(lines: dict[int, Line]) -> dict[int, float | None]:
    return {k: line["value"] for k, line in lines.items()}


@dataclass(frozen=True)
class Tally:
    """Count of verdicts, in which claims of one and the same run count once."""

    claims: int
    runs: int  # different experiments among those that were judged
    words: dict[str, int]  # of the different ones
    by_chance: float  # how many of them no difference at all would give, to each side

    @property
    def many(self) -> str:
        """Numbers of claims and of different experiments, in words."""
        claims = "1 claim" if self.claims == 1 else f"{self.claims} claims"
        return f"{claims}, {self.runs} different experiments"

    @property
    def text(self) -> str:
        """The counts in a line."""
        said = ", ".join(f"{n} {word}" for word, n in self.words.items() if n)
        return f"{self.many}: {said or 'none judged'}"


def tally(rows: Sequence[Judged]) -> Tally:
    """The verdicts counted, each experiment once."""
    once = different(rows)
    words: dict[str, int] = {}
    for base in WORDS[:-1]:
        for stand_in in (False, True):
            mine = [r for r in once if r.verdict.word == base]
            mine = [r for r in mine if r.stand_in == stand_in]
            if mine:
                words[mine[0].word] = len(mine)
    able = sum(r.claim.sign != 0 and decided(r) for r in once)
    if waiting := len(rows) - sum(r.verdict.word != NONE for r in rows):
        words[NONE] = waiting
    return Tally(len(rows), len(once), words, CHANCE * able)


def decided(row: Judged) -> bool:
    """Whether runs say something of a claim: by enough seeds, beside a sound one."""
    return row.verdict.word not in (NONE, NO_VERDICT) and row.verdict.n >= LEAST


def as_text(rows: list[Judged]) -> str:
    """Four or five lines a claim, and the count of the verdicts."""
    text = []
    for row in rows:
        claim, v = row.claim, row.verdict
        gain = "" if claim.gain is None else f", by {claim.gain:+.4g} {claim.cell.unit}"
        gain += f" ({claim.source})" * (bool(gain) and claim.source != "the paper")
        text += [f"{claim.path}: {row.word}", f"  claim: {claim.sentence}{gain}"]
        if row.ran_on:
            text.append(f"  ran on: {row.ran_on}")
        text.append(f"  here: {v.why}{f' ({row.lost})' * bool(row.lost)}")
        if len(row.whole) >= LEAST:
            mean, half = mean_interval(np.array(list(row.whole.values())))
            text.append(f"  over all rounds: {mean:+.2f} ± {half:.2f} points")
    total = tally(rows)
    text.append(total.text)
    if total.by_chance:
        chance = f"{total.by_chance:.1f}"
        text.append(
            f"by chance alone, without any difference, {chance} would come out as "
            f"“{SAME}” and {chance} as “{OPPOSITE}”"
        )
    return "\n".join(text) + "\n"


def as_json(rows: list[Judged]) -> str:
    """Everything that is known of each claim, as a list of records."""
    return json.dumps([record(row) for row in rows], indent=1)


def record(row: Judged) -> dict[str, Any]:
    """Everything that is known of a claim, as plain data.

    `all_rounds` is the gain in points over the whole curve, by seed; it and `gap`, our
    gain less the paper's, are of the paper's own scale. `paper_data` is the paper's
    data set, `data` ours; the command of each side makes its missing lines.
    """
    claim, v = row.claim, row.verdict
    cell, here = claim.cell, claim.cell.settings.get(row.scale)
    published = cell.settings.get("paper")
    theirs = math.nan if claim.gain is None or row.stand_in else claim.gain
    about: dict[str, Any] = {"id": claim.slug, "paper": claim.paper, "name": claim.name}
    about |= {"again": claim.again, "claim": claim.sentence, "where": cell.where}
    about |= {"sign": claim.sign, "unit": cell.unit, "metric": cell.metric}
    about |= {"paper_gain": _finite(claim.gain), "source": claim.source}
    about |= {"tolerance": claim.tolerance}
    about |= {"paper_data": dataset(published) if published else ""}
    about |= {"scale": row.scale, "stand_in": row.stand_in, "ran_on": row.ran_on}
    about |= {"data": dataset(here) if here else ""}
    about |= {"network": network(here) if here else "", "lacks": cell.lacks}
    about |= {"verdict": v.word, "why": v.why, "seeds": v.n, "lost": row.lost}
    about |= {"mean": _finite(v.mean), "half_width": _finite(v.half)}
    about |= {"all_rounds": {str(k): _finite(v) for k, v in row.whole.items()}}
    about |= {"would_be_seen": _finite(v.seen), "gap": _finite(v.mean - theirs)}
    about["a"] = _side(cell, row.scale, row.mine)
    about["b"] = _side(claim.beside, row.scale, row.theirs)
    if claim.without is not None:
        about["without"] = _side(claim.without, row.scale, row.without)
    return about


def _side(cell: Cell, scale: str, lines: dict[int, Line]) -> dict[str, Any]:
    """One of a claim's cells as plain data, with the command to run it."""
    could = [s for s in SCALES[1:] if s in cell.settings]  # the cheapest first
    at = scale if scale in cell.settings else next(iter(could), "")
    run = command(cell, at, list(lines.values())) if at else None
    return {
        "table": f"{cell.paper}/{cell.table}",
        "row": cell.row,
        "column": cell.column,
        "paper": cell.paper_value,
        "spread": cell.paper_spread,
        "methods": methods(cell.settings[at]) if at else [],
        "constants": constants(cell.settings[at]) if at else {},
        "key": cell.key(scale) if scale in cell.settings else None,
        "values": {str(k): line["value"] for k, line in sorted(lines.items())},
        "command": run,
    }


def _finite(value: float | None) -> float | None:
    """A number for JSON, without the last digits, which no run determines."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.10g}")

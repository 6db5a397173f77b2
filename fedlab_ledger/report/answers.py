"""Findings on each paper's main claim, in sentences that the verdicts make.

A paper has one main claim, "with our method you end higher", and tables that repeat it
in many settings: claims whose role is "main". `answers` gathers those that were run:
how many came out ahead, how many behind, which is the headline, where the method gained
most, where it lost; how it stands against other methods, in the common field, and when
tried again in other ways.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import binom

from fedlab_ledger.judge.claims import Judged, different
from fedlab_ledger.model.cells import Table
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.verdict import (
    CHANCE,
    LEAST,
    MATCHES,
    NONE,
    OPPOSITE,
    SAME,
    judge_gain,
)
from fedlab_ledger.papers import CHAPTERS
from fedlab_ledger.papers.paper import Question
from fedlab_ledger.report.book import Book

AHEAD = (MATCHES, SAME)
_RARE = 0.01  # so seldom would chance alone give as many, if we say "helps" or "hurts"


QUESTIONS = tuple(paper.question for paper in CHAPTERS.values())


@dataclass(frozen=True)
class Effect:
    """One comparison that was run, in points of accuracy."""

    judged: Judged

    @property
    def scale(self) -> float:
        """Points that one unit of the claim is."""
        return {"%": 1.0, "share": 100.0}[self.judged.claim.cell.unit]

    @property
    def mean(self) -> float:
        return self.scale * self.judged.verdict.mean

    @property
    def half(self) -> float:
        return self.scale * self.judged.verdict.half

    @property
    def paper(self) -> float | None:
        """The paper's gain, if it prints one."""
        gain = self.judged.claim.gain
        return None if gain is None else self.scale * gain

    @property
    def text(self) -> str:
        """The gain with its interval: +1.9 ± 1.5 points."""
        return f"{self.mean:+.1f} ± {self.half:.1f} points"

    @property
    def ahead(self) -> bool:
        return self.judged.verdict.word in AHEAD

    @property
    def behind(self) -> bool:
        return self.judged.verdict.word == OPPOSITE


@dataclass(frozen=True)
class Count:
    """How many of n comparisons came out ahead, how many behind."""

    ahead: int
    behind: int
    n: int

    @classmethod
    def of(cls, effects: "Sequence[Effect]") -> "Count":
        ahead, behind = (sum(getattr(e, s) for e in effects) for s in _SIDES)
        return cls(ahead, behind, len(effects))

    def said(self, one: str, many: str) -> str:
        """In words: ahead in 2 of 5 comparisons, behind in none."""
        if self.n == 1:
            side = "ahead" if self.ahead else "behind" if self.behind else "undecided"
            return f"{side} in the one {one}"
        ahead, behind = (str(k) if k else "none" for k in (self.ahead, self.behind))
        return f"ahead in {ahead} of {self.n} {many}, behind in {behind}"


_SIDES = ("ahead", "behind")
_NAMED = ("comparison", "comparisons")


@dataclass(frozen=True)
class Answer:
    """Findings on a paper's main claim; `effects` in the order of the paper.

    These are of the method beside the same training without it. `others` are beside
    other methods, `fields` those of the common field, by who plays: the method, then
    its controls. `tries` looked for what did not come out.
    """

    question: Question
    effects: tuple[Effect, ...]
    waiting: int  # comparisons that were not run, or with too few seeds
    others: Count = Count(0, 0, 0)
    fields: tuple[tuple[str, Count], ...] = ()
    tries: Count = Count(0, 0, 0)

    @property
    def count(self) -> Count:
        return Count.of(self.effects)

    @property
    def headline(self) -> Effect | None:
        """At the largest scale the one with most seeds; the paper's first of these."""
        return min(self.effects, key=_importance, default=None)

    @property
    def best(self) -> Effect | None:
        """Effect furthest ahead, by the near end of the interval."""
        found = [e for e in self.effects if e.ahead]
        return max(found, key=lambda e: e.mean - e.half, default=None)

    @property
    def worst(self) -> Effect | None:
        """Effect furthest behind, by the near end of the interval."""
        found = [e for e in self.effects if e.behind]
        return min(found, key=lambda e: e.mean + e.half, default=None)

    @property
    def stance(self) -> str:
        """The finding in a few words."""
        return stance(self.count)

    @property
    def counted(self) -> str:
        """How many comparisons came out how."""
        if not self.effects:
            return "Nothing of it has been run."
        return f"Beside the same training without it, {self.count.said(*_NAMED)}."

    @property
    def beside_others(self) -> str:
        """How many comparisons with other methods came out how."""
        if not self.others.n:
            return ""
        return f"Beside other methods, {self.others.said(*_NAMED)}."

    @property
    def own_scale(self) -> str:
        """Sentence on the runs at the paper's own scale, or that there are none."""
        own = [e for e in self.effects if not e.judged.stand_in]
        if not own:
            return "None of them is at the paper's own scale."
        return f"At the paper's own scale: {'; '.join(map(_beside_paper, own))}."

    @property
    def in_the_field(self) -> str:
        """How the method and its controls stand to FedAvg in the common field."""
        there = [(arm, count) for arm, count in self.fields if count.n]
        if not there:
            return ""
        (_, mine), *controls = there
        said = f"Against FedAvg in chapter 8 it is {mine.said('field', 'fields')}"
        for arm, count in controls:
            said += f"; {arm}, which needs no more, {count.said('field', 'fields')}"
        return f"{said}."

    @property
    def again(self) -> str:
        """Sentence on the searches for comparisons that did not come out."""
        if not self.tries.n:
            return ""
        said = self.tries.said("try", "tries")
        return f"Where it fell short it was tried again, longer for instance: {said}."


def stance(count: Count) -> str:
    """Sentence on so many comparisons: more than chance would give, or not.

    Without any effect, each has a chance of `CHANCE` to come out ahead, and the same
    to come out behind. A side counts if that many would be seen once in a hundred.
    """
    n = count.n
    if n == 0:
        return "Not run yet."
    helps, hurts = (_more_than_chance(k, n) for k in (count.ahead, count.behind))
    if helps and hurts:
        return "It depends: it helps in some settings and hurts in others."
    if helps or hurts:
        k, does, side = count.ahead, "helps", "gain"
        if hurts:
            k, does, side = count.behind, "hurts", "loss"
        if k == n:
            return f"It {does} wherever it was tried."
        if 2 * k > n:
            return f"It {does} in most settings tried."
        return f"It {does} in some settings; in most, no {side} can be told."
    return "Neither gain nor loss can be told."


def _more_than_chance(k: int, n: int) -> bool:
    return k > 0 and float(binom.sf(k - 1, n, CHANCE)) < _RARE


def answers(book: Book) -> list[Answer]:
    """The answer to each question, from the judged claims of its paper."""
    return [_answer(question, book) for question in QUESTIONS]


def _answer(question: Question, book: Book) -> Answer:
    rows = book.claimed(question.paper)
    mine = [j for j in rows if j.claim.role == "main"]
    effects = effects_of(mine)
    short = sum(not _counts(j) for j in mine)
    looked = {j.claim.slug for j in mine}
    tries = [j for j in book.claimed("gaps") if j.claim.again in looked]
    arms = (question.arm, *question.controls)
    table = book.tables.get(f"field/{question.judged}")
    return Answer(
        question,
        effects,
        short,
        Count.of(effects_of(j for j in rows if j.claim.role == "others")),
        tuple((arm, in_field(table, arm, book.found)) for arm in arms if table),
        Count.of([Effect(j) for j in tries if _counts(j)]),
    )


def effects_of(rows: Iterable[Judged]) -> tuple[Effect, ...]:
    """Effects of these claims, each experiment once."""
    return tuple(Effect(j) for j in different(j for j in rows if _counts(j)))


def _counts(j: Judged) -> bool:
    return j.verdict.word != NONE and j.verdict.n >= LEAST


def in_field(table: Table, arm: str, found: Found) -> Count:
    """On how many of the common fields an arm is ahead of FedAvg, and behind."""
    words = []
    for column in dict.fromkeys(cell.column for cell in table.cells):
        sides = [table.at(name, column) for name in (arm, "FedAvg")]
        lines = [found.of(cell.key("small")) if cell else {} for cell in sides]
        mine, theirs = ({k: v["value"] for k, v in line.items()} for line in lines)
        verdict = judge_gain(mine, theirs, None, 0.0, sign=1, own_scale=False)
        if verdict.n >= LEAST:
            words.append(verdict.word)
    return Count(words.count(SAME), words.count(OPPOSITE), len(words))


def _importance(e: Effect) -> tuple[bool, int]:
    return e.judged.stand_in, -e.judged.verdict.n


def _beside_paper(e: Effect) -> str:
    """A gain, what it is over, and the paper's."""
    claim = e.judged.claim
    name = f"{claim.cell.row} over {claim.beside.row} {e.text}"
    if e.paper is None or not math.isfinite(e.paper):
        return name
    less = ", more than our interval holds" * (e.paper > e.mean + e.half)
    return f"{name} (the paper: {e.paper:+.1f}{less})"

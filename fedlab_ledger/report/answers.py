"""Findings on each paper's main claim, in sentences that the verdicts make.

A paper has one main claim, "with our method you end higher", and tables that repeat it:
claims whose role is "main". They are gathered by setting. A setting is one experiment,
however many rows, constants and companions it was typed with, and has one gain: that of
its most telling runs, at the paper's own scale if there are any, else of those with
most rounds, a search's longer ones among them. `standing` counts the settings that came
out ahead and behind, with the common fields of chapter 8; whatever tells how a method
stands tells it by that.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from operator import add
from statistics import fmean

import numpy as np
from scipy.stats import binom

from fedlab_core.metrics import mean_interval
from fedlab_ledger.judge.claims import Judged, decided, once, paired
from fedlab_ledger.model.cells import Setting, Table
from fedlab_ledger.model.describe import ran_on
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.verdict import CHANCE, LEAST, clear_side
from fedlab_ledger.papers import CHAPTERS
from fedlab_ledger.papers.paper import Question
from fedlab_ledger.report.book import Book

SMALL = 0.25  # points: a gain below that is as good as none, however sure
_RARE = 0.01  # so seldom would chance alone give as many, if we say "helps" or "hurts"
_POINTS = {"%": 1.0, "share": 100.0}  # that one unit of a claim is
_ALIKE = 0.05  # points: nearer than that in every seed, two runs are one by two names

QUESTIONS = tuple(paper.question for paper in CHAPTERS.values())


@dataclass(frozen=True)
class Gain:
    """Points of accuracy: their mean, half of the 95 % interval, and how many seeds."""

    mean: float
    half: float
    n: int

    @classmethod
    def of(cls, points: Sequence[float]) -> "Gain":
        if not points:
            return cls(math.nan, math.nan, 0)
        mean, half = (float(v) for v in mean_interval(np.array(points)))
        return cls(mean, half, len(points))

    @property
    def side(self) -> int:
        """1 if it is clearly ahead and by more than `SMALL`, -1 if behind, else 0."""
        sure = clear_side(self.mean, self.half, self.n)
        return sure if abs(self.mean) > SMALL else 0

    @property
    def short(self) -> str:
        """The gain with its interval: +1.9 ± 1.5."""
        return f"{self.mean:+.1f} ± {self.half:.1f}"

    @property
    def text(self) -> str:
        """The same in words: +1.9 ± 1.5 points."""
        return f"{self.short} points"


@dataclass(frozen=True)
class Effect:
    """One comparison that was run, in points of accuracy."""

    judged: Judged

    @property
    def by_seed(self) -> dict[int, float]:
        """The gain of each seed that gave a number on both sides."""
        scale = _POINTS[self.judged.claim.cell.unit]
        return {seed: scale * gain for seed, gain in self.judged.by_seed.items()}

    @property
    def gain(self) -> Gain:
        return Gain.of(list(self.by_seed.values()))

    def repeats(self, other: "Effect") -> bool:
        """Whether both are one experiment: by name, or by a choice that does nothing.

        So it is where every seed has the same accuracies, on both sides, to within a
        twentieth of a point.
        """
        common = self.by_seed.keys() & other.by_seed.keys()
        pairs = zip(self._sides, other._sides, strict=True)
        return len(common) >= LEAST and all(
            abs(a[k] - b[k]) <= _ALIKE for a, b in pairs for k in common
        )

    @property
    def _sides(self) -> list[dict[int, float]]:
        """Both sides' accuracies in points, by seed, where there are any."""
        points, sides = _POINTS[self.judged.claim.cell.unit], []
        for lines in (self.judged.mine, self.judged.theirs):
            there = {k: line["value"] for k, line in lines.items()}
            sides.append({k: points * v for k, v in there.items() if v is not None})
        return sides

    @property
    def paper(self) -> float | None:
        """The paper's gain, if it prints one."""
        gain, unit = self.judged.claim.gain, self.judged.claim.cell.unit
        return None if gain is None else _POINTS[unit] * gain

    @property
    def whole(self) -> Gain:
        """The gain over all rounds, of a run at the paper's own scale."""
        return Gain.of(list(self.judged.whole.values()))

    @property
    def ran(self) -> str:
        """On what it ran: data, network, clients, rounds, seeds."""
        return ran_on(self.setting, self.judged.verdict.n, self.judged.verdict.lost)

    @property
    def setting(self) -> Setting:
        return self.judged.claim.cell.settings[self.judged.scale]

    @property
    def told(self) -> tuple[bool, int]:
        """How much it tells: at the paper's own scale, and after how many rounds."""
        return not self.judged.stand_in, self.setting.rounds


@dataclass(frozen=True)
class Tried:
    """A setting in which a method was tried, with its most telling runs.

    Its gain is the mean over these, seed by seed.
    """

    name: str
    effects: tuple[Effect, ...]
    by_seed: Mapping[int, float]

    @classmethod
    def of(cls, name: str, effects: Sequence[Effect]) -> "Tried":
        """The setting, from all that was run in it."""
        top = max(e.told for e in effects)
        best = tuple(e for e in effects if e.told == top)
        runs = [e.by_seed for e in best]
        common = sorted(set.intersection(*map(set, runs)))
        if len(common) < LEAST:  # seeds were lost: the comparison with most of them
            best = (max(best, key=lambda e: len(e.by_seed)),)
            return cls(name, best, best[0].by_seed)
        return cls(name, best, {k: fmean(r[k] for r in runs) for k in common})

    @cached_property
    def gain(self) -> Gain:
        return Gain.of(list(self.by_seed.values()))

    @property
    def own_scale(self) -> bool:
        return self.effects[0].told[0]

    @property
    def shorter(self) -> bool:
        """Whether its runs have fewer rounds than the paper's."""
        theirs = self.effects[0].judged.claim.published
        return theirs is not None and self.effects[0].setting.rounds < theirs.rounds

    @property
    def ran(self) -> str:
        """On what it ran, and how many comparisons its gain is the mean of."""
        many = len(self.effects)
        return self.effects[0].ran + f", mean of {many} comparisons" * (many > 1)


@dataclass(frozen=True)
class Count:
    """How many of n settings came out ahead, how many behind.

    In `shorter` of them runs have fewer rounds than the paper's, in `early` of those
    that are behind.
    """

    ahead: int
    behind: int
    n: int
    shorter: int = 0
    early: int = 0

    @classmethod
    def of(cls, gains: Iterable[Gain], shorter: int = 0, early: int = 0) -> "Count":
        sides = [g.side for g in gains if g.n >= LEAST]
        return cls(sides.count(1), sides.count(-1), len(sides), shorter, early)

    def __add__(self, other: "Count") -> "Count":
        return Count(*map(add, astuple(self), astuple(other)))

    def said(self, many: str) -> str:
        """In words: 2 of 5 settings (4 with fewer rounds), behind in none."""
        short = f" ({self.shorter} with fewer rounds than there)" * bool(self.shorter)
        behind = f"behind in {self.behind or 'none'}"
        behind += f" ({self.early} with fewer)" * bool(self.early)
        return f"{self.ahead} of {self.n} {many}{short}, {behind}"


@dataclass(frozen=True)
class Standing:
    """How a method stands to the same training without it, over all that was tried.

    `own` counts its paper's settings, `fields` those common to all in chapter 8.
    """

    own: Count
    fields: Count

    @property
    def stance(self) -> str:
        """The finding in a few words."""
        return stance(self.own + self.fields)

    @property
    def ahead(self) -> str:
        """In how many settings of all it is ahead."""
        every = self.own + self.fields
        return f"Ahead in {every.ahead} of {every.n} settings." * bool(every.n)

    @property
    def counted(self) -> str:
        """How many settings came out how."""
        parts = [self.own.said("settings of its paper")] * bool(self.own.n)
        parts += [self.fields.said("common fields")] * bool(self.fields.n)
        return f"Ahead in {'; in '.join(parts)}." if parts else ""

    @property
    def text(self) -> str:
        """The finding, and the counts that it rests on."""
        return f"{self.stance} {self.counted}".strip()


@dataclass(frozen=True)
class Answer:
    """Findings on a paper's main claim; `tried` in the order of the paper.

    `controls` need what the method needs, and stand on the common fields as their
    counts say.
    """

    question: Question
    tried: tuple[Tried, ...]
    standing: Standing
    controls: tuple[tuple[str, Count], ...] = ()

    @property
    def headline(self) -> Effect | None:
        """The most telling comparison with most seeds; the paper's first of these."""
        every = [e for t in self.tried for e in t.effects]
        return max(every, key=lambda e: (*e.told, e.gain.n), default=None)

    @property
    def beside_paper(self) -> str:
        """The headline's gain, beside the paper's, and on what it ran."""
        e = self.headline
        if e is None:
            return ""
        claim = e.judged.claim
        sides = f"{claim.cell.row} over {claim.beside.row}"
        own, paper = not e.judged.stand_in, e.paper
        whose = f" ({claim.source}: {paper:+.1f})" if own and paper is not None else ""
        size = "" if own else ", smaller than the paper's"
        whole = f"; over all rounds {e.whole.short}" if e.whole.n >= LEAST else ""
        how, _, last = claim.cell.metric.partition("-")
        when = f"in the last {last} rounds" if how == "mean" else "at the end"
        when = "in the best round" if how == "best" else when
        return f"{sides}: {e.gain.text} {when}{whose}{whole}. On {e.ran}{size}."

    @property
    def short(self) -> str:
        """All of it: the finding, the headline, where it gains most and loses most."""
        sides = zip(("Most ahead", "Furthest behind"), self.furthest, strict=True)
        ends = [f"{end}: {t.name}, {t.gain.text}, on {t.ran}." for end, t in sides if t]
        return " ".join([self.standing.text, self.beside_paper, *ends])

    @property
    def furthest(self) -> tuple[Tried | None, Tried | None]:
        """Settings where it is clearly most ahead, and most behind."""
        return self._furthest(1), self._furthest(-1)

    def _furthest(self, side: int) -> Tried | None:
        """The clear setting on that side with the most, by the interval's near end."""
        found = [t for t in self.tried if t.gain.side == side]
        near = [side * t.gain.mean - t.gain.half for t in found]
        return found[near.index(max(near))] if found else None


def stance(count: Count) -> str:
    """Sentence on so many settings: more than chance would give, or not.

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
        rest = "the other half" if 2 * k == n else "most"
        return f"It {does} in some settings; in {rest}, no {side} can be told."
    return "Neither gain nor loss can be told."


def _more_than_chance(k: int, n: int) -> bool:
    return k > 0 and float(binom.sf(k - 1, n, CHANCE)) < _RARE


def answers(book: Book) -> list[Answer]:
    """The answer to each question, from the judged claims of its paper."""
    return [answer(question, book) for question in QUESTIONS]


def standings(book: Book) -> dict[str, str]:
    """How each paper's method stands over all that was tried, in words."""
    return {a.question.paper: a.standing.text for a in answers(book)}


def answer(question: Question, book: Book) -> Answer:
    """The answer to a question."""
    mine = [j for j in book.claimed(question.paper) if j.claim.role == "main"]
    effects = once([Effect(j) for j in mine if decided(j)], lambda e: e.gain.n)
    again = [Effect(j) for j in book.claimed("gaps") if decided(j)]
    by_name: dict[str, list[Effect]] = {}
    for e in effects:
        longer = [t for t in again if _longer(t, e)]
        by_name.setdefault(e.judged.claim.where, []).extend([e, *longer])
    tried = tuple(Tried.of(name, of) for name, of in by_name.items())
    table = book.tables.get(f"field/{question.judged}")
    arms = (question.arm, *question.controls) if table else ()
    counts = [(arm, in_field(table, arm, book.found)) for arm in arms if table]
    fields = counts[0][1] if counts else Count(0, 0, 0)
    short = [t for t in tried if t.shorter and t.gain.n >= LEAST]
    early = sum(t.gain.side == -1 for t in short)
    own = Count.of((t.gain for t in tried), len(short), early)
    return Answer(question, tried, Standing(own, fields), tuple(counts[1:]))


def _longer(attempt: Effect, e: Effect) -> bool:
    """Whether a search's try is this comparison once more, with more rounds."""
    if attempt.judged.claim.again != e.judged.claim.slug:
        return False
    pairs = zip(attempt.judged.claim.sides, e.judged.claim.sides, strict=True)
    scales = attempt.judged.scale, e.judged.scale
    alike = all(
        _but_rounds(a.settings[scales[0]]) == _but_rounds(b.settings[scales[1]])
        for a, b in pairs
    )
    return alike and attempt.setting.rounds > e.setting.rounds


def _but_rounds(setting: Setting) -> dict:
    return setting.plain() | {"rounds": None}


def in_field(table: Table, arm: str, found: Found) -> Count:
    """On how many of the common fields an arm is ahead of FedAvg, and behind."""
    gains = []
    for column in dict.fromkeys(cell.column for cell in table.cells):
        sides = [table.at(name, column) for name in (arm, "FedAvg")]
        lines = [found.of(cell.key("small")) if cell else {} for cell in sides]
        gains.append(Gain.of(list(paired(*lines).values())))
    return Count.of(gains)

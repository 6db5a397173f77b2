"""What was found of each paper's main claim, in sentences that the verdicts make.

A paper has one main claim, "with our method you end higher", and tables that repeat it
in many settings. `answers` gathers those that were run: how many came out ahead, how
many behind, which is the headline, where the method gained most, where it lost.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import binom

from fedlab_ledger.claims import Claim, Judged
from fedlab_ledger.verdict import CHANCE, LEAST, MATCHES, NONE, OPPOSITE, SAME

AHEAD = (MATCHES, SAME)
_RARE = 0.01  # so seldom would chance alone give as many, if we say "helps" or "hurts"


@dataclass(frozen=True)
class Question:
    """A paper's main claim: what to do to end higher, and what one needs for it.

    `of` says which claims repeat it: those whose sentence contains this text.
    """

    paper: str
    claim: str
    needs: str
    of: str


QUESTIONS = (
    Question(
        "feddisco",
        "count clients by size and by how close their labels are to everybody's",
        "the server knows who holds how many samples of each class",
        "better with Disco's weights",
    ),
    Question(
        "fedlaw",
        "learn the weights on the server, and let their sum shrink below one",
        "the server has labelled samples of its own",
        "FedLAW ends above FedAvg",
    ),
    Question(
        "rfedavg",
        "pull the clients' mean features together while they train",
        "clients may send the means of their features, and wait for each other's",
        "ends higher than FedAvg",
    ),
    Question(
        "fedimpro",
        "train the upper layers on features drawn from what all clients have seen",
        "clients may send means and variances of hidden features, class by class",
        "FedImpro ends higher than FedAvg",
    ),
    Question(
        "fedcollab",
        "decide before training who trains with whom",
        "clients may have different models, and every two of them can be compared "
        "before the first round",
        "clients of FedCollab are served better than",
    ),
)


@dataclass(frozen=True)
class Effect:
    """One comparison that was run, in points of accuracy."""

    judged: Judged

    @property
    def scale(self) -> float:
        """What one unit of the claim is in points."""
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
class Answer:
    """What was found of a paper's main claim; `effects` in the order of the paper."""

    question: Question
    effects: tuple[Effect, ...]
    waiting: int  # comparisons that were not run, or with too few seeds

    @property
    def ahead(self) -> int:
        return sum(e.ahead for e in self.effects)

    @property
    def behind(self) -> int:
        return sum(e.behind for e in self.effects)

    @property
    def headline(self) -> Effect | None:
        """At the largest scale the one with most seeds; the paper's first of these."""
        return min(self.effects, key=_importance, default=None)

    @property
    def best(self) -> Effect | None:
        """Where the method is furthest ahead, by the near end of the interval."""
        found = [e for e in self.effects if e.ahead]
        return max(found, key=lambda e: e.mean - e.half, default=None)

    @property
    def worst(self) -> Effect | None:
        """Where it is furthest behind, by the near end of the interval."""
        found = [e for e in self.effects if e.behind]
        return min(found, key=lambda e: e.mean + e.half, default=None)

    @property
    def stance(self) -> str:
        """The finding in a few words."""
        return stance(self.ahead, self.behind, len(self.effects))

    @property
    def counted(self) -> str:
        """How many comparisons came out how."""
        n = len(self.effects)
        if n == 0:
            return "Nothing of it has been run."
        many = "the one comparison" if n == 1 else f"{n} comparisons"
        ahead, behind = (_number(k) for k in (self.ahead, self.behind))
        return f"Ahead in {ahead} of {many}, behind in {behind}."

    @property
    def own_scale(self) -> str:
        """What the runs at the paper's own scale say; nothing if there are none."""
        own = [e for e in self.effects if not e.judged.stand_in]
        if not own:
            return "None of them is at the paper's own scale."
        said = "; ".join(f"{e.text}{_papers(e)}" for e in own[:2])
        more = f"; and {len(own) - 2} more" if len(own) > 2 else ""
        return f"At the paper's own scale: {said}{more}."


def stance(ahead: int, behind: int, n: int) -> str:
    """What so many of n comparisons say: more than chance would give, or not.

    Without any effect, each has a chance of `CHANCE` to come out ahead, and the same
    to come out behind. A side counts if that many would be seen once in a hundred.
    """
    if n == 0:
        return "Not run yet."
    helps, hurts = (_more_than_chance(k, n) for k in (ahead, behind))
    if helps and hurts:
        return "It depends: it helps in some settings and hurts in others."
    if helps or hurts:
        k, does, side = (ahead, "helps", "gain") if helps else (behind, "hurts", "loss")
        if k == n:
            return f"It {does} wherever it was tried."
        if 2 * k > n:
            return f"It {does} in most settings tried."
        return f"It {does} in some settings; in most, no {side} can be told."
    return "Neither gain nor loss can be told."


def _more_than_chance(k: int, n: int) -> bool:
    return k > 0 and float(binom.sf(k - 1, n, CHANCE)) < _RARE


def answers(claimed: Callable[[str], Sequence[Judged]]) -> list[Answer]:
    """The answer to each question, from the judged claims of its paper."""
    return [_answer(q, claimed(q.paper)) for q in QUESTIONS]


def _answer(question: Question, rows: Sequence[Judged]) -> Answer:
    mine = [j for j in rows if repeats(question, j.claim)]
    done = [j for j in mine if j.verdict.word != NONE and j.verdict.n >= LEAST]
    once: Mapping = {j.experiment: j for j in reversed(done)}  # the first of equals
    effects = tuple(Effect(j) for j in reversed(list(once.values())))
    return Answer(question, effects, len(mine) - len(done))


def repeats(question: Question, claim: Claim) -> bool:
    """Whether a claim is the question's, in one of the paper's settings."""
    points = claim.cell.unit in ("%", "share") and claim.sign == 1
    return points and question.of in claim.sentence


def _importance(e: Effect) -> tuple[bool, int]:
    return e.judged.stand_in, -e.judged.verdict.n


def _papers(e: Effect) -> str:
    """The paper's gain in brackets, if it has one."""
    has = e.paper is not None and math.isfinite(e.paper)
    return f" (the paper: {e.paper:+.1f})" if has else ""


def _number(n: int) -> str:
    return str(n) if n else "none"

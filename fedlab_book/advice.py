"""Recommendations of a method for clients, from the common field of chapter 8.

A recommendation is made by half of the seeds and told by the other half, so that the
number it comes with is not too good by having been chosen. Of methods that are as good
as the best, within half a point, it is the one that costs least.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from fedlab_book.figures import svg
from fedlab_book.html import macros
from fedlab_ledger.model.cells import Table
from fedlab_ledger.model.describe import clients, data, network
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.verdict import LEAST
from fedlab_ledger.papers import TABLES, field
from fedlab_ledger.report.answers import Gain
from fedlab_ledger.report.book import Book

ALL, OWN = GOALS = ("one model for everybody", "a model for each client")
BASE = "FedAvg"
SERVER = ("FedLAW", "Server-FT")  # need labelled samples on the server
PERSONAL = ("FedCollab", "Local", "Fine-tune")  # give clients different models
# do less than a paper's method
CONTROLS = ("Equal weights", "FedAvg, rate chosen", "Local", "Fine-tune", "Server-FT")
TIE = 0.5  # points: methods no further apart than this are told by their costs

CLIENTS = {  # who they are, and the common field that has them
    "few a round, labels very skewed": "FedImpro's",
    "some know few classes, one knows all": "FedDisco's",
    "labels mildly skewed": "FedLAW's",
    "sorted by label, a quarter a round": "rFedAvg's",
    "four kinds of clients": "FedCollab's",
    "labels uneven, clothes": "Fashion-MNIST",
}
HOME = {"rFedAvg's": "rFedAvg+"}  # whose paper a field is from; else its name says it

Lines = Callable[[str, str, str], Mapping[int, Line]]  # of an arm, a field and a goal


@dataclass(frozen=True)
class Advice:
    """A method for some clients, what it brings and costs, and where it fails.

    `arm` is FedAvg if no other is clearly ahead; `best` is the one that came closest.
    """

    best: str
    gain: Gain  # of the best one, by seeds that it was not chosen by
    costs: Mapping[str, float]  # "bytes" and "steps", as multiples of FedAvg's
    fails: tuple[str, Gain] | None  # the field where it is furthest behind, if any
    ties: tuple[str, ...] = ()  # others that are as good
    home: bool = False  # whether the field is from the best one's own paper

    @property
    def arm(self) -> str:
        return self.best if self.gain.side > 0 else BASE


@dataclass(frozen=True)
class Fields:
    """Runs of every method on the common fields, to ask for advice."""

    book: Book

    def played(self, goal: str) -> Table:
        return TABLES["field/for_all" if goal == ALL else "field/for_own"]

    def lines(self, arm: str, who: str, goal: str) -> Mapping[int, Line]:
        cell = self.played(goal).at(arm, CLIENTS[who])
        return self.book.found.of(cell.key("small")) if cell else {}

    def arms(self, goal: str, labelled: bool) -> list[str]:
        return allowed([a for a in field.ARMS if " + " not in a], goal, labelled)

    def advice(self, goal: str, labelled: bool, who: str) -> Advice | None:
        home = HOME.get(CLIENTS[who], CLIENTS[who].removesuffix("'s"))
        arms = self.arms(goal, labelled)
        return advise(self.lines, arms, list(CLIENTS), goal, who, home)

    def ran(self, goal: str, who: str) -> str:
        """On what it was measured: data, network, clients."""
        cell = self.played(goal).at(BASE, CLIENTS[who])
        assert cell is not None
        s = cell.settings["small"]
        return f"{data(s)}, {network(s)}, {clients(s)}"


def allowed(arms: Sequence[str], goal: str, labelled: bool) -> list[str]:
    """Arms that give what is wanted, and need no more than there is."""
    out = () if labelled else SERVER
    out += PERSONAL if goal == ALL else ()
    return [a for a in arms if a not in out and a != BASE]


def advise(
    lines: Lines,
    arms: Sequence[str],
    fields: Sequence[str],
    goal: str,
    field: str,
    home: str = "",
) -> Advice | None:
    """The advice among these arms; None where none of them was run with FedAvg.

    `home` is the method whose paper the field is taken from.
    """
    chosen, told = halves(lines(BASE, field, goal))
    by_mean = {a: gain(lines, a, field, goal, chosen) for a in arms}
    there = {a: g for a, g in by_mean.items() if g.n}
    if not there:
        return None
    top = max(g.mean for g in there.values())
    tied = [a for a, g in there.items() if g.mean >= top - TIE]
    best = min(tied, key=lambda a: _dear(a, costs(lines, a, field, goal)))
    found = gain(lines, best, field, goal, told)
    worst = {f: gain(lines, best, f, goal) for f in fields if f != field}
    lost = {f: g for f, g in worst.items() if g.side < 0}
    fails = min(lost.items(), key=lambda item: item[1].mean, default=None)
    spent, others = costs(lines, best, field, goal), (a for a in tied if a != best)
    return Advice(best, found, spent, fails, tuple(others), best == home)


def _dear(arm: str, spent: Mapping[str, float]) -> tuple[float, float, bool]:
    """Costs in order of weight: traffic, then steps; of equals, a control first."""
    return spent["bytes"], spent["steps"], arm not in CONTROLS


def halves(lines: Mapping[int, Line]) -> tuple[list[int], list[int]]:
    """Seeds to choose by and seeds to tell by; all for both while they are few."""
    seeds = sorted(lines)
    if len(seeds) < 2 * LEAST:
        return seeds, seeds
    return seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]


def gain(
    lines: Lines, arm: str, field: str, goal: str, seeds: Sequence[int] | None = None
) -> Gain:
    """Points over FedAvg, paired by seed."""
    mine, base = lines(arm, field, goal), lines(BASE, field, goal)
    pairs = [
        (mine[k]["value"], base[k]["value"])
        for k in sorted(mine)
        if k in base and (seeds is None or k in seeds)
    ]
    return Gain.of([a - b for a, b in pairs if a is not None and b is not None])


def costs(lines: Lines, arm: str, field: str, goal: str) -> dict[str, float]:
    """Bytes and clients' steps as multiples of FedAvg's, means over seeds.

    Not seconds: they are of a machine that does other things meanwhile.
    """
    mine, base = lines(arm, field, goal), lines(BASE, field, goal)
    both = [k for k in mine if k in base]
    return {
        what: float(np.mean([mine[k][what] / base[k][what] for k in both]))
        for what in ("bytes", "steps")
    }


def sentence(advice: Advice | None, ran: str, standings: Mapping[str, str]) -> str:
    """The recommendation as it is said aloud, and on what it was measured.

    `standings` tell how a method stands over all that was tried, by its name.
    """
    if advice is None:
        return "Nothing has been run for this yet."
    found, on = advice.gain, f", measured on {ran}"
    if advice.arm == BASE:
        return (
            f"Stay with FedAvg{on}: nothing is clearly ahead of it. {advice.best} came "
            f"closest, with {found.text}."
        )
    lost = "Nowhere here is it clearly behind."
    if advice.fails is not None:
        where, gain_ = advice.fails
        lost = f"It is behind FedAvg on “{where}”, {gain_.text}."
    said = [
        f"Use {advice.best}: {found.text} over FedAvg{on}.",
        f"It costs {advice.costs['bytes']:.1f} times FedAvg's traffic and "
        f"{advice.costs['steps']:.1f} times its steps. {lost}",
    ]
    if advice.ties:
        said.append(f"{' and '.join(advice.ties)} did as well, for no less traffic.")
    if advice.home:
        said.append("These clients are those of its own paper: elsewhere expect less.")
    standing = standings.get(advice.best)
    said += [f"Over all that was tried: {standing}"] if standing else []
    return " ".join(said)


def below(drawn: tuple[Figure, str], alt: str, scope: str) -> Markup:
    """A picture below the sentence that it is for; a `render` of `widgets.frames`."""
    picture, said = drawn
    return macros("pages").advice(said, svg(picture, alt, scope))


def edges() -> str:
    """How many of the chosen constants are the least or largest that were tried."""
    ends = {m: (min(tried), max(tried)) for m, tried in field.TRIED.items()}
    edge = {
        (method, where, judged): chosen.get(method, 1.0) in ends[method]
        for judged, fields in field.CHOSEN.items()
        for where, chosen in fields.items()
        for method in ends
    }
    own = {HOME.get(f, f.removesuffix("'s")): f for f in field.FIELDS}
    home = [m for m, f in own.items() if m in ends and edge[m, f, "for_all"]]
    return (
        f"Of {len(edge)} constants chosen so, {sum(edge.values())} are the least or "
        "the largest of their three values. At home, for all letters, so are those of "
        f"{', '.join(home)}. Beyond these values there may be better ones."
    )

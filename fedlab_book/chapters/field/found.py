"""Findings of chapter 8: gains over FedAvg on four deals, by two judges.

    at = spots(runs, methods, ALL)
    panel = picture(at, ROWS, DEALS, title="All letters")

A spot is a method on a deal: its gains seed by seed, how many clinics it counts, and
whether it is dead, at chance in most of its seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from scipy import stats

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.field.deals import ALIKE, BIG, DEALS, UNEVEN, WORLDS
from fedlab_book.figures import INK, on
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel

ALL, OWN = JUDGES = ("all letters", "own letters")
BASE, TUNED, EQUAL = "FedAvg", "rate chosen", "equal weights"
RATES = (BASE, "half the rate", "twice the rate")
FREE = (TUNED, EQUAL, "SCAFFOLD", "FedDyn")  # controls that need no labels
LABELLED = ("Server-FT", "FedLAW")
CONTROLS = (*FREE, "Server-FT", "fine-tune", "alone", "Ditto")
ONE = ("FedDisco", "FedLAW", "rFedAvg+", "FedImpro")  # papers that make one model
ROWS = (*CONTROLS, *ONE, "FedCollab")
OWNED = ("fine-tune", "alone", "Ditto", "FedCollab")  # models of clinics' own
DEAD = "dead"
_OVER = "Over FedAvg, where no other."
LATER = (BASE, EQUAL, "FedDyn")  # on two big ones, played on
MOST = 12.0  # points; beyond, the colour stays the same
CHANCE, NEAR = 10.0, 5.0  # percent, points: dead is what ends as near to guessing
LOUD = {  # guesses of who reads most where two are too loud, and what is told to each
    "FedDisco": "It quietens the two big ones. So do equal weights, about as well.",
    EQUAL: "They quieten the two big ones, and cost nobody much. But drift is left.",
    "FedImpro": "It changes what clinics train on, and not who is heard.",
    "FedDyn": "It counts all alike, and corrects drift, too. It is none of the five, "
    "but a control.",
}
NEW = {  # guesses of what the best of sixty does on new seeds
    "Clearly ahead": "It is good. How much of its lead was luck is another question.",
    "Not to be told from FedAvg": "So it would be if all sixty were equally good.",
    "Clearly behind": "Luck does not turn against one. It only does not come back.",
}


@dataclass(frozen=True)
class Spot:
    """A method's gains over FedAvg on a deal, in points, one a seed."""

    gains: np.ndarray
    count: str = ""  # how many clinics count, if not all
    dead: int = 0  # seeds at chance

    @property
    def told(self) -> str:
        if 2 * self.dead > len(self.gains):
            return DEAD
        return f"{self.gains.mean():+z.1f}"


Spots = Mapping[tuple[str, str], Spot]  # by method and deal


def scores(found: Comparison, arm: str, deal: str, judge: str) -> np.ndarray:
    """Letters read by a judge, in percent, seed by seed."""
    if judge == OWN:
        return 100 * found.ends(arm, deal, "own")
    return found.scores(arm, deal)


def crossed(rates: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Each seed by the row that the other half of the seeds chose; and those rows."""
    half = rates.shape[1] // 2
    parts = (np.s_[half:], np.s_[:half])
    best = [int(rates[:, part].mean(1).argmax()) for part in parts]
    return np.concatenate([rates[best[0], :half], rates[best[1], half:]]), best


def spots(found: Comparison, arms: Sequence[str], judge: str) -> Spots:
    """Of each method on each deal, but of clinics' own models for all letters."""
    made = dict[tuple[str, str], Spot]()
    for deal in DEALS:
        rates = np.stack([scores(found, a, deal, judge) for a in RATES])
        base = rates[0]
        made[TUNED, deal] = Spot(crossed(rates)[0] - base)
        for arm in arms:
            if arm in RATES or (judge == ALL and arm in OWNED):
                continue
            count, of = (found.ends(arm, deal, n).mean() for n in ("count", "of"))
            few = f"{count:.0f} of {of:.0f}" if count < of - 0.5 else ""
            own = scores(found, arm, deal, OWN)
            dead = int((own < CHANCE + NEAR).sum())
            made[arm, deal] = Spot(scores(found, arm, deal, judge) - base, few, dead)
    return made


def picture(
    at: Spots, rows: Sequence[str], columns: Sequence[str], title: str
) -> Panel:
    """A map of methods by deals, controls above a line."""
    paint, small = colormaps["RdBu"], dict[str, Any](fontsize=9)

    def draw(ax: Axes) -> None:
        for (arm, deal), spot in at.items():
            i, j = rows.index(arm), columns.index(deal)
            depth = np.clip((spot.gains.mean() + MOST) / (2 * MOST), 0, 1)
            colour = to_hex("white" if spot.told == DEAD else paint(float(depth)))
            ax.fill([j, j + 1, j + 1, j], [i, i, i + 1, i + 1], color=colour)
            style: dict[str, Any] = {"ha": "center", "color": on(colour), **small}
            bold = "bold" if side(spot.gains) else "normal"
            high = 0.3 if spot.count else 0.5
            ax.text(j + 0.5, i + high, spot.told, va="center", fontweight=bold, **style)
            if spot.count:
                ax.text(j + 0.5, i + 0.76, spot.count, va="center", **style)
        ax.axhline(sum(r in CONTROLS for r in rows), color=INK, linewidth=2)
        ax.set(xlim=(0, len(columns)), ylim=(len(rows), 0), title=title)
        names = [c.replace(" ", "\n") for c in columns]
        turned = dict[str, Any](rotation=35, ha="right")
        turned = turned if len(columns) > len(DEALS) else {}
        ax.set_xticks(np.arange(len(columns)) + 0.5, names, **turned, **small)
        ax.set_yticks(np.arange(len(rows)) + 0.5, rows, **small)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    each = "; ".join(
        f"{arm}: " + ", ".join(_words(deal, at[arm, deal]) for deal in columns)
        for arm in rows
        if (arm, columns[0]) in at
    )
    said = f"A table of {len(rows)} methods by {len(columns)}: points over FedAvg on "
    return Panel(draw, f"{said}{title.lower()}. {each}.", high=80 + 34 * len(rows))


def _words(deal: str, spot: Spot) -> str:
    count = f", {spot.count} count" if spot.count else ""
    return f"{deal} {spot.told}{count}"


def unbeaten(at: Spots) -> list[str]:
    """Methods that are nowhere clearly behind FedAvg, nor dead."""
    behind = {a for (a, _), s in at.items() if side(s.gains) == -1 or s.told == DEAD}
    return [a for a in dict.fromkeys(arm for arm, _ in at) if a not in behind]


def right(at: Spots) -> str:
    """The guess that gains most on two big ones."""
    return max(LOUD, key=lambda arm: at[arm, BIG].gains.mean())


def more(
    runs: Comparison, arm: str, over: str, deal: str, judge: str = ALL
) -> np.ndarray:
    """Points that one method is ahead of another, seed by seed."""
    return scores(runs, arm, deal, judge) - scores(runs, over, deal, judge)


def all_letters(runs: Comparison, later: Comparison) -> Facts:
    """Arguments of `finding`: who gains on all letters, beside whom, and for how long.

    In `later` two big ones played on.
    """
    rows = _rows(
        runs,
        ALL,
        (EQUAL, BASE, BIG, 1),
        (EQUAL, BASE, WORLDS, 1),
        ("FedDyn", BASE, BIG, 1),
        ("FedDyn", BASE, WORLDS, 1),
        ("FedDisco", EQUAL, BIG, None),
        ("rFedAvg+", EQUAL, BIG, None),
        ("FedImpro", BASE, UNEVEN, None),
        ("FedLAW", BASE, WORLDS, -1),
        ("Server-FT", BASE, WORLDS, 1),
    )
    for arm in LATER[1:]:
        name, lead = f"{BIG}, played on: {arm}", more(later, arm, BASE, BIG)
        rows.append(Row(name, lead, aside=True))
    before, after = (more(r, "FedDyn", BASE, BIG) for r in (runs, later))
    name = f"{BIG}: FedDyn, played on minus before"
    rows.append(Row(name, after - before, sign=-1))
    most = side(after - before / 2) == -1  # of it is lost
    return {"rows": rows, "holds": most, "note": _OVER}


def own_letters(runs: Comparison) -> Facts:
    """The same by own letters: alone, tuned, and in coalitions."""
    rows = _rows(
        runs,
        OWN,
        ("alone", BASE, ALIKE, -1),
        ("alone", BASE, BIG, None),
        ("alone", BASE, UNEVEN, 1),
        ("alone", BASE, WORLDS, 1),
        ("fine-tune", BASE, UNEVEN, 1),
        ("fine-tune", BASE, WORLDS, 1),
        ("fine-tune", BASE, ALIKE, None),
        ("fine-tune", "alone", ALIKE, 1),
        ("Ditto", "alone", WORLDS, None),
        ("FedCollab", "alone", WORLDS, None),
        ("FedCollab", "fine-tune", WORLDS, None),
    )
    return {"rows": rows, "note": _OVER}


def _rows(
    runs: Comparison, judge: str, *compared: tuple[str, str, str, int | None]
) -> list[Row]:
    """A row for each method, rival, deal, and side that it has to be on."""
    return [
        Row(
            f"{deal}: {arm}" + f", over {over}" * (over != BASE),
            more(runs, arm, over, deal, judge),
            sign=sign,
        )
        for arm, over, deal, sign in compared
    ]


def fell(told: Sequence[float]) -> str:
    """Answer to what becomes of the best on new seeds: its gain there and before."""
    ahead, level, behind = NEW
    _, mean, half = told
    return level if abs(mean) <= half else ahead if mean > 0 else behind


def curse(
    scores: Mapping[str, Mapping[int, float]],
    best: str,
    base: str,
    old: Sequence[int],
    new: Sequence[int],
) -> Facts:
    """Arguments of `finding`: the best of many, by old seeds and by new ones."""
    chose, unseen = (
        [scores[best][s] - scores[base][s] for s in some] for some in (old, new)
    )
    rows = [Row("on the three seeds that chose it", chose)]
    rows.append(Row("on new seeds", unseen, sign=1))
    own = [a for a, b in zip(best.split(", "), base.split(", "), strict=True) if a != b]
    note = f"Over FedAvg, points. The best has what FedAvg has not: {', '.join(own)}."
    return {"rows": rows, "note": note}


def fall(
    scores: Mapping[str, Mapping[int, float]],
    best: str,
    base: str,
    old: Sequence[int],
    new: Sequence[int],
) -> str:
    """How much less the best of many gains on new seeds, as far as one can tell."""
    seen, told = (
        [scores[best][s] - scores[base][s] for s in seeds] for seeds in (old, new)
    )
    low, high = stats.ttest_ind(seen, told, equal_var=False).confidence_interval()
    less = f"{(low + high) / 2:.1f} ± {(high - low) / 2:.1f} points less"
    sure = (
        "" if low > 0 else ", so how much of it is luck gone these few seeds cannot say"
    )
    return f"On the new seeds it gains {less}{sure}."


def bound(stored: Mapping[str, Mapping[int, float]], base: str) -> str:
    """How much too good the best of so many can look on average, by the bound."""
    gains = [
        [of[s] - stored[base][s] for s in of] for a, of in stored.items() if a != base
    ]
    sigma = float(np.mean([np.std(g, ddof=1) for g in gains]) / len(gains[0]) ** 0.5)
    m = len(stored)
    return (
        f"A gain over three seeds has a standard deviation of {sigma:.1f} points, on "
        f"average over all {m}. If all {m} were equally good, the best would look at "
        f"most {sigma * np.sqrt(2 * np.log(m)):.1f} points too good, on average."
    )

"""The recorded fields of the ledger: every method on six, and sixty on one more.

Each paper's home, and a real data set at home to none. `spots` has them as a map;
`sixty` is what the best of many is chosen from.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from matplotlib.figure import Figure

import fedlab_core as fl
from fedlab_book import panels
from fedlab_book.bench import pm, side
from fedlab_book.chapters.field import found
from fedlab_book.chapters.field.found import (
    ALL,
    DEAD,
    FREE,
    LABELLED,
    ONE,
    OWNED,
    ROWS,
    Spot,
    Spots,
)
from fedlab_core.errors import require
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import TABLES, field
from fedlab_ledger.report.book import opened
from fedlab_ledger.run.build import run_of

FIELDS = {f.removesuffix("'s"): f for f in field.FIELDS}
HOSTS = {"rFedAvg": "rFedAvg+"}  # whose field it is, where the names differ
HOME = {HOSTS.get(f, f): f for f in FIELDS}  # by whose it is
STORED = {  # what a method of the chapter is called in the ledger
    "rate chosen": "FedAvg, rate chosen",
    "equal weights": "Equal weights",
    "fine-tune": "Fine-tune",
    "alone": "Local",
}
PLACE = next(iter(field.COMPOSED))  # where sixty are compared
PLAIN = "SGD, size, average, everyone, nothing"
PARTS, WHERE = ("FedDisco", "FedImpro"), "FedDisco"  # put together, on whose field
ADDS = {  # guesses of what two gains give together, and what is told to each
    "About the sum: they repair different things": "They change different choices, "
    "and the sum is not reached.",
    "About as much as the better one": "Either the two repair the same, or there is "
    "no more to gain here. We did not take that apart.",
    "Less than the better one: one spoils what the other needs": "Neither is in the "
    "other's way. Nor does it find much to do.",
}
Scores = Mapping[str, Mapping[int, float]]  # percent, by arm and seed


def lines(cell: Cell | None) -> dict[int, dict]:
    """The stored lines of a cell, by seed."""
    assert cell is not None
    return _found().of(cell.key("small"))


@cache
def _found() -> Found:
    return opened().found


@cache
def spots(judge: str) -> Spots:
    """Each method on each field, by its name in the chapter."""
    table = TABLES["field/for_all" if judge == ALL else "field/for_own"]
    made = dict[tuple[str, str], Spot]()
    for name, where in FIELDS.items():
        base = lines(table.at("FedAvg", where))
        for arm in rows_of(judge):
            there = lines(table.at(STORED.get(arm, arm), where))
            seeds = [s for s in base if s in there]
            gains = [there[s]["value"] - base[s]["value"] for s in seeds]
            dead = sum(field.at_chance(there[s]) for s in seeds)
            made[arm, name] = Spot(np.array(gains), dead=dead)
    return made


def rows_of(judge: str) -> list[str]:
    """Methods that have a judge, controls first."""
    out = OWNED if judge == ALL else ()
    return [row for row in ROWS if row not in (*out, "Ditto")]


def picture(judge: str) -> tuple[Figure, str]:
    """The map of the six fields by a judge."""
    title, rows = judge.capitalize(), rows_of(judge)
    panel = found.picture(spots(judge), rows, [*FIELDS], title=title)
    fig, alt = panels.picture(panel, wide=380)
    return fig, f"{alt} Five are measured on letters and one on Fashion-MNIST."


def beaten() -> str:
    """Controls that are most ahead of papers on their own fields, for all letters."""
    at, told = spots(ALL), []
    for host in ONE:
        home = HOME[host]
        rivals = (*FREE, "Server-FT") if host in LABELLED else FREE
        values, best = found.crossed(np.stack([at[c, home].gains for c in rivals]))
        apart = values - at[host, home].gains
        require(side(apart) == 1, f"{host} is not beaten at home")
        names = " or ".join(dict.fromkeys(rivals[i] for i in best))
        told.append(f"{host} by {names} ({pm(apart)})")
    return (
        "**Being at home is no protection.** Asked for all letters, each of the four "
        "papers that make one model is clearly behind a control on its own field: "
        f"{'; '.join(told)}. (Half of the seeds chose the control, the other half is "
        "told.)"
    )


def at_home() -> str:
    """Gains of papers' methods on their own fields, beside those away."""
    at, told = spots(ALL), []
    for host in ONE:
        home = HOME[host]
        here = at[host, home].gains.mean()
        away = [at[host, f] for f in FIELDS if f != home and at[host, f].told != DEAD]
        more = sum(spot.gains.mean() > here for spot in away)
        told.append(f"{host} {here:+.1f} points (more on {more} of {len(away)} others)")
    return f"At home, by all letters: {'; '.join(told)}."


def never_behind(deals: Spots) -> str:
    """Methods that are nowhere clearly behind FedAvg, by all letters."""
    there = found.unbeaten(deals)
    both = [arm for arm in found.unbeaten(spots(ALL)) if arm in there]
    return (
        "**Is there one that is never behind?** Asked for all letters, nowhere clearly "
        f"behind FedAvg on our four deals: {', '.join(there) or 'none'}. Of these, "
        f"on the six fields, too: {', '.join(both) or 'none'}."
    )


def together() -> list[np.ndarray]:
    """Gains of both parts, and of the two put together, for all letters."""
    table, where = TABLES["field/for_all"], FIELDS[WHERE]
    base = lines(table.at("FedAvg", where))
    seeds, gains = sorted(base), list[np.ndarray]()
    for arm in (*PARTS, " + ".join(PARTS)):
        there = lines(table.at(arm, where))
        gains.append(np.array([there[s]["value"] - base[s]["value"] for s in seeds]))
    return gains


def adds() -> str:
    """Answer to what two gains give together, as far as the intervals say."""
    *parts, whole = together()
    total, best, less = ADDS
    if side(whole - sum(parts)) != -1:
        return total
    return less if side(whole - max(parts, key=np.mean)) == -1 else best


def added() -> str:
    """The gains in a sentence, and what is missing to their sum."""
    *parts, whole = together()
    each = ", ".join(f"{a} {pm(v)}" for a, v in zip(PARTS, parts, strict=True))
    total = np.sum(parts, axis=0)
    return (
        f"Alone {each} points; together {pm(whole)}. The sum would be "
        f"{total.mean():+.1f}: {pm(total - whole, sign='')} are missing. "
        f"({len(whole)} seeds, one field.)"
    )


def sixty() -> Scores:
    """Accuracy of each of sixty combinations of choices, by the seeds of the ledger."""
    table = TABLES["field/composer"]
    cells = [c for c in table.cells if c.column == PLACE]
    return {c.row: {s: v["value"] for s, v in lines(c).items()} for c in cells}


def fresh(rows: Sequence[str], seeds: Sequence[int], device: str = "cpu") -> Scores:
    """The same of some of them, trained now, on other seeds."""
    runs, table = [], TABLES["field/composer"]
    for row in rows:
        cell = table.at(row, PLACE)
        assert cell
        runs += [run_of(cell.settings["small"], seed, device) for seed in seeds]
    done = fl.run_all(runs, progress=False)
    values = np.array([100 * h.accuracy() for h in done]).reshape(len(rows), -1)
    pairs = zip(rows, values.tolist(), strict=True)
    return {row: dict(zip(seeds, line, strict=True)) for row, line in pairs}

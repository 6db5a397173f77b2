"""As many steps and meetings, at different times: often first, often last, evenly."""

import numpy as np

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.averaging.pace import UNEVEN, read
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel, bars

FIRST, LAST, ONLY = "often first", "often last", "only its end"
OFTEN, EVEN, FEW = 5, 20, 100  # steps between two meetings
GUESSES = {
    "Often first: a common beginning keeps them together": "It helps, but the long "
    "walks come after it, and nothing comes after them.",
    "Often last: what went apart is brought together": "What long walks have spoilt in "
    "the average, a hundred steps with many meetings mend.",
    "No matter: both meet 23 times": "As many meetings, and as many steps. But look.",
}


def ends(found: Comparison, plans: Comparison) -> dict[str, np.ndarray]:
    """Accuracy of each plan, and of the last one's end alone, in percent by seed."""
    return {
        "4 meetings": read(found, FEW, UNEVEN),
        FIRST: 100 * plans.curves(FIRST)[:, -1],
        "evenly": read(found, EVEN, UNEVEN),
        LAST: 100 * plans.curves(LAST)[:, -1],
        ONLY: 100 * plans.curves(ONLY)[:, -1],
    }


def right(found: Comparison, plans: Comparison) -> str:
    """Answer to when to meet, as far as the intervals say."""
    first, last, same = GUESSES
    values = ends(found, plans)
    return {1: last, -1: first, 0: same}[side(values[LAST] - values[FIRST])]


def picture(found: Comparison, plans: Comparison) -> Panel:
    """Bars of what each plan reads, and the end of the last one from scratch."""
    values = ends(found, plans)
    shown = {"accuracy": [float(v.mean()) for v in values.values()]}
    label, along = "accuracy (%)", "when they meet"
    return bars(shown, [*values], label=label, along=along)


def facts(found: Comparison, plans: Comparison) -> Facts:
    """Arguments of `finding`: with as many meetings, late ones are worth more."""
    few, first, evenly, last, only = ends(found, plans).values()
    lost = read(found, OFTEN, UNEVEN) - few
    rows = [
        Row("often first, over 4 meetings", first - few, sign=1),
        Row("evenly, over often first", evenly - first, sign=1),
        Row("often last, over often first", last - first, sign=1),
        Row("often last, over evenly", last - evenly),
        Row("often last, over 4 meetings", last - few, sign=1),
        Row("80 meetings, over 4", lost, sign=1),
        Row("often last, over only its end", last - only, sign=1),
    ]
    most = side(last - few - lost / 2) == 1  # of what the long walks cost
    return {"rows": rows, "holds": most}
